package spec

import "net/netip"

// checkPortForwards is what can be said of them without looking at the host.
func (n *Network) checkPortForwards() error {
	all, err := n.PortForwards()
	if err != nil || len(all) == 0 {
		return err
	}
	mode := ""
	if n.Forward != nil {
		mode = n.Forward.Mode
	}
	if !n.Routed() || n.Forward == nil {
		if mode == "" {
			mode = "isolated: it has no <forward>"
		}
		return invalid(portForward, "ports are forwarded into networks of <forward mode='nat'/>, route and open; this one is %s", mode)
	}
	ports := 0
	for i, f := range all {
		if reason := n.forwardFault(f); reason != "" {
			return invalid(portForward, "%s to %s: %s", f.At(), f.To(), reason)
		}
		ports += int(f.End-f.Port) + 1
		for _, g := range all[:i] {
			if ForwardsClash(n, f, n, g) {
				return invalid(portForward, "%s leads to %s and (%s) to %s; a port leads to one guest", f.At(), f.To(), g.At(), g.To())
			}
		}
	}
	if ports > MaxForwardedPorts {
		return invalid(portForward, "they are %d ports; a network may have %d", ports, MaxForwardedPorts)
	}
	return nil
}

// forwardFault is what is wrong with one by itself; "" when nothing is.
func (n *Network) forwardFault(f ForwardedPorts) string {
	for i, a := range []netip.Addr{f.Address, f.Target} {
		what := []string{"address", "to"}[i]
		switch {
		case !a.IsValid():
		case a.Is4In6():
			return what + " is one of IPv4 written as one of IPv6; write " + a.Unmap().String()
		case a.Zone() != "", a.IsMulticast(), a.IsUnspecified(), a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
			return what + "='" + a.String() + "' stands for no one host"
		case a.IsLinkLocalUnicast():
			return what + "='" + a.String() + "' is link-local, which nothing is forwarded from or to"
		}
	}
	if f.Address.IsValid() && f.Target.IsValid() && f.Address.Is4() != f.Target.Is4() {
		return "the one is of IPv4 and the other of IPv6"
	}
	if f.Target.IsValid() && f.Target.IsLoopback() {
		return "that is the host itself"
	}
	inside := false
	for _, ip := range n.IPs {
		p, err := ip.Subnet()
		if err != nil {
			return err.Error()
		}
		switch {
		case f.Address.IsValid() && f.Address != p.Addr() && p.Contains(f.Address):
			return "address='" + f.Address.String() + "' is one of the guests'; name one of the host's, or leave it out for all of them"
		case !f.Target.IsValid() || !p.Contains(f.Target):
			continue
		case f.Target == p.Addr():
			return "that is the host itself, at the network's bridge"
		case usable(netip.PrefixFrom(f.Target, p.Bits())) != nil:
			return "that stands for the network itself, or for all in it"
		}
		inside = true
	}
	four, six := ForwardFamilies(n, f)
	switch {
	case f.Target.IsValid() && !inside:
		return "that is in no <ip> of this network"
	case four || six:
		return ""
	case !f.Address.IsValid():
		return "the network has no <ip>, so nobody in it has an address"
	case f.Address.Is4():
		return "the network has no <ip> of IPv4"
	}
	return "the network has no <ip family='ipv6'>"
}

// ForwardFamilies says which families a forward of this network is of.
func ForwardFamilies(n *Network, f ForwardedPorts) (four, six bool) {
	for _, ip := range n.IPs {
		p, err := ip.Subnet()
		if err != nil || f.Address.IsValid() && f.Address.Is4() != p.Addr().Is4() || f.Target.IsValid() && f.Target.Is4() != p.Addr().Is4() {
			continue
		}
		four, six = four || p.Addr().Is4(), six || p.Addr().Is6()
	}
	return four, six
}

// ForwardsClash reports whether two forwards, each of its network, are of one port of the host.
func ForwardsClash(n *Network, f ForwardedPorts, m *Network, g ForwardedPorts) bool {
	if f.Protocol != g.Protocol || f.Port > g.End || g.Port > f.End {
		return false
	}
	if f.Address.IsValid() && g.Address.IsValid() {
		return f.Address == g.Address
	}
	f4, f6 := ForwardFamilies(n, f)
	g4, g6 := ForwardFamilies(m, g)
	return f4 && g4 || f6 && g6
}
