package spec

import (
	"net/netip"
	"slices"
)

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
		if err := n.Forward.check(n); err != nil {
			return err
		}
	}
	for _, check := range []func() error{n.checkMTU, n.checkIPs, n.DNS.check, n.checkRoutes, n.checkGroups, n.checkPortForwards} {
		if err := check(); err != nil {
			return err
		}
	}
	_, err := n.DnsmasqSettings()
	return err
}

// checkMTU: a link of less than 1280 bytes has no IPv6 (RFC 8200, 5), and the kernel takes its addresses away.
func (n *Network) checkMTU() error {
	if n.MTU == nil {
		return nil
	}
	size, err := ParseDecimal(n.MTU.Size, 65535)
	if err == nil && size < 1280 && n.HasIPv6() {
		return invalid("mtu/@size", "IPv6 needs an MTU of at least 1280, not %d", size)
	}
	return nil
}

// HasIPv6 reports whether the bridge has an IPv6 address of its own.
func (n *Network) HasIPv6() bool {
	return slices.ContainsFunc(n.IPs, func(ip IP) bool { return ip.Family == "ipv6" })
}

func (n *Network) checkIPs() error {
	tftp := false
	for i := range n.IPs {
		ip := &n.IPs[i]
		subnet, err := ip.Subnet()
		if err != nil {
			return invalid("ip", "%s", err)
		}
		if err := ip.check(subnet); err != nil {
			return err
		}
		for j := range i {
			if other, err := n.IPs[j].Subnet(); err == nil && other.Overlaps(subnet) {
				return invalid("ip", "%s overlaps with %s", subnet, other)
			}
		}
		if ip.TFTP != nil {
			if tftp {
				return unsupported("ip/tftp", "boot files are served from one address of a network; give it once")
			}
			tftp = true
		}
		if ip.DHCP == nil {
			continue
		}
		if err := ip.DHCP.check(subnet); err != nil {
			return err
		}
	}
	return nil
}

// check is what one <ip> has to keep to, whatever the others are.
func (i *IP) check(subnet netip.Prefix) error {
	a := subnet.Addr()
	switch {
	case a.Is6() && i.Family != "ipv6":
		return unsupported("ip/@family", "address %s is of IPv6; write family='ipv6'", a)
	case a.Is4() && i.Family == "ipv6":
		return unsupported("ip/@family", "address %s is not of IPv6; write family='ipv4'", a)
	case a.IsMulticast() || a.IsUnspecified() || a.IsLoopback() || subnet.Bits() == 0:
		return invalid("ip", "%s cannot be the address of a bridge", subnet)
	case a.Is6() && a.IsLinkLocalUnicast():
		return invalid("ip", "%s is link-local; the bridge has such an address in any case", subnet)
	}
	if err := usable(subnet); err != nil {
		return err
	}
	if i.LocalPtr == "yes" && !zoneCut(subnet) {
		return unsupported("ip/@localPtr", "no reverse zone ends at a prefix length of %d; use a multiple of 8 (IPv6: of 4)", subnet.Bits())
	}
	if i.TFTP == nil {
		return nil
	}
	if a.Is6() {
		return unsupported("ip/tftp", "boot files are served from an IPv4 address; put it there")
	}
	if !cleanPath(i.TFTP.Root) {
		return invalid("ip/tftp/@root", "%q is no absolute path of a directory", i.TFTP.Root)
	}
	return nil
}

// zoneCut reports whether names of the reverse tree end where the prefix does (RFC 1035, 3.5; RFC 3596, 2.5).
func zoneCut(p netip.Prefix) bool {
	if p.Addr().Is4() {
		return p.Bits()%8 == 0
	}
	return p.Bits()%4 == 0
}

// usable: the first and last address of an IPv4 subnet mean the subnet itself and all in it, and the first of an IPv6 one
// any of its routers (RFC 4291, 2.6.1), so no bridge can have them.
func usable(subnet netip.Prefix) error {
	a := subnet.Addr()
	switch {
	case subnet.Bits() >= a.BitLen()-1:
		return nil
	case a == subnet.Masked().Addr():
		return invalid("ip", "%s is the address of the subnet itself", subnet)
	case a.Is4() && !subnet.Contains(a.Next()):
		return invalid("ip", "%s is the broadcast address of the subnet", subnet)
	}
	return nil
}
