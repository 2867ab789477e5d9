package spec

import "net/netip"

// Validate reports what is wrong with the document in itself; see Domain.Validate.
func (n *Network) Validate() error {
	w := &walker{rules: networkRules(), path: make([]byte, 0, 128)}
	if err := w.document(n, &n.Extra); err != nil {
		return err
	}
	if err := checkName("name", n.Name); err != nil {
		return err
	}
	if n.Bridge != nil && n.Bridge.Name != "" && !linkName(n.Bridge.Name) {
		return invalid("bridge/@name", "%q is no name of a link (1 to 15 characters, no '/', no white space)", n.Bridge.Name)
	}
	if n.MAC != nil {
		if _, err := parseUnicastMAC(n.MAC.Address); err != nil {
			return invalid("mac/@address", "%s", err)
		}
	}
	if n.Domain != nil && !hostName(n.Domain.Name) {
		return invalid("domain/@name", "%q is no name of a DNS domain", n.Domain.Name)
	}
	if n.Forward != nil {
		if err := n.Forward.check(len(n.IPs)); err != nil {
			return err
		}
	}
	return n.checkIPs()
}

func (f *Forward) check(addresses int) error {
	if addresses == 0 && (f.Mode == "" || f.Mode == "nat") {
		return invalid("forward", "there is no <ip>; NAT needs an IPv4 address")
	}
	if f.NAT == nil || f.NAT.Port == nil {
		return nil
	}
	first, last, err := f.NAT.Port.Ports()
	if err != nil {
		return invalid("forward/nat/port", "%s", err)
	}
	if first != 1024 || last != 65535 { // the range libvirt writes when none was asked for
		return unsupported("forward/nat/port", "source ports are always taken from 1024 to 65535; leave it out")
	}
	return nil
}

func (n *Network) checkIPs() error {
	served := false
	for i := range n.IPs {
		ip := &n.IPs[i]
		subnet, err := ip.Subnet()
		if err != nil {
			return invalid("ip", "%s", err)
		}
		if subnet.Addr().Is6() {
			return unsupported("ip", "IPv6 address %s: IPv6 is not implemented yet", subnet.Addr())
		}
		if a := subnet.Addr(); a.IsMulticast() || a.IsUnspecified() || a.IsLoopback() || subnet.Bits() == 0 {
			return invalid("ip", "%s cannot be the address of a bridge", subnet)
		}
		if err := usable(subnet); err != nil {
			return err
		}
		for j := range i {
			if other, err := n.IPs[j].Subnet(); err == nil && other.Overlaps(subnet) {
				return invalid("ip", "%s overlaps with %s", subnet, other)
			}
		}
		if ip.DHCP == nil {
			continue
		}
		if served {
			return invalid("ip/dhcp", "addresses are handed out of one IPv4 subnet of a network")
		}
		served = true
		if err := ip.DHCP.check(subnet); err != nil {
			return err
		}
	}
	return nil
}

// usable: the first and last address of a subnet mean the subnet itself and all in it, so no bridge can have them.
func usable(subnet netip.Prefix) error {
	a := subnet.Addr()
	switch {
	case subnet.Bits() >= 31:
		return nil
	case a == subnet.Masked().Addr():
		return invalid("ip", "%s is the address of the subnet itself", subnet)
	case !subnet.Contains(a.Next()):
		return invalid("ip", "%s is the broadcast address of the subnet", subnet)
	}
	return nil
}

func (d *DHCP) check(subnet netip.Prefix) error {
	for i := range d.Ranges {
		r := &d.Ranges[i]
		first, last, err := r.Addrs()
		if err != nil {
			return invalid("ip/dhcp/range", "%s", err)
		}
		if err := inside(subnet, first, last); err != nil {
			return err
		}
		for j := range i {
			a, b, err := d.Ranges[j].Addrs()
			if err == nil && !last.Less(a) && !b.Less(first) {
				return invalid("ip/dhcp/range", "%s to %s overlaps with %s to %s", first, last, a, b)
			}
		}
		if _, err := r.Lease.Duration(); err != nil {
			return invalid("ip/dhcp/range/lease", "%s", err)
		}
	}
	return d.checkHosts(subnet)
}

// inside: a range lies in the subnet and leaves out its first and last address, which no host can have.
func inside(subnet netip.Prefix, first, last netip.Addr) error {
	for _, a := range []netip.Addr{first, last} {
		if !subnet.Contains(a) {
			return invalid("ip/dhcp/range", "%s is outside %s", a, subnet.Masked())
		}
	}
	if subnet.Bits() >= 31 {
		return nil
	}
	if first == subnet.Masked().Addr() {
		return invalid("ip/dhcp/range", "start %s is the address of the subnet itself", first)
	}
	if !subnet.Contains(last.Next()) {
		return invalid("ip/dhcp/range", "end %s is the broadcast address of %s", last, subnet.Masked())
	}
	return nil
}

func (d *DHCP) checkHosts(subnet netip.Prefix) error {
	const at = "ip/dhcp/host"
	macs, names, addrs := map[string]bool{}, map[string]bool{}, map[netip.Addr]bool{}
	for i := range d.Hosts {
		h := &d.Hosts[i]
		if h.MAC == "" && h.Name == "" {
			return invalid(at, "host %d has neither mac nor name", i+1)
		}
		if h.MAC != "" {
			mac, err := parseUnicastMAC(h.MAC)
			if err != nil {
				return invalid(at+"/@mac", "%s", err)
			}
			if macs[mac.String()] {
				return invalid(at+"/@mac", "%s is used by two hosts", mac)
			}
			macs[mac.String()] = true
		}
		if h.Name != "" {
			if !hostName(h.Name) {
				return invalid(at+"/@name", "%q is no name of a host", h.Name)
			}
			if names[h.Name] {
				return invalid(at+"/@name", "%s is used by two hosts", h.Name)
			}
			names[h.Name] = true
		}
		addr, err := parseAddr(h.IP)
		if err != nil {
			return invalid(at+"/@ip", "%s", err)
		}
		if !subnet.Contains(addr) {
			return invalid(at+"/@ip", "%s is outside %s", addr, subnet.Masked())
		}
		if addr == subnet.Addr() {
			return invalid(at+"/@ip", "%s is the address of the bridge", addr)
		}
		if addrs[addr] {
			return invalid(at+"/@ip", "%s is used by two hosts", addr)
		}
		addrs[addr] = true
		if _, err := h.Lease.Duration(); err != nil {
			return invalid(at+"/lease", "%s", err)
		}
	}
	return nil
}

// hostName reports whether s is made of DNS labels (RFC 1123; an underscore is taken too, as libvirt does).
func hostName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	label := 0
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '.':
			if label == 0 || s[i-1] == '-' {
				return false
			}
			label = 0
			continue
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
		case c == '-' && label > 0:
		default:
			return false
		}
		if label++; label > 63 {
			return false
		}
	}
	return label > 0 && s[len(s)-1] != '-'
}
