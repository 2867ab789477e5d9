package tunable

import (
	"strconv"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/guest/tune"
	"taproom/internal/spec"
)

// memory is what of the host's memory a guest gets, in KiB; tune.UnlimitedKiB is all.
func memory() []parameter {
	var out []parameter
	for _, f := range []struct {
		name  string
		field func(*spec.MemTune) **spec.Memory
	}{
		{"hard_limit", func(t *spec.MemTune) **spec.Memory { return &t.Hard }},
		{"soft_limit", func(t *spec.MemTune) **spec.Memory { return &t.Soft }},
		{"swap_hard_limit", func(t *spec.MemTune) **spec.Memory { return &t.SwapHard }},
	} {
		out = append(out, parameter{
			name: f.name, typ: remote.ParamUint64,
			read: func(d *spec.Domain, _ bool) server.Param {
				n := uint64(tune.UnlimitedKiB)
				if d.MemTune != nil {
					if m := *f.field(d.MemTune); m != nil {
						if kib, err := m.KiB(); err == nil {
							n = min(n, kib)
						}
					}
				}
				return uintParam(f.name, n)
			},
			write: func(d *spec.Domain, p server.Param) error {
				if d.MemTune == nil {
					d.MemTune = &spec.MemTune{}
				}
				*f.field(d.MemTune) = nil
				if p.N < tune.UnlimitedKiB {
					*f.field(d.MemTune) = &spec.Memory{Unit: "KiB", Value: strconv.FormatUint(p.N, 10)}
				}
				return nil
			},
		})
	}
	return out
}
