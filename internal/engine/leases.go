package engine

import (
	"context"
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"taproom/internal/api/own"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/network/helper"
	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
	"taproom/internal/spec"
)

// serves reports whether a network gives its guests anything but a bridge.
func (e *Engine) serves(doc *spec.Network) bool {
	s, err := e.compileNetwork(doc)
	_, served := s.Services[doc.UUID.String()]
	return err != nil || served
}

// given is what the helper gave out on a network, of one MAC or of all.
func (e *Engine) given(ctx context.Context, n *network, v *netView, mac string) ([]lease.Record, error) {
	all, err := e.helper.leases(ctx, n.uuid)
	var refused *helper.RefusedError
	if errors.As(err, &refused) && !e.serves(v.live) {
		return nil, nil
	}
	if err != nil {
		return nil, virterr.New(virterr.OperationFailed, "cannot read the leases of network '%s': %w", n.label, err)
	}
	if mac == "" {
		return all, nil
	}
	of, err := spec.ParseMAC(mac)
	if err != nil {
		return nil, virterr.New(virterr.InvalidMAC, "%w", err)
	}
	var some []lease.Record
	for _, l := range all {
		if l.MAC == packet.MAC(of) {
			some = append(some, l)
		}
	}
	return some, nil
}

// leases are records as libvirt's clients see them.
func (e *Engine) leases(ctx context.Context, n *network, v *netView, mac string) ([]server.DHCPLease, error) {
	all, err := e.given(ctx, n, v, mac)
	if err != nil {
		return nil, err
	}
	var out []server.DHCPLease
	for _, l := range all {
		out = append(out, leaseOf(v, l))
	}
	return out, nil
}

func leaseOf(v *netView, l lease.Record) server.DHCPLease {
	s := server.DHCPLease{
		Interface: v.ref.Bridge, IPv6: l.IP.Is6(), MAC: macText(l.MAC), Addr: l.IP.String(), Prefix: prefixOf(v.live, l.IP),
		Hostname: l.Hostname, ClientID: l.ClientID,
	}
	if s.IPv6 {
		s.IAID = strconv.FormatUint(uint64(l.IAID), 10)
	}
	if l.Expiry != 0 {
		s.Expiry = time.Unix(l.Expiry, 0)
	}
	return s
}

// macText is empty for a client of IPv6 whose MAC nobody knows: a DUID need not hold one.
func macText(m packet.MAC) string {
	if m == (packet.MAC{}) {
		return ""
	}
	return m.String()
}

func ownLease(n *network, v *netView, l lease.Record) own.Lease {
	out := own.Lease{
		Network: n.label, Bridge: v.ref.Bridge, Address: l.IP.String(), Prefix: prefixOf(v.live, l.IP), MAC: macText(l.MAC),
		Hostname: l.Hostname, IAID: l.IAID, Expiry: l.Expiry,
	}
	if l.IP.Is6() {
		out.DUID = l.ClientID
	} else {
		out.ClientID = l.ClientID
	}
	return out
}

// Leases implements server.Documents.
func (e *Engine) Leases(ctx context.Context, name string) ([]own.Lease, error) {
	some := e.networks.all()
	if name != "" {
		n, err := e.networkNamed(name)
		if err != nil {
			return nil, err
		}
		if n.view().live == nil {
			return nil, notServed(n)
		}
		some = []*network{n}
	}
	var out []own.Lease
	for _, n := range some {
		v := n.view()
		if v.live == nil {
			continue
		}
		all, err := e.given(ctx, n, v, "")
		if err != nil {
			return nil, err
		}
		for _, l := range all {
			out = append(out, ownLease(n, v, l))
		}
	}
	return out, nil
}

// networkNamed finds a network by its name or UUID.
func (e *Engine) networkNamed(name string) (*network, error) {
	if n, ok := e.networks.named(name); ok && n.view().exists() {
		return n, nil
	}
	if uuid, err := spec.ParseUUID(name); err == nil {
		return e.network(uuid)
	}
	return nil, virterr.NetworkNotFound("name", name)
}

