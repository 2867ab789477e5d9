package engine

import (
	"errors"
	"io/fs"

	"taproom/internal/api/virterr"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// suits refuses another bridge of Open vSwitch for a tap that was made for one whose frames are moved otherwise: in user space
// a tap has no virtio-net header, and nothing of it goes to the kernel.
func (e *Engine) suits(doc *spec.Domain, nic spec.Interface, p port) error {
	if p.Switch == nil {
		return nil
	}
	header, err := e.k.TapHeader(p.Name)
	if errors.Is(err, fs.ErrNotExist) { // somebody deleted it: there is nothing to move
		return nil
	}
	if err != nil {
		return virterr.New(virterr.SystemError, "domain '%s': NIC %s: %w", doc.Name, nic.MAC.Address, err)
	}
	v, err := e.ovs.Observe(e.ctx, state.SwitchScope{Bridges: []string{p.Bridge}})
	if err != nil {
		return virterr.New(virterr.OperationFailed, "domain '%s': NIC %s: %w", doc.Name, nic.MAC.Address, err)
	}
	b, there := v.Bridges[p.Bridge]
	if !there || b.Userspace != header { // one that does not exist is refused where it is looked for again
		return nil
	}
	kinds := map[bool]string{true: "datapath_type=netdev", false: "datapath_type=system"}
	return virterr.New(virterr.OperationUnsupported, "domain '%s': NIC %s: its tap %s was made for a bridge with %s, and %s has %s; detach the NIC, and attach it again with that bridge",
		doc.Name, nic.MAC.Address, p.Name, kinds[!header], p.Bridge, kinds[b.Userspace])
}

// holds refuses to bound otherwise what a guest that runs sends, where Open vSwitch takes it past the kernel's queues. What was asked
// for before its bridge became such a one stays.
func (e *Engine) holds(h *hardware, p port, was *portShape) error {
	if p.Shape == nil || p.Shape.Out.Average == 0 || was != nil && was.Out == p.Shape.Out {
		return nil
	}
	at, ok := e.switchNow(record{UUID: h.rec.UUID, Ports: []port{p}})[p.Name]
	if !ok {
		return nil
	}
	v, err := e.ovs.Observe(e.ctx, state.SwitchScope{Bridges: []string{at.Bridge}})
	if err == nil && v.Bridges[at.Bridge].Userspace {
		err = &state.UnboundError{Port: p.Name, Bridge: at.Bridge}
	}
	if err != nil {
		return virterr.New(virterr.OperationUnsupported, "domain '%s': NIC %s: %w", h.doc.Name, h.nic(p).MAC.Address, err)
	}
	return nil
}
