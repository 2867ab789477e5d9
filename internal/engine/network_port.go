package engine

import (
	"bytes"
	"context"
	"slices"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// NetworkPorts implements server.NetworkPorts.
func (e *Engine) NetworkPorts(network spec.UUID) ([]spec.UUID, error) {
	n, err := e.network(network)
	if err != nil {
		return nil, err
	}
	out := e.madePorts.of(network)
	for _, d := range e.domains.all() {
		run := d.view().run
		if run == nil {
			continue
		}
		for _, p := range run.rec().Ports {
			if id, err := spec.ParseUUID(p.ID); err == nil && p.Network == n.label {
				out = append(out, id)
			}
		}
	}
	slices.SortFunc(out, func(a, b spec.UUID) int { return bytes.Compare(a[:], b[:]) })
	return out, nil
}

// NetworkPortXML implements server.NetworkPorts.
func (e *Engine) NetworkPortXML(network, id spec.UUID) (string, error) {
	n, err := e.network(network)
	if err != nil {
		return "", err
	}
	if made, ok := e.madePorts.get(network, id); ok {
		return string(made.Format()), nil
	}
	run, p := e.guestPort(n, id)
	if run == nil {
		return "", server.NoNetworkPort(id)
	}
	doc := portDocument(run.hardware(), n, p)
	return string(doc.Format()), nil
}

// guestPort finds the guest and the NIC that a port is for; nil is none.
func (e *Engine) guestPort(n *network, id spec.UUID) (*running, port) {
	for _, d := range e.domains.all() {
		run := d.view().run
		if run == nil {
			continue
		}
		for _, p := range run.rec().Ports {
			if p.Network == n.label && p.ID == id.String() {
				return run, p
			}
		}
	}
	return nil, port{}
}

// portDocument is the document of a guest's port.
func portDocument(h *hardware, n *network, p port) *spec.NetworkPort {
	nic := h.nic(p)
	id, _ := spec.ParseUUID(p.ID)
	owner := h.rec.UUID
	doc := &spec.NetworkPort{
		UUID: &id, Owner: &spec.PortOwner{Name: h.rec.Name, UUID: &owner}, MAC: &spec.MAC{Address: nic.MAC.Address},
		VirtualPort: nic.VirtualPort, VLAN: nic.VLAN, Port: nic.Port, Bandwidth: nic.Bandwidth,
	}
	if nic.Source != nil {
		doc.Group = nic.Source.PortGroup
	}
	if nic.TrustRx != "" {
		doc.RxFilters = &spec.PortRxFilters{TrustGuest: nic.TrustRx}
	}
	doc.Plug = plugOf(n, p.Bridge)
	if p.Direct != nil {
		doc.Plug = &spec.PortPlug{Type: "direct", Dev: p.Direct.Lower, Mode: p.Direct.Mode}
	}
	return doc
}

// plugOf is what a port on a network's bridge is plugged into.
func plugOf(n *network, bridge string) *spec.PortPlug {
	plug := &spec.PortPlug{Type: "network", Bridge: bridge}
	if live := n.view().live; live != nil {
		if plug.Bridge = live.BridgeName(); !live.Routed() {
			plug.Type = "bridge"
		}
		if live.Bridge != nil {
			plug.MACTableManager = live.Bridge.MACTableManager
		}
	}
	return plug
}

// CreateNetworkPort implements server.NetworkPorts. It is for NICs that the daemon does not know: whoever asks plugs them in.
func (e *Engine) CreateNetworkPort(ctx context.Context, network spec.UUID, xml string, _ uint32) (spec.UUID, error) {
	n, err := e.network(network)
	if err != nil {
		return spec.UUID{}, err
	}
	doc, err := spec.ParseNetworkPort([]byte(xml))
	if err == nil {
		err = notTooLong([]byte(xml))
	}
	if err == nil {
		err = madeBounds(doc)
	}
	if err != nil {
		return spec.UUID{}, about("port of network", n.label, documentError(err))
	}
	j, err := n.slot.Begin(ctx, "make a port of network '"+n.label+"'")
	if err != nil {
		return spec.UUID{}, virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	if n.view().live == nil {
		return spec.UUID{}, virterr.New(virterr.OperationInvalid, "network '%s' is not active", n.label)
	}
	if err := e.completePort(n, doc); err != nil {
		return spec.UUID{}, err
	}
	if err := e.tellNetwork(j.Context(), n.view().live, "port-created", "begin", doc); err != nil {
		return spec.UUID{}, virterr.New(virterr.OperationFailed, "port of network '%s': %w", n.label, err)
	}
	return *doc.UUID, e.madePorts.put(network, doc)
}

// completePort fills in what the document leaves open, and refuses one that cannot be.
func (e *Engine) completePort(n *network, doc *spec.NetworkPort) error {
	if doc.UUID == nil {
		u := spec.NewUUID()
		doc.UUID = &u
	}
	if run, _ := e.guestPort(n, *doc.UUID); run != nil || e.madePorts.has(*doc.UUID) {
		return virterr.New(virterr.NetworkPortExist, "Network port with UUID %s already exists", doc.UUID).In(virterr.FromNetwork)
	}
	if mode := n.view().live.DirectMode(); mode != "" {
		return virterr.New(virterr.OperationUnsupported, "network '%s' puts guests on links of the host by macvtaps, which are made with a guest", n.label)
	}
	plug := plugOf(n, "")
	if doc.Plug != nil && (doc.Plug.Type != plug.Type || doc.Plug.Bridge != "" && doc.Plug.Bridge != plug.Bridge) {
		return virterr.New(virterr.XMLError, "port of network '%s': it is plugged into %s '%s', not %s '%s'", n.label, plug.Type, plug.Bridge, doc.Plug.Type, doc.Plug.Bridge)
	}
	doc.Plug = plug
	return nil
}

// DeleteNetworkPort implements server.NetworkPorts. The port of a guest's NIC goes with the NIC.
func (e *Engine) DeleteNetworkPort(ctx context.Context, network, id spec.UUID) error {
	n, err := e.network(network)
	if err != nil {
		return err
	}
	j, err := n.slot.Begin(ctx, "delete a port of network '"+n.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	if run, p := e.guestPort(n, id); run != nil {
		nic := run.hardware().nic(p)
		return virterr.New(virterr.OperationInvalid, "port %s of network '%s' is that of a NIC of domain '%s' and goes with it: `virsh detach-interface %s network --mac %s`", id, n.label, run.rec().Name, run.rec().Name, nic.MAC.Address)
	}
	doc, made := e.madePorts.get(network, id)
	if err := e.madePorts.remove(network, id); err != nil {
		return err
	}
	if live := n.view().live; made && live != nil {
		if err := e.tellNetwork(j.Context(), live, "port-deleted", "begin", doc); err != nil {
			e.log.Warn("tell of a port that left its network", "network", n.label, "error", err)
		}
	}
	return nil
}

// NetworkPortParams implements server.NetworkPorts: what bounds the port's traffic.
func (e *Engine) NetworkPortParams(network, id spec.UUID) ([]server.Param, error) {
	n, err := e.network(network)
	if err != nil {
		return nil, err
	}
	if made, ok := e.madePorts.get(network, id); ok {
		return bandParams(made.Bandwidth)
	}
	run, p := e.guestPort(n, id)
	if run == nil {
		return nil, server.NoNetworkPort(id)
	}
	return bandParams(run.hardware().nic(p).Bandwidth)
}

// SetNetworkPortParams implements server.NetworkPorts. That of a guest's NIC is bounded as the NIC is, for as long as it is there. One that
// a client made is bounded by the client, who plugs it in.
func (e *Engine) SetNetworkPortParams(ctx context.Context, network, id spec.UUID, params []server.Param) error {
	n, err := e.network(network)
	if err != nil {
		return err
	}
	if run, p := e.guestPort(n, id); run != nil {
		return e.SetInterfaceParams(ctx, run.rec().UUID, p.Guest, params, server.AffectLive)
	}
	made, ok := e.madePorts.get(network, id)
	if !ok {
		return server.NoNetworkPort(id)
	}
	next := *made
	if next.Bandwidth, err = reband(made.Bandwidth, params); err == nil {
		err = madeBounds(&next)
	}
	if err != nil {
		return virterr.New(virterr.CodeOf(documentError(err)), "port %s of network '%s': %w", id, n.label, err)
	}
	return e.madePorts.put(network, &next)
}

// madeBounds refuses bounds of a port that a client made which only the network can keep.
func madeBounds(doc *spec.NetworkPort) error {
	if err := doc.Validate(); err != nil {
		return err
	}
	if b := doc.Bandwidth; b != nil && b.Inbound != nil && b.Inbound.Floor != "" {
		return virterr.New(virterr.OperationUnsupported, "a floor is for NICs of guests: of the frames of a port that a client plugs in nothing is known but its address")
	}
	return nil
}
