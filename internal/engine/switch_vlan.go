package engine

import (
	"cmp"
	"context"
	"slices"

	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// tags are NICs of a running guest whose ports of Open vSwitch carry other VLANs from now on, by alias.
type tags []string

// retagged finds them in the next hardware, and says there what their ports carry. One that had some and has none any more
// carries none: nobody else sets them.
func (e *Engine) retagged(now, next *hardware) tags {
	var out tags
	for i, nic := range next.doc.Devices.Interfaces {
		at := slices.IndexFunc(now.doc.Devices.Interfaces, func(o spec.Interface) bool { return o.Alias.Name == nic.Alias.Name })
		p := slices.IndexFunc(next.rec.Ports, func(p port) bool { return p.NIC == i })
		if at < 0 || p < 0 || next.rec.Ports[p].Switch == nil {
			continue
		}
		was, is := now.vlanOf(at), next.nic(next.rec.Ports[p]).VLAN
		if was.Same(is) {
			continue
		}
		ports := slices.Clone(next.rec.Ports)
		port := *ports[p].Switch
		port.VLAN = cmp.Or(vlanOf(is), &state.VLAN{})
		ports[p].Switch = &port
		next.rec.Ports = ports
		out = append(out, nic.Alias.Name)
	}
	return out
}

// vlanOf is what the port of a NIC carries.
func (h *hardware) vlanOf(nic int) *spec.NICVLAN {
	for _, p := range h.rec.Ports {
		if p.NIC == nic {
			return h.nic(p).VLAN
		}
	}
	return nil
}

// carryOut gives the ports the VLANs that they have in h. The guest is not told, as with libvirt: its link stays up.
func (t tags) carryOut(ctx context.Context, e *Engine, h *hardware) error {
	want := state.State{SwitchPorts: map[string]state.SwitchPort{}}
	all := e.switchNow(h.rec)
	for _, p := range h.rec.Ports {
		if s, ok := all[p.Name]; ok && slices.Contains(t, h.nic(p).Alias.Name) {
			s.VLAN = cmp.Or(s.VLAN, &state.VLAN{})
			want.SwitchPorts[p.Name] = s
		}
	}
	if len(want.SwitchPorts) == 0 {
		return nil
	}
	_, err := e.converge(ctx, want, want.Scope())
	return err
}
