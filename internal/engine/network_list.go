package engine

import (
	"context"
	"strconv"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// ListNetworks implements server.Networks.
func (e *Engine) ListNetworks(dst []server.Network) []server.Network {
	for _, n := range e.networks.all() {
		if v := n.view(); v.exists() {
			dst = append(dst, v.ref)
		}
	}
	return dst
}

// NetworkByName implements server.Networks.
func (e *Engine) NetworkByName(name string) (server.Network, error) {
	if n, ok := e.networks.named(name); ok {
		if v := n.view(); v.exists() {
			return v.ref, nil
		}
	}
	return server.Network{}, virterr.NetworkNotFound("name", name)
}

// NetworkByUUID implements server.Networks.
func (e *Engine) NetworkByUUID(uuid spec.UUID) (server.Network, error) {
	n, err := e.network(uuid)
	if err != nil {
		return server.Network{}, err
	}
	return n.view().ref, nil
}

func (e *Engine) network(uuid spec.UUID) (*network, error) {
	if n, ok := e.networks.uuid(uuid); ok && n.view().exists() {
		return n, nil
	}
	return nil, virterr.NetworkNotFound("uuid", uuid.String())
}

// NetworkXML implements server.Networks.
func (e *Engine) NetworkXML(_ context.Context, uuid spec.UUID, flags uint32) (string, error) {
	n, err := e.network(uuid)
	if err != nil {
		return "", err
	}
	v := n.view()
	if flags&server.NetworkXMLInactive != 0 && v.def == nil {
		return "", virterr.New(virterr.OperationInvalid, "transient network '%s' has no persistent configuration", n.label)
	}
	if v.live == nil || flags&server.NetworkXMLInactive != 0 {
		return string(v.def.xml), nil
	}
	live := v.live.Clone()
	if c := e.connections(n.label) + len(e.madePorts.of(uuid)); c > 0 {
		live.Connections = strconv.Itoa(c)
	}
	return string(live.Format()), nil
}

// connections is how many NICs of running guests a network has.
func (e *Engine) connections(network string) int {
	n := 0
	for _, d := range e.domains.all() {
		if run := d.view().run; run != nil {
			n += run.nicsOn(network)
		}
	}
	return n
}

// DHCPLeases implements server.Networks.
func (e *Engine) DHCPLeases(ctx context.Context, uuid spec.UUID, mac string) ([]server.DHCPLease, error) {
	n, err := e.network(uuid)
	if err != nil {
		return nil, err
	}
	v := n.view()
	if v.live == nil {
		return nil, virterr.New(virterr.OperationInvalid, "network '%s' is not active", n.label)
	}
	return e.leases(ctx, n, v, mac)
}
