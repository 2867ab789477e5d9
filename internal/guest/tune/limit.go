package tune

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"taproom/internal/spec"
)

// Limit is one value in one file of a guest's cgroup.
type Limit struct {
	Group      string // below the guest's cgroup: "" the whole guest, or one of threads: vcpu0, emulator, iothread1
	Controller string // "cpu"
	File       string // "cpu.max"
	Device     string // path of the host's device that the value is of; "" for a file with one value
	CPUs       []int  // of cpuset.cpus, which gets those of them that the host has
	Value      string
	Default    string // what the kernel puts there
	Optional   bool   // a host without the controller does without
}

// IsDefault reports whether the guest is not bound by it.
func (l Limit) IsDefault() bool { return l.Value == l.Default }

// threadGroups begin with these names.
const (
	VCPUGroup     = "vcpu"
	EmulatorGroup = "emulator"
	IOThreadGroup = "iothread"
)

// defaultPeriod is the kernel's, in microseconds.
const defaultPeriod = "100000"

// Limits are all limits that a document can set, those that it leaves at their defaults included: a limit that was taken
// out of a document has to go from the kernel too. Those of threads are there only when the document bounds them, or once
// they were there (groups).
func Limits(d *spec.Domain, threads []string, groups []string) ([]Limit, error) {
	t := d.CPUTune
	if t == nil {
		t = &spec.CPUTune{}
	}
	weight := "100"
	if t.Shares != "" {
		n, err := spec.ParseDecimal(t.Shares, 10000)
		if err != nil || n == 0 {
			return nil, &spec.UnsupportedError{Element: "cputune/shares", Reason: fmt.Sprintf("%s: a share is from 1 to 10000 with cgroup v2, and 100 by default", t.Shares)}
		}
		weight = strconv.FormatUint(n, 10)
	}
	out := []Limit{
		{Controller: "cpu", File: "cpu.weight", Value: weight, Default: "100"},
		quota("", t.GlobalPeriod, t.GlobalQuota),
	}
	mem, err := memory(d.MemTune)
	if err != nil {
		return nil, err
	}
	out = append(append(out, mem...), disks(d.BlkIOTune)...)
	for _, name := range threads {
		period, limit := t.Period, t.Quota
		switch {
		case name == EmulatorGroup:
			period, limit = t.EmulatorPeriod, t.EmulatorQuota
		case strings.HasPrefix(name, IOThreadGroup):
			period, limit = t.IOThreadPeriod, t.IOThreadQuota
		}
		l := quota(name, period, limit)
		if !l.IsDefault() || slices.Contains(groups, name) {
			out = append(out, l)
		}
	}
	sets, err := cpusets(d, threads, groups)
	return append(out, sets...), err
}

// quota is so much time of a processor in each period.
func quota(group, period, limit string) Limit {
	l := Limit{Group: group, Controller: "cpu", File: "cpu.max", Default: "max " + defaultPeriod}
	switch {
	case !bound(limit): // then the period says nothing
		l.Value = l.Default
	case period == "" || period == "0":
		l.Value = limit + " " + defaultPeriod
	default:
		l.Value = limit + " " + period
	}
	return l
}

func memory(t *spec.MemTune) ([]Limit, error) {
	if t == nil {
		t = &spec.MemTune{}
	}
	hard, err := bytes(t.Hard)
	if err != nil {
		return nil, err
	}
	soft, err := bytes(t.Soft)
	if err != nil {
		return nil, err
	}
	both, err := bytes(t.SwapHard)
	if err != nil {
		return nil, err
	}
	swap := "max"
	if both != unlimited { // documents count memory and swap together, the kernel swap alone
		h := hard
		if h == unlimited {
			h = 0
		}
		swap = strconv.FormatUint(both-h, 10)
	}
	return []Limit{
		{Controller: "memory", File: "memory.max", Value: text(hard), Default: "max"},
		{Controller: "memory", File: "memory.high", Value: text(soft), Default: "max"},
		{Controller: "memory", File: "memory.swap.max", Value: swap, Default: "max"},
	}, nil
}

// UnlimitedKiB is libvirt's number for no limit (VIR_DOMAIN_MEMORY_PARAM_UNLIMITED).
const UnlimitedKiB = 9007199254740991

const unlimited = ^uint64(0)

func bytes(m *spec.Memory) (uint64, error) {
	if m == nil {
		return unlimited, nil
	}
	n, err := m.KiB()
	if err != nil {
		return 0, &spec.InvalidError{Element: "memtune", Reason: err.Error()}
	}
	if n >= UnlimitedKiB {
		return unlimited, nil
	}
	return n << 10, nil
}

func text(n uint64) string {
	if n == unlimited {
		return "max"
	}
	return strconv.FormatUint(n, 10)
}

func disks(t *spec.BlkIOTune) []Limit {
	if t == nil {
		t = &spec.BlkIOTune{}
	}
	weight := "default 100"
	if t.Weight != "" && t.Weight != "0" {
		weight = "default " + t.Weight
	}
	out := []Limit{{Controller: "io", File: "io.weight", Value: weight, Default: "default 100"}}
	for _, dev := range t.Devices {
		if dev.Weight != "" && dev.Weight != "0" {
			out = append(out, Limit{Controller: "io", File: "io.weight", Device: dev.Path, Value: dev.Weight, Default: "default"})
		}
		value := ""
		for _, f := range []struct{ name, value string }{
			{"rbps", dev.ReadBytes}, {"wbps", dev.WriteBytes}, {"riops", dev.ReadIOPS}, {"wiops", dev.WriteIOPS},
		} {
			if f.value == "" || f.value == "0" {
				f.value = "max"
			}
			value += " " + f.name + "=" + f.value
		}
		out = append(out, Limit{Controller: "io", File: "io.max", Device: dev.Path, Value: value[1:], Default: "rbps=max wbps=max riops=max wiops=max"})
	}
	return out
}
