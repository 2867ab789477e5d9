package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
	"taproom/internal/spec"
)

func bindNetworkPorts(p *program) {
	bind(p, remote.ProcNetworkListAllPorts, func(q *request, a *remote.NetworkNeedFlags, r *remote.NetworkPorts) error {
		ports, err := q.backend.NetworkPorts(a.UUID)
		r.N = uint32(len(ports))
		if a.Need == 0 || err != nil {
			return err
		}
		n, err := q.backend.NetworkByUUID(a.UUID)
		for _, p := range ports {
			r.Ports = append(r.Ports, remote.NetworkUUID{Network: wireNetwork(n), UUID: remote.UUID{UUID: p}})
		}
		return err
	})
	bind(p, remote.ProcNetworkPortLookupByUUID, func(q *request, a *remote.NetworkUUID, r *remote.NetworkUUID) error {
		_, err := q.backend.NetworkPortXML(a.Network.UUID, a.UUID.UUID)
		if err == nil {
			err = wirePort(q, a.Network.UUID, a.UUID.UUID, r)
		}
		return err
	})
	bind(p, remote.ProcNetworkPortCreateXML, func(q *request, a *remote.NetworkStringFlags, r *remote.NetworkUUID) error {
		port, err := q.backend.CreateNetworkPort(q.ctx, a.UUID, a.S, a.Flags)
		if err == nil {
			err = wirePort(q, a.UUID, port, r)
		}
		return err
	})
	bind(p, remote.ProcNetworkPortGetXMLDesc, func(q *request, a *remote.NetworkPortFlags, r *remote.String) (err error) {
		r.S, err = q.backend.NetworkPortXML(a.Network.UUID, a.UUID.UUID)
		return err
	})
	bind(p, remote.ProcNetworkPortDelete, func(q *request, a *remote.NetworkPortFlags, _ *xdr.Void) error {
		return q.backend.DeleteNetworkPort(q.ctx, a.Network.UUID, a.UUID.UUID)
	})
	bind(p, remote.ProcNetworkPortGetParameters, func(q *request, a *remote.NetworkPortGetParams, r *remote.Params) error {
		params, err := q.backend.NetworkPortParams(a.Network.UUID, a.UUID.UUID)
		r.Params, r.N = first(params, a.N), int32(len(params))
		return err
	})
	bind(p, remote.ProcNetworkPortSetParameters, func(q *request, a *remote.NetworkPortSetParams, _ *xdr.Void) error {
		return q.backend.SetNetworkPortParams(q.ctx, a.Network.UUID, a.UUID.UUID, a.Params)
	})
}

// wirePort names a port to a client.
func wirePort(q *request, network, port spec.UUID, r *remote.NetworkUUID) error {
	n, err := q.backend.NetworkByUUID(network)
	*r = remote.NetworkUUID{Network: wireNetwork(n), UUID: remote.UUID{UUID: port}}
	return err
}

// NoNetworkPort is the error for a port that a network does not have.
func NoNetworkPort(port spec.UUID) error {
	return virterr.New(virterr.NoNetworkPort, "Network port with UUID %s does not exist", port).In(virterr.FromNetwork)
}
