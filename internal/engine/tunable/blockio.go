package tunable

import (
	"slices"
	"strconv"
	"strings"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// defaultWeight is what cgroup v2 gives a group that nobody said anything of, and mostWeight the largest.
const (
	defaultWeight = 100
	mostWeight    = 10_000
)

// blockIO is what of the host's disks a guest gets. What is of one disk is written as path,value,path,value.
func blockIO() []parameter {
	out := []parameter{{
		name: "weight", typ: remote.ParamUint,
		read: func(d *spec.Domain, live bool) server.Param {
			n := uint64(0)
			if d.BlkIOTune != nil {
				n, _ = strconv.ParseUint(d.BlkIOTune.Weight, 10, 32)
			}
			if n == 0 && live {
				n = defaultWeight
			}
			return remote.UintParam("weight", uint32(n))
		},
		write: func(d *spec.Domain, p server.Param) error {
			if p.N > mostWeight {
				return outOfRange(p.Field, 1, mostWeight)
			}
			t := blkio(d)
			t.Weight = ""
			if p.N > 0 {
				t.Weight = strconv.FormatUint(p.N, 10)
			}
			return nil
		},
	}}
	for _, f := range []struct {
		name  string
		most  uint64
		field func(*spec.BlkIODevice) *string
	}{
		{"device_weight", mostWeight, func(b *spec.BlkIODevice) *string { return &b.Weight }},
		{"device_read_iops_sec", 1<<32 - 1, func(b *spec.BlkIODevice) *string { return &b.ReadIOPS }},
		{"device_write_iops_sec", 1<<32 - 1, func(b *spec.BlkIODevice) *string { return &b.WriteIOPS }},
		{"device_read_bytes_sec", 1<<63 - 1, func(b *spec.BlkIODevice) *string { return &b.ReadBytes }},
		{"device_write_bytes_sec", 1<<63 - 1, func(b *spec.BlkIODevice) *string { return &b.WriteBytes }},
	} {
		out = append(out, parameter{
			name: f.name, typ: remote.ParamString,
			read:  func(d *spec.Domain, _ bool) server.Param { return remote.StringParam(f.name, devices(d, f.field)) },
			write: func(d *spec.Domain, p server.Param) error { return putDevices(d, p, f.most, f.field) },
		})
	}
	return out
}

func blkio(d *spec.Domain) *spec.BlkIOTune {
	if d.BlkIOTune == nil {
		d.BlkIOTune = &spec.BlkIOTune{}
	}
	return d.BlkIOTune
}

func devices(d *spec.Domain, field func(*spec.BlkIODevice) *string) string {
	var words []string
	if d.BlkIOTune != nil {
		for i := range d.BlkIOTune.Devices {
			dev := &d.BlkIOTune.Devices[i]
			if v := *field(dev); v != "" && v != "0" {
				words = append(words, dev.Path, v)
			}
		}
	}
	return strings.Join(words, ",")
}

// putDevices sets one value of each disk that is named; 0 takes it away. Disks that are not named keep theirs.
func putDevices(d *spec.Domain, p server.Param, most uint64, field func(*spec.BlkIODevice) *string) error {
	words := strings.Split(p.S, ",")
	if p.S == "" {
		words = nil
	}
	if len(words)%2 != 0 {
		return virterr.New(virterr.InvalidArg, "unable to parse %s '%s': want path,value,path,value", p.Field, p.S)
	}
	t := blkio(d)
	for pair := range slices.Chunk(words, 2) {
		n, err := spec.ParseDecimal(pair[1], most)
		if err != nil || !strings.HasPrefix(pair[0], "/") {
			return virterr.New(virterr.InvalidArg, "unable to parse %s '%s,%s': want the path of a device and a number up to %d", p.Field, pair[0], pair[1], most)
		}
		i := slices.IndexFunc(t.Devices, func(b spec.BlkIODevice) bool { return b.Path == pair[0] })
		if i < 0 {
			i = len(t.Devices)
			t.Devices = append(t.Devices, spec.BlkIODevice{Path: pair[0]})
		}
		*field(&t.Devices[i]) = ""
		if n > 0 {
			*field(&t.Devices[i]) = strconv.FormatUint(n, 10)
		}
	}
	t.Devices = slices.DeleteFunc(t.Devices, func(b spec.BlkIODevice) bool {
		return b.Weight == "" && b.ReadIOPS == "" && b.WriteIOPS == "" && b.ReadBytes == "" && b.WriteBytes == ""
	})
	return nil
}
