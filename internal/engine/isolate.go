package engine

import (
	"context"
	"slices"

	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// apart are NICs of a running guest whose ports are kept apart from their bridge's other isolated ones from now on, or no
// longer, by alias.
type apart []string

// isolated finds them in the next hardware, and says there which it is. The guest is not told.
func isolated(now, next *hardware) apart {
	var out apart
	for i := range next.doc.Devices.Interfaces {
		nic := &next.doc.Devices.Interfaces[i]
		known := slices.ContainsFunc(now.doc.Devices.Interfaces, func(o spec.Interface) bool { return o.Alias.Name == nic.Alias.Name })
		p := slices.IndexFunc(next.rec.Ports, func(p port) bool { return p.NIC == i })
		if !known || p < 0 {
			continue
		}
		on := next.nic(next.rec.Ports[p]).Isolated()
		if next.rec.Ports[p].Isolated == on {
			continue
		}
		next.rec.Ports = slices.Clone(next.rec.Ports)
		next.rec.Ports[p].Isolated = on
		out = append(out, nic.Alias.Name)
	}
	return out
}

// carryOut has the ports as they are in h.
func (a apart) carryOut(ctx context.Context, e *Engine, h *hardware) error {
	if len(a) == 0 {
		return nil
	}
	all := e.portsNow(h.rec)
	want := state.State{Ports: map[string]state.Port{}}
	for _, p := range h.rec.Ports {
		if one, ok := all[p.Name]; ok && slices.Contains(a, h.nic(p).Alias.Name) {
			want.Ports[p.Name] = one
		}
	}
	_, err := e.converge(ctx, want, want.Scope())
	return err
}
