package server

import (
	"encoding/json"

	"taproom/internal/api/own"
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
	"taproom/internal/spec"
)

// bindLeases binds the calls about addresses and names of guests.
func bindLeases(p *program) {
	bindJSON(p, remote.OwnLeases, func(q *request, a own.LeasesRequest) (own.LeasesResult, error) {
		all, err := q.backend.Leases(q.ctx, a.Network)
		return own.LeasesResult{Leases: append([]own.Lease{}, all...)}, err
	})
	bindJSON(p, remote.OwnLookup, func(q *request, a own.LookupRequest) (own.LookupResult, error) {
		return q.backend.Lookup(q.conn.asked, a)
	})
	bindJSON(p, remote.OwnTraffic, func(q *request, a own.TrafficRequest) (own.TrafficResult, error) {
		all, err := q.backend.NetworkTraffic(q.conn.asked, a.Network)
		return own.TrafficResult{Networks: append([]own.NetworkTraffic{}, all...)}, err
	})
	bindJSON(p, remote.OwnSubscribeLeases, func(q *request, a own.LeasesRequest) (own.Subscription, error) {
		reg := registration{source: fromLeases, one: a.Network != ""}
		if reg.one {
			n, err := networkNamed(q.backend, a.Network)
			if err != nil {
				return own.Subscription{}, err
			}
			reg.uuid = n.UUID
		}
		id, err := q.conn.register(reg)
		return own.Subscription{Callback: id}, err
	})
	bindJSON(p, remote.OwnUnsubscribe, func(q *request, a own.Subscription) (struct{}, error) {
		return struct{}{}, q.conn.deregister(func(r registration) bool { return r.source == fromLeases && r.id == a.Callback })
	})
}

// networkNamed finds a network by what people call it.
func networkNamed(b Backend, name string) (Network, error) {
	n, err := b.NetworkByName(name)
	if err == nil {
		return n, nil
	}
	if uuid, uerr := spec.ParseUUID(name); uerr == nil {
		return b.NetworkByUUID(uuid)
	}
	return Network{}, err
}

// LeaseChange is something that happened to a lease of a network; with own.LeasesMissed, to leases of any.
type LeaseChange struct {
	Network Network
	Event   own.LeaseEvent
}

func (e LeaseChange) forms() []form {
	text, err := json.Marshal(e.Event)
	if err != nil || len(text) > remote.MaxJSON {
		return nil // text and numbers of a few hundred bytes always have a form
	}
	return []form{{
		source: fromLeases, uuid: e.Network.UUID, everybody: e.Event.Kind == own.LeasesMissed,
		program: remote.ProgramOwn, procedure: remote.OwnEventLease,
		payload: func(callback int32, _ bool) xdr.Value {
			return &remote.OwnEvent{Callback: callback, JSON: remote.JSON{B: text}}
		},
	}}
}

// validMAC refuses what is no MAC address, as libvirt does where one is asked for.
func validMAC(mac remote.OptString) error {
	if _, err := spec.ParseMAC(mac.S); mac.Set && err != nil {
		return virterr.New(virterr.InvalidMAC, "invalid MAC address: %s", mac.S)
	}
	return nil
}
