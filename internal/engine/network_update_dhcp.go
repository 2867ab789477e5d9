package engine

import (
	"net/netip"
	"slices"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// subnetFor finds the <ip> whose <dhcp> is meant: the one with that index. Without an index it is the one whose subnet an
// address is in, or else one of its family; libvirt looks no further than the first <dhcp> there, and that is what is taken
// where no address tells.
func subnetFor(doc *spec.Network, parent int32, address string, has func(*spec.DHCP) bool) (*spec.IP, error) {
	if parent >= 0 {
		if int(parent) < len(doc.IPs) {
			return &doc.IPs[parent], nil
		}
		return nil, virterr.New(virterr.OperationInvalid, "couldn't update dhcp host entry - no <ip> element found at index %d in network '%s'", parent, doc.Name)
	}
	a, err := netip.ParseAddr(address)
	serves := func(ip *spec.IP) bool { return ip.DHCP != nil && len(ip.DHCP.Ranges)+len(ip.DHCP.Hosts) > 0 }
	sameFamily := func(ip *spec.IP) bool { return err == nil && a.Is6() == (ip.Family == "ipv6") }
	for _, fits := range []func(*spec.IP) bool{
		func(ip *spec.IP) bool {
			p, perr := ip.Subnet()
			return err == nil && perr == nil && p.Contains(a)
		},
		func(ip *spec.IP) bool { return err != nil && ip.DHCP != nil && has(ip.DHCP) },
		func(ip *spec.IP) bool { return sameFamily(ip) && serves(ip) },
		sameFamily,
		serves,
		func(ip *spec.IP) bool { return ip.Family != "ipv6" },
		func(*spec.IP) bool { return true },
	} {
		for i := range doc.IPs {
			if fits(&doc.IPs[i]) {
				return &doc.IPs[i], nil
			}
		}
	}
	return nil, virterr.New(virterr.OperationInvalid, "couldn't update dhcp host entry - no <ip> element found in network '%s'", doc.Name)
}

// changeDHCP edits the <dhcp> of an <ip>, which appears with its first entry and goes with its last.
func changeDHCP(ip *spec.IP, change func(*spec.DHCP) error) error {
	d := ip.DHCP
	if d == nil {
		d = &spec.DHCP{}
	}
	if err := change(d); err != nil {
		return err
	}
	ip.DHCP = d
	if len(d.Ranges)+len(d.Hosts)+len(d.Attrs)+len(d.Elements) == 0 && d.Bootp == nil {
		ip.DHCP = nil
	}
	return nil
}

func updateDHCPHost(doc *spec.Network, u server.NetworkUpdate) error {
	h, err := spec.ParseDHCPHost([]byte(u.XML))
	if err != nil {
		return documentError(err)
	}
	all := func(o *spec.DHCPHost) bool { return hasAll(o, h) }
	ip, err := subnetFor(doc, u.ParentIndex, h.IP, func(d *spec.DHCP) bool { return len(matching(d.Hosts, all)) > 0 })
	if err != nil {
		return err
	}
	return changeDHCP(ip, func(d *spec.DHCP) error {
		switch u.Command {
		case updateModify:
			at := matching(d.Hosts, func(o *spec.DHCPHost) bool { return sameClient(o, h) })
			if len(at) == 0 {
				return virterr.New(virterr.OperationInvalid, "couldn't locate an existing dhcp host entry with \"mac='%s'\" \"name='%s'\" \"ip='%s'\" in network '%s'", orUnknown(h.MAC), orUnknown(h.Name), orUnknown(h.IP), doc.Name)
			}
			d.Hosts[at[0]] = *h
		case updateDelete:
			at := matching(d.Hosts, all)
			if len(at) == 0 || h.ID+h.MAC+h.Name+h.IP == "" {
				return virterr.New(virterr.OperationInvalid, "couldn't locate a matching dhcp host entry in network '%s'", doc.Name)
			}
			d.Hosts = slices.Delete(d.Hosts, at[0], at[0]+1)
		default:
			if len(matching(d.Hosts, func(o *spec.DHCPHost) bool { return sameClient(o, h) || sameAddress(o.IP, h.IP) })) > 0 {
				return virterr.New(virterr.OperationInvalid, "there is an existing dhcp host entry in network '%s' that matches \"<host mac='%s' name='%s' ip='%s'/>\"", doc.Name, orUnknown(h.MAC), orUnknown(h.Name), orUnknown(h.IP))
			}
			d.Hosts = added(d.Hosts, *h, u)
		}
		return nil
	})
}

// sameClient reports whether two entries are about one client: by MAC, name or identifier.
func sameClient(a, b *spec.DHCPHost) bool {
	return sameMAC(a.MAC, b.MAC) || b.Name != "" && a.Name == b.Name || sameID(a.ID, b.ID)
}

// hasAll reports whether an entry has everything that is asked for. (To libvirt an entry without a MAC has any that is.)
func hasAll(have, asked *spec.DHCPHost) bool {
	return (asked.MAC == "" || sameMAC(have.MAC, asked.MAC)) &&
		(asked.ID == "" || sameID(have.ID, asked.ID)) &&
		(asked.Name == "" || have.Name == asked.Name) &&
		(asked.IP == "" || sameAddress(have.IP, asked.IP))
}

func sameMAC(a, b string) bool {
	x, err1 := spec.ParseMAC(a)
	y, err2 := spec.ParseMAC(b)
	return err1 == nil && err2 == nil && x.String() == y.String()
}

func sameID(a, b string) bool {
	x, err1 := spec.ParseClientID(a)
	y, err2 := spec.ParseClientID(b)
	return err1 == nil && err2 == nil && slices.Equal(x, y)
}

func sameAddress(a, b string) bool {
	x, err1 := netip.ParseAddr(a)
	y, err2 := netip.ParseAddr(b)
	return err1 == nil && err2 == nil && x == y
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func updateDHCPRange(doc *spec.Network, u server.NetworkUpdate) error {
	if u.Command == updateModify {
		return virterr.New(virterr.OperationInvalid, "dhcp ranges cannot be modified, only added or deleted")
	}
	r, err := spec.ParseDHCPRange([]byte(u.XML))
	if err != nil {
		return documentError(err)
	}
	ip, err := subnetFor(doc, u.ParentIndex, r.Start, func(*spec.DHCP) bool { return false })
	if err != nil {
		return err
	}
	return changeDHCP(ip, func(d *spec.DHCP) error {
		at := matching(d.Ranges, func(o *spec.DHCPRange) bool { return sameAddress(o.Start, r.Start) && sameAddress(o.End, r.End) })
		switch {
		case adds(u) && len(at) > 0:
			return virterr.New(virterr.OperationInvalid, "there is an existing dhcp range entry in network '%s' that matches \"<range start='%s' end='%s'/>\"", doc.Name, r.Start, r.End)
		case adds(u):
			d.Ranges = added(d.Ranges, *r, u)
		case len(at) == 0:
			return virterr.New(virterr.OperationInvalid, "couldn't locate a matching dhcp range entry in network '%s'", doc.Name)
		default:
			d.Ranges = slices.Delete(d.Ranges, at[0], at[0]+1)
		}
		return nil
	})
}
