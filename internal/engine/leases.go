package engine

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/network/lease"
	"taproom/internal/spec"
)

// leases are what the DHCP helper gave out on a network, of one MAC or of all.
func (e *Engine) leases(ctx context.Context, n *network, v *netView, mac string) ([]server.DHCPLease, error) {
	all, err := e.dhcp.leases(ctx, n.uuid)
	if err != nil {
		return nil, virterr.New(virterr.OperationFailed, "cannot read the leases of network '%s': %w", n.label, err)
	}
	var out []server.DHCPLease
	for _, l := range all {
		if mac == "" || strings.EqualFold(mac, l.MAC.String()) {
			out = append(out, leaseOf(v, l))
		}
	}
	return out, nil
}

func leaseOf(v *netView, l lease.Record) server.DHCPLease {
	s := server.DHCPLease{
		Interface: v.ref.Bridge, MAC: l.MAC.String(), Addr: l.IP.String(), Prefix: prefixOf(v.live, l.IP),
		Hostname: l.Hostname, ClientID: l.ClientID,
	}
	if l.Expiry != 0 {
		s.Expiry = time.Unix(l.Expiry, 0)
	}
	return s
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
	}
	return nil, virterr.New(virterr.ArgumentUnsupported, "addresses of domain '%s' come from leases (--source lease) or ARP (--source arp); its guest agent is not asked", d.label)
}

// leasedAddresses are those that our DHCP gave to a guest's NICs.
func (e *Engine) leasedAddresses(ctx context.Context, run *running) ([]server.InterfaceAddresses, error) {
	var out []server.InterfaceAddresses
	for _, p := range run.rec.Ports {
		n, ok := e.networks.named(p.Network)
		if !ok || n.view().live == nil {
			continue
		}
		mac := run.doc.Devices.Interfaces[p.NIC].MAC.Address
		leases, err := e.leases(ctx, n, n.view(), mac)
		if err != nil {
			return nil, err
		}
		a := server.InterfaceAddresses{Name: p.Name, MAC: mac}
		for _, l := range leases {
			a.Addresses = append(a.Addresses, server.Address{Addr: l.Addr, Prefix: l.Prefix})
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
	for _, p := range run.rec.Ports {
		mac := run.doc.Devices.Interfaces[p.NIC].MAC.Address
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
