package engine

import (
	"context"
	"errors"
	"slices"

	"taproom/internal/api/virterr"
	"taproom/internal/guest/plug"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// moves are NICs of a running guest that get another network or bridge, by alias. Their taps stay: one message to the kernel
// takes a tap off one bridge and puts it on the other.
type moves []string

// moved finds the NICs whose other end is another one in the next hardware, and says there where their ports go.
func (e *Engine) moved(now, next *hardware) (moves, error) {
	var out moves
	for i, nic := range next.doc.Devices.Interfaces {
		at := slices.IndexFunc(now.doc.Devices.Interfaces, func(o spec.Interface) bool { return o.Alias.Name == nic.Alias.Name })
		if at < 0 || connection(now.doc.Devices.Interfaces[at]) == connection(nic) {
			continue
		}
		p := slices.IndexFunc(next.rec.Ports, func(p port) bool { return p.NIC == i })
		if p < 0 {
			continue
		}
		ports := slices.Clone(next.rec.Ports)
		if ports[p].Direct != nil {
			return nil, unmoved(nic)
		}
		switched := ports[p].Switch != nil
		if _, err := (placement{e: e}).connect(next.doc, nic, &ports[p]); err != nil {
			return nil, err
		}
		if switched != (ports[p].Switch != nil) {
			return nil, otherSwitch(nic)
		}
		if ports[p].Direct != nil {
			e.leaveLower(ports[p])
			return nil, unmoved(nic)
		}
		if err := e.suits(next.doc, nic, ports[p]); err != nil {
			return nil, err
		}
		next.rec.Ports = ports
		out = append(out, nic.Alias.Name)
	}
	return out, nil
}

func unmoved(nic spec.Interface) error {
	return virterr.New(virterr.OperationUnsupported, "NIC %s is, or would be, a macvtap on a link of the host, which is not moved; detach it and attach it again", nic.MAC.Address)
}

// connection is what a NIC is connected to.
func connection(n spec.Interface) [2]string {
	switch {
	case n.Source == nil:
		return [2]string{n.Type}
	case n.Type == "network":
		return [2]string{n.Type, n.Source.Network}
	}
	return [2]string{n.Type, n.Source.Bridge}
}

// half is what is written down while the moves are under way: that the links are up is said, for whoever finds them down.
func (m moves) half(h *hardware) *hardware {
	if len(m) == 0 {
		return h
	}
	half := *h
	half.doc = h.doc.Clone()
	for i := range half.doc.Devices.Interfaces {
		if n := &half.doc.Devices.Interfaces[i]; m.flaps(n) {
			n.Link = &spec.LinkState{State: "up"}
		}
	}
	return &half
}

// flaps reports whether the guest of a NIC that moves is told by its link, which goes down and comes up again: it asks for
// an address afresh then.
func (m moves) flaps(n *spec.Interface) bool {
	return slices.Contains(m, n.Alias.Name) && (n.Link == nil || n.Link.State != "down")
}

// carryOut puts the NICs where h has them. The links are up again whatever happens.
func (m moves) carryOut(ctx context.Context, e *Engine, run *running, h *hardware) error {
	if len(m) == 0 {
		return nil
	}
	var down []string
	for i := range h.doc.Devices.Interfaces {
		if n := &h.doc.Devices.Interfaces[i]; m.flaps(n) {
			down = append(down, n.Alias.Name)
		}
	}
	link := func(up bool) (err error) {
		for _, name := range down {
			err = errors.Join(err, e.step(ctx, run, plug.SetLink(name, up), nil))
		}
		return err
	}
	err := link(false)
	if err == nil {
		all := e.linksNow(h.rec)
		want := state.State{Ports: map[string]state.Port{}, SwitchPorts: map[string]state.SwitchPort{}}
		for _, p := range h.rec.Ports {
			if !slices.Contains(m, h.nic(p).Alias.Name) {
				continue
			}
			want.Ports[p.Name] = all.Ports[p.Name]
			if s, ok := all.SwitchPorts[p.Name]; ok {
				want.SwitchPorts[p.Name] = s
			}
		}
		_, err = e.converge(ctx, want, want.Scope())
	}
	return errors.Join(err, link(true))
}
