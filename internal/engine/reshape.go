package engine

import (
	"context"
	"errors"
	"slices"

	"taproom/internal/api/virterr"
	"taproom/internal/network/qos"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// shapeFor is how the NIC of a port is to be bounded; nil is not at all. What it is to have of its network in any case is claimed.
func (e *Engine) shapeFor(doc *spec.Domain, nic *spec.Interface, p port, network *spec.Network) (*portShape, error) {
	whole := p.whole(nic)
	limits, err := qos.Read(whole.Bandwidth)
	if err == nil && limits.In.Floor > 0 && network != nil && !network.Routed() {
		err = virterr.New(virterr.OperationUnsupported, "network '%s' has no bandwidth of its own that a floor could be a part of; leave the floor out", network.Name)
	}
	shape := &portShape{Limits: limits, MTU: p.MTU}
	if network != nil && err == nil {
		if shape.MTU == 0 {
			shape.MTU = mtuOf(network.MTU)
		}
		var of qos.Limits
		if of, err = qos.Read(network.Bandwidth); err == nil {
			shape.Class, err = e.floors.claim(p.Network, p.ID, p.Guest, limits.In.Floor, of.Kept().In.Average)
		}
	}
	if err != nil {
		return nil, virterr.New(virterr.CodeOf(err), "domain '%s': NIC %s: %w", doc.Name, nic.MAC.Address, err)
	}
	if limits == (qos.Limits{}) {
		return nil, nil
	}
	return shape, nil
}

// shapeOf is shapeFor while a place is found for a NIC.
func (p placement) shapeOf(doc *spec.Domain, nic *spec.Interface, to port) (*portShape, error) {
	var n *spec.Network
	if to.Network != "" {
		var err error
		if n, err = p.networkOf(doc, to.Network); err != nil {
			return nil, err
		}
	}
	return p.e.shapeFor(doc, nic, to, n)
}

// reshaping are ports of a running guest that are bounded otherwise from now on, by id.
type reshaping []string

// reshaped finds them in the next hardware, and says there how. The guest is not told.
func (e *Engine) reshaped(now, next *hardware) (reshaping, error) {
	var out reshaping
	for i, p := range next.rec.Ports {
		at := slices.IndexFunc(now.rec.Ports, func(o port) bool { return o.ID == p.ID })
		if at < 0 {
			continue
		}
		was, nic := now.rec.Ports[at], &next.doc.Devices.Interfaces[p.NIC]
		if p.Shape == nil && p.whole(nic).Bandwidth == nil {
			continue
		}
		var n *spec.Network
		if have, ok := e.networks.named(p.Network); ok && p.Network != "" {
			if n = have.view().live; n == nil && p.Network == was.Network && p.whole(nic).Bandwidth.Same(now.nic(was).Bandwidth) {
				continue // it keeps what it has until its network is back
			}
		}
		shape, err := e.shapeFor(next.doc, nic, p, n)
		if err != nil {
			out.takeBack(e, now, next)
			return nil, err
		}
		if shape.same(was.Shape) && p.Network == was.Network {
			continue
		}
		next.rec.Ports = slices.Clone(next.rec.Ports)
		next.rec.Ports[i].Shape = shape
		out = append(out, p.ID)
		if err := e.holds(next, next.rec.Ports[i], was.Shape); err != nil {
			out.takeBack(e, now, next)
			return nil, err
		}
	}
	return out, nil
}

// settle gives back what the ports had and have no more, now that they are as they stay.
func (r reshaping) settle(e *Engine, next *hardware) {
	for _, p := range r.of(next) {
		e.floors.settle(p.Network, p.ID)
	}
}

// takeBack claims what the ports had, which nobody was given meanwhile.
func (r reshaping) takeBack(e *Engine, now, next *hardware) {
	for _, p := range r.of(next) {
		e.floors.release(p.Network, p.ID)
	}
	for _, p := range r.of(now) {
		e.floors.note(p)
	}
}

// of are the ports in h.
func (r reshaping) of(h *hardware) []port {
	return slices.DeleteFunc(slices.Clone(h.rec.Ports), func(p port) bool { return !slices.Contains(r, p.ID) })
}

// carryOut bounds the ports as they are in h, which were as in from.
func (r reshaping) carryOut(ctx context.Context, e *Engine, from, h *hardware) error {
	if len(r) == 0 {
		return nil
	}
	ports := r.of(h)
	var want state.State
	boundPorts(&want, record{UUID: h.rec.UUID, Ports: ports}, true)
	scope := shapesOf(ports...)
	want.SwitchPorts = map[string]state.SwitchPort{}
	for name, p := range e.switchNow(record{UUID: h.rec.UUID, Ports: ports}) { // or the switch takes the queue off some day
		want.SwitchPorts[name] = p
		scope.SwitchPorts, scope.SwitchBridges = append(scope.SwitchPorts, name), append(scope.SwitchBridges, p.Bridge)
	}
	_, err := e.converge(ctx, want, scope)
	for _, p := range r.of(from) { // one that moved has nothing on its former network any more
		if !slices.ContainsFunc(ports, func(o port) bool { return o.ID == p.ID && o.Network == p.Network }) {
			e.floors.release(p.Network, p.ID)
		}
	}
	return errors.Join(err, e.reboundFor(ctx, append(r.of(from), ports...)))
}
