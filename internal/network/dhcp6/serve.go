package dhcp6

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/insomniacslk/dhcp/dhcpv6"

	"taproom/internal/network/packet"
)

func (a *ia) number() uint32 { return binary.BigEndian.Uint32(a.id[:]) }

// solicit advertises what a REQUEST would get now, and keeps nothing back for it. With rapid commit it gives it at once
// (RFC 8415, 18.3.1).
func (x *exchange) solicit() error {
	chosen := make([]netip.Addr, len(x.p.ias))
	found := false
	for i, a := range x.p.ias {
		if a.kind != dhcpv6.OptionIANA {
			continue
		}
		if got, ok := x.pool.choose(&x.client, a.number(), a.addresses, x.now); ok {
			chosen[i], found = got, true
			x.client.given = append(x.client.given, got)
		}
	}
	rapid := x.config.Rapid && x.p.rapid && found
	if rapid {
		x.begin(dhcpv6.MessageTypeReply)
		x.add(&dhcpv6.OptionGeneric{OptionCode: dhcpv6.OptionRapidCommit})
	} else {
		x.begin(dhcpv6.MessageTypeAdvertise)
		if x.config.Authoritative {
			x.add(preference()) // RFC 8415, 18.2.1: the client need not wait a second for others
		}
	}
	for i, a := range x.p.ias {
		if !chosen[i].IsValid() {
			x.deny(a, unavailable(a.kind))
			continue
		}
		if rapid {
			x.bind(a.number(), chosen[i])
		}
		x.grant(a, chosen[i], nil, nil)
	}
	x.tell()
	return nil
}

// request gives what was advertised, or what is there instead (RFC 8415, 18.3.2).
func (x *exchange) request() error {
	x.begin(dhcpv6.MessageTypeReply)
	for _, a := range x.p.ias {
		if a.kind != dhcpv6.OptionIANA {
			x.deny(a, unavailable(a.kind))
			continue
		}
		if slices.ContainsFunc(a.addresses, func(a netip.Addr) bool { return !x.config.onLink(a) }) {
			x.deny(a, notOnLink)
			continue
		}
		got, ok := x.pool.choose(&x.client, a.number(), a.addresses, x.now)
		if !ok {
			x.deny(a, unavailable(a.kind))
			continue
		}
		x.client.given = append(x.client.given, got)
		x.bind(a.number(), got)
		x.grant(a, got, nil, nil)
	}
	x.tell()
	return nil
}

// confirm tells a client that may have been moved to another link whether it was (RFC 8415, 18.3.3). A server among others
// does not know of all subnets that are on the link.
func (x *exchange) confirm() error {
	listed, foreign := false, false
	for _, a := range x.p.ias {
		for _, addr := range a.addresses {
			listed = true
			foreign = foreign || !x.config.onLink(addr)
		}
	}
	if !listed || foreign && !x.config.Authoritative {
		return packet.RefuseUnknown
	}
	x.begin(dhcpv6.MessageTypeReply)
	if foreign {
		x.status(notOnLink)
	} else {
		x.status(success)
	}
	return nil
}

// extend serves RENEW and REBIND (RFC 8415, 18.3.4 and 18.3.5), which differ in what is unknown: RENEW is to this server,
// which says so, REBIND is to any, and whoever is not alone on the link must not speak about another's leases.
func (x *exchange) extend() error {
	rebind := x.p.Type == dhcpv6.MessageTypeRebind
	x.begin(dhcpv6.MessageTypeReply)
	answered := !rebind
	for _, a := range x.p.ias {
		switch {
		case a.kind == dhcpv6.OptionIANA && x.renew(a):
		case rebind && !x.config.Authoritative:
			continue
		case rebind && a.kind == dhcpv6.OptionIANA && len(a.addresses) > 0:
			x.grant(a, netip.Addr{}, nil, a.addresses) // all with no time left
		case a.kind != dhcpv6.OptionIANA && a.empty:
			x.deny(a, unavailable(a.kind)) // after NoBinding the client would ask once more (RFC 8415, 18.2.10.1)
		default:
			x.deny(a, noBinding)
		}
		answered = true
	}
	if !answered {
		return packet.RefuseUnknown
	}
	x.tell()
	return nil
}

// renew prolongs an identity association, or makes it again if there is a network that is ours alone and nothing against it:
// the lease file may have been lost. It reports whether it could.
func (x *exchange) renew(a ia) bool {
	id := x.client.identity(a.number())
	free := func(addr netip.Addr) bool { return x.pool.free(addr, &x.client, id, x.now) }
	known := false
	for e := x.pool.leases.of[id]; e != nil; e = e.older {
		known = known || e.Live(x.now) || free(e.IP)
	}
	if !known && (!x.config.Authoritative || !slices.ContainsFunc(a.addresses, free)) {
		return false
	}
	got, ok := x.pool.choose(&x.client, a.number(), a.addresses, x.now)
	if ok {
		x.client.given = append(x.client.given, got)
		x.bind(a.number(), got)
	}
	var running []*entry
	lost := slices.Clone(a.addresses)
	for e := x.pool.leases.of[id]; e != nil; e = e.older {
		if e.IP != got && e.Live(x.now) && len(running) < maxRunOut {
			running = append(running, e)
		}
		if e.Live(x.now) {
			lost = slices.DeleteFunc(lost, func(addr netip.Addr) bool { return addr == e.IP })
		}
	}
	if !ok && len(running) == 0 {
		return false // no more room to remember it
	}
	x.grant(a, got, running, lost)
	return true
}

// giveBack serves RELEASE and DECLINE (RFC 8415, 18.3.7 and 18.3.8). Nobody takes an address out of use that is not his.
func (x *exchange) giveBack() error {
	x.begin(dhcpv6.MessageTypeReply)
	x.status(success)
	for _, a := range x.p.ias {
		bound := false
		for e := x.pool.leases.of[x.client.identity(a.number())]; e != nil && a.kind == dhcpv6.OptionIANA; e = e.older {
			if !e.Live(x.now) {
				continue
			}
			bound = true
			if !slices.Contains(a.addresses, e.IP) {
				continue
			}
			x.changes = append(x.changes, x.pool.end(e, x.now)...)
			if x.p.Type == dhcpv6.MessageTypeDecline {
				x.pool.rest.put(e.IP, x.now+restSeconds)
				x.pool.drop(e)
			} else {
				x.pool.retire(e)
			}
		}
		if !bound {
			x.deny(a, noBinding)
		}
	}
	return nil
}

// inform tells what there is beside addresses (RFC 8415, 18.3.6).
func (x *exchange) inform() error {
	x.begin(dhcpv6.MessageTypeReply)
	x.tell()
	return nil
}
