package tunable

import (
	"cmp"
	"slices"
	"strings"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// numaModes are virDomainNumatuneMemMode, by number.
func numaModes() []string { return []string{"strict", "preferred", "interleave", "restrictive"} }

// numa is on which of the host's NUMA nodes a guest's memory is.
func numa() []parameter {
	return []parameter{
		{
			name: "numa_mode", typ: remote.ParamInt,
			read: func(d *spec.Domain, _ bool) server.Param {
				i := slices.Index(numaModes(), cmp.Or(numaMemory(d).Mode, "strict"))
				return remote.IntParam("numa_mode", int32(max(i, 0)))
			},
			write: func(d *spec.Domain, p server.Param) error {
				modes := numaModes()
				if p.N >= uint64(len(modes)) {
					return virterr.New(virterr.InvalidArg, "unsupported numa_mode: '%d'", int64(p.N))
				}
				makeNUMA(d).Mode = modes[p.N]
				return nil
			},
		},
		{
			name: "numa_nodeset", typ: remote.ParamString,
			read: func(d *spec.Domain, _ bool) server.Param {
				return remote.StringParam("numa_nodeset", numaMemory(d).NodeSet)
			},
			write: func(d *spec.Domain, p server.Param) error {
				if strings.TrimSpace(p.S) == "" {
					return virterr.New(virterr.InvalidArg, "Invalid nodeset of 'numatune': %s", p.S)
				}
				m := makeNUMA(d)
				m.NodeSet, m.Placement = p.S, ""
				return nil
			},
		},
	}
}

func numaMemory(d *spec.Domain) spec.NUMAMemory {
	if d.NUMATune == nil || d.NUMATune.Memory == nil {
		return spec.NUMAMemory{}
	}
	return *d.NUMATune.Memory
}

func makeNUMA(d *spec.Domain) *spec.NUMAMemory {
	if d.NUMATune == nil {
		d.NUMATune = &spec.NUMATune{}
	}
	if d.NUMATune.Memory == nil {
		d.NUMATune.Memory = &spec.NUMAMemory{}
	}
	return d.NUMATune.Memory
}
