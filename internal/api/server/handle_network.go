package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

func bindNetworks(p *program) {
	bindNetworkLists(p)
	bindNetworkReads(p)
	bindNetworkPorts(p)
	made := func(n Network, err error, r *remote.Network) error {
		*r = wireNetwork(n)
		return err
	}
	bind(p, remote.ProcNetworkCreate, func(q *request, a *remote.Network, _ *xdr.Void) error {
		return q.backend.StartNetwork(q.ctx, a.UUID)
	})
	bind(p, remote.ProcNetworkCreateXML, func(q *request, a *remote.String, r *remote.Network) error {
		n, err := q.backend.CreateNetwork(q.ctx, a.S, 0)
		return made(n, err, r)
	})
	bind(p, remote.ProcNetworkCreateXMLFlags, func(q *request, a *remote.StringFlags, r *remote.Network) error {
		n, err := q.backend.CreateNetwork(q.ctx, a.S, a.Flags)
		return made(n, err, r)
	})
	bind(p, remote.ProcNetworkDefineXML, func(q *request, a *remote.String, r *remote.Network) error {
		n, err := q.backend.DefineNetwork(q.ctx, a.S, 0)
		return made(n, err, r)
	})
	bind(p, remote.ProcNetworkDefineXMLFlags, func(q *request, a *remote.StringFlags, r *remote.Network) error {
		n, err := q.backend.DefineNetwork(q.ctx, a.S, a.Flags)
		return made(n, err, r)
	})
	bind(p, remote.ProcNetworkDestroy, func(q *request, a *remote.Network, _ *xdr.Void) error {
		return q.backend.DestroyNetwork(q.ctx, a.UUID)
	})
	bind(p, remote.ProcNetworkUndefine, func(q *request, a *remote.Network, _ *xdr.Void) error {
		return q.backend.UndefineNetwork(q.ctx, a.UUID)
	})
	bind(p, remote.ProcNetworkSetAutostart, func(q *request, a *remote.NetworkInt, _ *xdr.Void) error {
		return q.backend.SetNetworkAutostart(q.ctx, a.UUID, a.N != 0)
	})
	bind(p, remote.ProcNetworkUpdate, func(q *request, a *remote.NetworkUpdate, _ *xdr.Void) error {
		return q.backend.UpdateNetwork(q.ctx, a.UUID, NetworkUpdate{a.Command, a.Section, a.ParentIndex, a.XML, a.Flags})
	})
}

func bindNetworkReads(p *program) {
	bind(p, remote.ProcNetworkLookupByName, func(q *request, a *remote.String, r *remote.Network) error {
		n, err := q.backend.NetworkByName(a.S)
		*r = wireNetwork(n)
		return err
	})
	bind(p, remote.ProcNetworkLookupByUUID, func(q *request, a *remote.UUID, r *remote.Network) error {
		n, err := q.backend.NetworkByUUID(a.UUID)
		*r = wireNetwork(n)
		return err
	})
	askNetwork := func(f func(*Network) bool) func(*request, *remote.Network, *remote.Int) error {
		return func(q *request, a *remote.Network, r *remote.Int) error {
			n, err := q.backend.NetworkByUUID(a.UUID)
			r.N = flag(f(&n))
			return err
		}
	}
	bind(p, remote.ProcNetworkGetAutostart, askNetwork(func(n *Network) bool { return n.Autostart }))
	bind(p, remote.ProcNetworkIsActive, askNetwork(func(n *Network) bool { return n.Active }))
	bind(p, remote.ProcNetworkIsPersistent, askNetwork(func(n *Network) bool { return n.Persistent }))
	bind(p, remote.ProcNetworkGetBridgeName, func(q *request, a *remote.Network, r *remote.String) error {
		n, err := q.backend.NetworkByUUID(a.UUID)
		if err == nil && n.Bridge == "" {
			return virterr.New(virterr.InternalError, "network '%s' does not have a bridge name.", n.Name).In(virterr.FromNetwork)
		}
		r.S = n.Bridge
		return err
	})
	bind(p, remote.ProcNetworkGetXMLDesc, func(q *request, a *remote.NetworkFlags, r *remote.String) (err error) {
		r.S, err = q.backend.NetworkXML(q.ctx, a.UUID, a.Flags)
		return err
	})
	bind(p, remote.ProcNetworkGetDHCPLeases, leases)
}

func leases(q *request, a *remote.LeasesArgs, r *remote.Leases) error {
	if err := validMAC(a.MAC); err != nil {
		return err
	}
	list, err := q.backend.DHCPLeases(q.ctx, a.Network.UUID, a.MAC.S)
	r.N = uint32(len(list))
	if a.Need == 0 || err != nil {
		return err
	}
	for _, l := range list {
		w := remote.Lease{
			Interface: l.Interface, Type: flag(l.IPv6), MAC: remote.OptNonEmpty(l.MAC), IAID: remote.OptNonEmpty(l.IAID),
			Addr: l.Addr, Prefix: l.Prefix, Hostname: remote.OptNonEmpty(l.Hostname), ClientID: remote.OptNonEmpty(l.ClientID),
		}
		if !l.Expiry.IsZero() {
			w.Expiry = l.Expiry.Unix()
		}
		r.Leases = append(r.Leases, w)
	}
	return nil
}

func bindNetworkLists(p *program) {
	bind(p, remote.ProcConnectListAllNetworks, func(q *request, a *remote.NeedFlags, r *remote.Networks) error {
		list := networks(q.backend, a.Flags)
		r.N = uint32(len(list))
		for _, n := range list {
			if a.Need != 0 {
				r.Networks = append(r.Networks, wireNetwork(n))
			}
		}
		return nil
	})
	names := func(flags uint32) func(*request, *remote.Int, *remote.Strings) error {
		return func(q *request, a *remote.Int, r *remote.Strings) error {
			for _, n := range networks(q.backend, flags) {
				if int32(len(r.S)) < a.N {
					r.S = append(r.S, n.Name)
				}
			}
			return nil
		}
	}
	count := func(flags uint32) func(*request, *xdr.Void, *remote.Int) error {
		return func(q *request, _ *xdr.Void, r *remote.Int) error {
			r.N = int32(len(networks(q.backend, flags)))
			return nil
		}
	}
	bind(p, remote.ProcConnectListNetworks, names(ListNetworksActive))
	bind(p, remote.ProcConnectNumOfNetworks, count(ListNetworksActive))
	bind(p, remote.ProcConnectListDefinedNetworks, names(ListNetworksInactive))
	bind(p, remote.ProcConnectNumOfDefinedNetworks, count(ListNetworksInactive))
}
