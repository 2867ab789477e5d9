package tunable

import (
	"strconv"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/spec"
)

// What bounds and defaults the kernel has: microseconds, and cgroup v2's weight, that libvirt calls shares.
const (
	leastPeriod, mostPeriod = 1_000, 1_000_000
	leastQuota, mostQuota   = 1_000, 18_446_744_073_709_551
	mostShares              = 262_144
	defaultPeriod           = 100_000
	defaultShares           = 100
)

// cpu is <cputune>; one that is not there says nothing.
func cpu(d *spec.Domain) *spec.CPUTune {
	if d.CPUTune == nil {
		return &spec.CPUTune{}
	}
	return d.CPUTune
}

func scheduler() []parameter {
	out := []parameter{{
		name: "cpu_shares", typ: remote.ParamUint64, event: "cputune.cpu_shares",
		read: func(d *spec.Domain, live bool) server.Param {
			n, err := strconv.ParseUint(cpu(d).Shares, 10, 64)
			if err != nil && live {
				n = defaultShares
			}
			return uintParam("cpu_shares", n)
		},
		write: func(d *spec.Domain, p server.Param) error {
			if p.N == 0 || p.N > mostShares {
				return outOfRange(p.Field, 1, mostShares)
			}
			return put(d, func(t *spec.CPUTune) *string { return &t.Shares }, strconv.FormatUint(p.N, 10))
		},
	}}
	for _, who := range []struct {
		name          string
		period, quota func(*spec.CPUTune) *string
	}{
		{"vcpu", func(t *spec.CPUTune) *string { return &t.Period }, func(t *spec.CPUTune) *string { return &t.Quota }},
		{"emulator", func(t *spec.CPUTune) *string { return &t.EmulatorPeriod }, func(t *spec.CPUTune) *string { return &t.EmulatorQuota }},
		{"global", func(t *spec.CPUTune) *string { return &t.GlobalPeriod }, func(t *spec.CPUTune) *string { return &t.GlobalQuota }},
		{"iothread", func(t *spec.CPUTune) *string { return &t.IOThreadPeriod }, func(t *spec.CPUTune) *string { return &t.IOThreadQuota }},
	} {
		out = append(out, period(who.name+"_period", who.period), quota(who.name+"_quota", who.quota))
	}
	return out
}

func put(d *spec.Domain, field func(*spec.CPUTune) *string, value string) error {
	if d.CPUTune == nil {
		d.CPUTune = &spec.CPUTune{}
	}
	*field(d.CPUTune) = value
	return nil
}

// period is a span in microseconds; 0 leaves it to the kernel.
func period(name string, field func(*spec.CPUTune) *string) parameter {
	return parameter{
		name: name, typ: remote.ParamUint64, event: "cputune." + name,
		read: func(d *spec.Domain, live bool) server.Param {
			n, _ := strconv.ParseUint(*field(cpu(d)), 10, 64)
			if n == 0 && live {
				n = defaultPeriod
			}
			return uintParam(name, n)
		},
		write: func(d *spec.Domain, p server.Param) error {
			switch {
			case p.N == 0:
				return put(d, field, "")
			case p.N < leastPeriod || p.N > mostPeriod:
				return outOfRange(name, leastPeriod, mostPeriod)
			}
			return put(d, field, strconv.FormatUint(p.N, 10))
		},
	}
}

// quota is how much time of a processor threads get in a period; less than 0 is no bound, and so is 0, which is not written.
func quota(name string, field func(*spec.CPUTune) *string) parameter {
	return parameter{
		name: name, typ: remote.ParamInt64, event: "cputune." + name,
		read: func(d *spec.Domain, live bool) server.Param {
			n, _ := strconv.ParseInt(*field(cpu(d)), 10, 64)
			if n == 0 && live {
				n = -1
			}
			return remote.Int64Param(name, n)
		},
		write: func(d *spec.Domain, p server.Param) error {
			switch n := int64(p.N); {
			case n == 0:
				return put(d, field, "")
			case n < 0:
				return put(d, field, "-1")
			case n < leastQuota || n > mostQuota:
				return outOfRange(name, leastQuota, mostQuota)
			default:
				return put(d, field, strconv.FormatInt(n, 10))
			}
		},
	}
}
