package spec

import (
	"fmt"
	"net/netip"
)

// Route is a subnet that is reached by a router among the guests. Family is ipv4 (also when it is empty) or ipv6.
type Route struct {
	Family  string `xml:"family,attr,omitempty"`
	Address string `xml:"address,attr"`
	Netmask string `xml:"netmask,attr,omitempty"`
	Prefix  string `xml:"prefix,attr,omitempty"`
	Gateway string `xml:"gateway,attr"`
	Metric  string `xml:"metric,attr,omitempty"` // from 1
	Extra
}

// Subnet returns what the route leads to. Without a length it follows from the address as with an <ip>, but for an address of
// all zeros, which means everything.
func (r *Route) Subnet() (netip.Prefix, error) {
	addr, err := parseAddr(r.Address)
	if err != nil {
		return netip.Prefix{}, err
	}
	if addr.IsUnspecified() && r.Prefix == "" && r.Netmask == "" {
		return netip.PrefixFrom(addr, 0), nil
	}
	ip := IP{Family: r.Family, Address: r.Address, Netmask: r.Netmask, Prefix: r.Prefix}
	return ip.Subnet()
}

// Router returns the gateway and the metric, 0 where there is none.
func (r *Route) Router() (netip.Addr, uint32, error) {
	via, err := parseAddr(r.Gateway)
	if err != nil || r.Metric == "" {
		return via, 0, err
	}
	metric, err := ParseDecimal(r.Metric, 1<<32-1)
	if err == nil && metric == 0 {
		err = fmt.Errorf("metric 0 is none; use a number from 1")
	}
	return via, uint32(metric), err
}

// checkRoutes checks the static routes: each is to a subnet, by a router that the network reaches.
func (n *Network) checkRoutes() error {
	type key struct {
		to     netip.Prefix
		metric uint32
	}
	seen := map[key]bool{}
	for i := range n.Routes {
		r := &n.Routes[i]
		switch {
		case r.Address == "":
			return invalid("route/@address", "it is missing")
		case r.Gateway == "":
			return invalid("route/@gateway", "it is missing")
		}
		to, err := r.Subnet()
		if err != nil {
			return invalid("route", "%s", err)
		}
		via, metric, err := r.Router()
		if err != nil {
			return invalid("route", "%s", err)
		}
		switch {
		case to.Addr().Is6() != (r.Family == "ipv6"):
			return invalid("route/@family", "address %s is not of %s", r.Address, familyWord(r.Family))
		case via.Is6() != to.Addr().Is6():
			return invalid("route/@gateway", "%s and %s are of different families", via, to)
		case to != to.Masked():
			return invalid("route/@address", "%s is no address of a subnet; that is %s", to, to.Masked())
		case to.Addr().IsMulticast() || to.Addr().IsLoopback():
			return invalid("route/@address", "%s cannot be reached by a router", to)
		case seen[key{to, metric}]:
			return invalid("route", "there are two to %s; give one of them another metric", to)
		}
		seen[key{to, metric}] = true
		if err := n.checkRouter(to, via); err != nil {
			return err
		}
	}
	return nil
}

func familyWord(family string) string {
	if family == "ipv6" {
		return family
	}
	return "ipv4"
}

// checkRouter checks that a gateway is one of the guests, and that a route does not lead away from them.
func (n *Network) checkRouter(to netip.Prefix, via netip.Addr) error {
	reached := false
	for i := range n.IPs {
		p, err := n.IPs[i].Subnet()
		if err != nil {
			return invalid("ip", "%s", err)
		}
		switch {
		case p.Addr() == via:
			return invalid("route/@gateway", "%s is the network's own address; name the router's", via)
		case p.Masked() == to:
			return invalid("route/@address", "%s is the network's own subnet", to)
		}
		reached = reached || p.Contains(via)
	}
	if !reached {
		return invalid("route/@gateway", "unreachable static route gateway '%s': it is in none of the network's subnets", via)
	}
	return nil
}
