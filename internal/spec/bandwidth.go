package spec

import "slices"

// Bandwidth bounds traffic, as the guest sees it.
type Bandwidth struct {
	Inbound  *Rate `xml:"inbound"`
	Outbound *Rate `xml:"outbound"`
	Extra
}

// Rate is one direction's bound. Average, Peak and Floor are in KiB a second, Burst is in KiB.
type Rate struct {
	Average string `xml:"average,attr,omitempty"`
	Peak    string `xml:"peak,attr,omitempty"`
	Burst   string `xml:"burst,attr,omitempty"`
	Floor   string `xml:"floor,attr,omitempty"` // what is guaranteed; only inbound, and only of a NIC
	Extra
}

// Bounded reports whether a network or a port group of it asks for bounds.
func (n *Network) Bounded() bool {
	return n.Bandwidth != nil || slices.ContainsFunc(n.PortGroups, func(g PortGroup) bool { return g.Bandwidth != nil })
}

// check checks the bounds of a network, or of the NICs in a port group.
func (b *Bandwidth) check(at string) error {
	if b == nil {
		return nil
	}
	for name, r := range map[string]*Rate{"inbound": b.Inbound, "outbound": b.Outbound} {
		switch {
		case r == nil:
		case r.Floor != "" && name == "outbound":
			return unsupported(at+"/outbound/@floor", "only what comes in can be guaranteed; leave it out")
		case r.Average == "" && r.Floor == "":
			return invalid(at+"/"+name+"/@average", "it is missing")
		}
	}
	return nil
}

// bandwidthRules judges the numbers of a <bandwidth>.
func bandwidthRules(at string) map[string]rule {
	m := map[string]rule{}
	for _, way := range []string{"inbound", "outbound"} {
		for _, a := range []string{"average", "peak", "burst", "floor"} {
			m[at+"/"+way+"/@"+a] = number(0, 1<<53)
		}
	}
	return m
}
