package portforward

import (
	"net/netip"

	"taproom/internal/spec"
)

// Socket is a socket of the host that takes what comes in at a port.
type Socket struct {
	Protocol string
	At       netip.AddrPort
}

// Taken returns the first of a network's forwards that would keep something from a socket that there is, or that could not be
// listened at beside it; nil when there is none. At one address, a socket for all addresses is no obstacle: it keeps the others.
func Taken(n *spec.Network, forwards []spec.ForwardedPorts, sockets []Socket) (*spec.ForwardedPorts, Socket) {
	for i, f := range forwards {
		for _, s := range sockets {
			if s.Protocol == f.Protocol && s.At.Port() >= f.Port && s.At.Port() <= f.End && meets(n, f, s.At.Addr()) {
				return &forwards[i], s
			}
		}
	}
	return nil, Socket{}
}

func meets(n *spec.Network, f spec.ForwardedPorts, at netip.Addr) bool {
	at = at.Unmap()
	switch {
	case f.Address.IsValid() && at.IsUnspecified():
		return f.Address.IsLoopback() // which is listened at
	case f.Address.IsValid():
		return at == f.Address
	case at.Is6() && at.IsUnspecified(): // and, as most are, of IPv4 too
		return true
	}
	four, six := spec.ForwardFamilies(n, f)
	return at.Is4() && four || at.Is6() && six
}

// New are the forwards that take no port which one of those before had at that address too.
func New(forwards, before []spec.ForwardedPorts) []spec.ForwardedPorts {
	var out []spec.ForwardedPorts
	for _, f := range forwards {
		had := false
		for _, b := range before {
			had = had || b.Protocol == f.Protocol && b.Address == f.Address && b.Port <= f.Port && f.End <= b.End
		}
		if !had {
			out = append(out, f)
		}
	}
	return out
}

// MaxPorts is how many ports of the host all networks together may forward. The process for the loopback has two sockets for
// each, one of either family, beside two descriptors of each of 8,192 connections, of the 65,536 that it may have.
const MaxPorts = 16384

// Ports is how many ports of the host a network's forwards are of.
func Ports(n *spec.Network) (count int, err error) {
	all, err := n.PortForwards()
	for _, f := range all {
		count += int(f.End-f.Port) + 1
	}
	return count, err
}