func notServed(n *network) error {
	return virterr.New(virterr.OperationInvalid, "network '%s' is not active; start it with: virsh net-start %s", n.label, n.label)
}

// Lookup implements server.Documents.
func (e *Engine) Lookup(ctx context.Context, r own.LookupRequest) (own.LookupResult, error) {
	n, err := e.networkNamed(r.Network)
	if err != nil {
		return own.LookupResult{}, err
	}
	v := n.view()
	switch {
	case v.live == nil:
		return own.LookupResult{}, notServed(n)
	case v.live.DNS.Off():
		return own.LookupResult{}, virterr.New(virterr.OperationInvalid, "network '%s' has no DNS: its document says <dns enable='no'/>", n.label)
	case len(v.live.IPs) == 0:
		return own.LookupResult{}, virterr.New(virterr.OperationInvalid, "network '%s' has no DNS: its document has no <ip>, so there is no address to serve it at", n.label)
	}
	a, err := e.helper.lookup(ctx, n.uuid, r.Name, r.Type)
	if err != nil {
		return own.LookupResult{}, virterr.New(virterr.OperationFailed, "cannot ask the DNS of network '%s' for %s of type %s: %w", n.label, r.Name, r.Type, err)
	}
	return own.LookupResult{Network: n.label, Name: r.Name, Type: r.Type, Status: a.Status, Records: a.Records, Source: a.Source}, nil
}

// prefixOf is the length of the network's prefix around an address.
func prefixOf(doc *spec.Network, a netip.Addr) uint32 {
	for _, ip := range doc.IPs {
		if p, err := ip.Subnet(); err == nil && p.Contains(a) {
			return uint32(p.Bits())
		}
	}
	return uint32(a.BitLen())
}

// InterfaceAddresses implements server.DomainData.
func (e *Engine) InterfaceAddresses(ctx context.Context, uuid spec.UUID, source uint32) ([]server.InterfaceAddresses, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return nil, err
	}
	run, err := d.running()
	if err != nil {
		return nil, err
	}
	switch source {
	case server.AddressesLease:
		return e.leasedAddresses(ctx, run)
	case server.AddressesARP:
		return e.neighbourAddresses(run)
	case server.AddressesAgent:
		return e.agentAddresses(ctx, uuid)
	}
	return nil, virterr.New(virterr.ArgumentUnsupported, "Unknown IP address data source %d", source)
}

// leasedAddresses are those that DHCP gave to a guest's NICs.
func (e *Engine) leasedAddresses(ctx context.Context, run *running) ([]server.InterfaceAddresses, error) {
	var out []server.InterfaceAddresses
	now := run.hardware()
	for _, p := range now.rec.Ports {
		n, ok := e.networks.named(p.Network)
		if !ok || n.view().live == nil {
			continue
		}
		mac := now.nic(p).MAC.Address
		leases, err := e.leases(ctx, n, n.view(), mac)
		if err != nil {
			return nil, err
		}
		a := server.InterfaceAddresses{Name: p.Name, MAC: mac}
		for _, l := range leases {
			a.Addresses = append(a.Addresses, server.Address{IPv6: l.IPv6, Addr: l.Addr, Prefix: l.Prefix})
		}
		if len(a.Addresses) > 0 {
			out = append(out, a)
		}
	}
	return out, nil
}

// neighbourAddresses are those that the host has talked to.
func (e *Engine) neighbourAddresses(run *running) ([]server.InterfaceAddresses, error) {
	known, err := e.k.Neighbours()
	if err != nil {
		return nil, virterr.Wrap(virterr.SystemError, err)
	}
	var out []server.InterfaceAddresses
	now := run.hardware()
	for _, p := range now.rec.Ports {
		mac := now.nic(p).MAC.Address
		a := server.InterfaceAddresses{Name: p.Name, MAC: mac}
		for _, n := range known {
			if strings.EqualFold(n.MAC, mac) {
				a.Addresses = append(a.Addresses, server.Address{IPv6: n.Addr.Is6(), Addr: n.Addr.String()})
			}
		}
		if len(a.Addresses) > 0 {
			out = append(out, a)
		}
	}
	return out, nil
}
