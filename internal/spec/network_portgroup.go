package spec

import (
	"fmt"
	"strings"
)

// PortGroup is a class of NICs on a network: what they are given where they do not say it themselves.
type PortGroup struct {
	Name        string       `xml:"name,attr"`
	Default     string       `xml:"default,attr,omitempty"` // yes: it is that of NICs that name none
	TrustRx     string       `xml:"trustGuestRxFilters,attr,omitempty"`
	VLAN        *NICVLAN     `xml:"vlan"`
	VirtualPort *VirtualPort `xml:"virtualport"`
	Bandwidth   *Bandwidth   `xml:"bandwidth"`
	Extra
}

// NICShare is what a network has a say in of each NIC on it. As JSON it is a part of a guest's record.
type NICShare struct {
	VLAN        *NICVLAN     `json:"vlan,omitempty"`
	VirtualPort *VirtualPort `json:"virtual_port,omitempty"`
	Bandwidth   *Bandwidth   `json:"bandwidth,omitempty"`
	TrustRx     string       `json:"trust_rx,omitempty"`
	Isolated    string       `json:"isolated,omitempty"`
}

// Share is what the NIC itself says.
func (n *Interface) Share() NICShare {
	s := NICShare{VLAN: n.VLAN, VirtualPort: n.VirtualPort, TrustRx: n.TrustRx, Bandwidth: n.Bandwidth}
	if n.Port != nil {
		s.Isolated = n.Port.Isolated
	}
	return s
}

// With is the NIC with a share of another origin.
func (n Interface) With(s NICShare) Interface {
	n.VLAN, n.VirtualPort, n.TrustRx, n.Bandwidth = s.VLAN, s.VirtualPort, s.TrustRx, s.Bandwidth
	if s.Isolated != "" {
		n.Port = &BridgePort{Isolated: s.Isolated}
	}
	return n
}

// Same reports whether two shares say the same.
func (s NICShare) Same(o NICShare) bool {
	return s.VLAN.Same(o.VLAN) && s.VirtualPort.same(o.VirtualPort) && s.TrustRx == o.TrustRx && s.Isolated == o.Isolated && s.Bandwidth.Same(o.Bandwidth)
}

// Drop has the NIC say no more than own where it says just what it was given beyond that.
func (n *Interface) Drop(given, own NICShare) {
	if n.VLAN.Same(given.VLAN) {
		n.VLAN = own.VLAN
	}
	if n.VirtualPort.same(given.VirtualPort) {
		n.VirtualPort = own.VirtualPort
	}
	if n.Bandwidth.Same(given.Bandwidth) {
		n.Bandwidth = own.Bandwidth
	}
	if n.TrustRx == given.TrustRx {
		n.TrustRx = own.TrustRx
	}
	if n.Port != nil && n.Port.Isolated == given.Isolated {
		n.Port = nil
		if own.Isolated != "" {
			n.Port = &BridgePort{Isolated: own.Isolated}
		}
	}
}

// Group is the port group of NICs that name one, and for those that name none the default one. Without either it is nil. One that does not
// exist is an error, where libvirt gives the NIC nothing: it might be the VLAN that keeps a guest apart.
func (n *Network) Group(name string) (*PortGroup, error) {
	var names []string
	for i := range n.PortGroups {
		g := &n.PortGroups[i]
		if name != "" && g.Name == name || name == "" && g.Default == "yes" {
			return g, nil
		}
		names = append(names, g.Name)
	}
	switch {
	case name == "":
		return nil, nil
	case len(names) == 0:
		return nil, fmt.Errorf("network '%s' has no port group '%s', and no others; add it, or leave portgroup='%s' out", n.Name, name, name)
	}
	return nil, fmt.Errorf("network '%s' has no port group '%s'; it has %s", n.Name, name, strings.Join(names, ", "))
}

// Join is what a NIC in a group has on the network. What the NIC says itself counts most, then what its group says, then what
// the network says of all. Parts of a virtual port come from all three, and its type must be the same in all.
func (n *Network) Join(group string, own NICShare) (NICShare, error) {
	g, err := n.Group(group)
	if err != nil {
		return own, err
	}
	from := []NICShare{{VLAN: n.VLAN, VirtualPort: n.VirtualPort, TrustRx: n.TrustRx}}
	if n.Port != nil {
		from[0].Isolated = n.Port.Isolated
	}
	if g != nil {
		from = append([]NICShare{{VLAN: g.VLAN, VirtualPort: g.VirtualPort, TrustRx: g.TrustRx, Bandwidth: g.Bandwidth}}, from...)
	}
	out := own
	for _, s := range from {
		if out.VLAN == nil || len(out.VLAN.Tags) == 0 {
			out.VLAN = s.VLAN
		}
		if out.Bandwidth == nil {
			out.Bandwidth = s.Bandwidth
		}
		if out.TrustRx == "" {
			out.TrustRx = s.TrustRx
		}
		if out.Isolated == "" {
			out.Isolated = s.Isolated
		}
		if out.VirtualPort, err = mergePorts(out.VirtualPort, s.VirtualPort); err != nil {
			return own, fmt.Errorf("network '%s': %w", n.Name, err)
		}
	}
	if p := out.VirtualPort; p != nil && p.Type == "" {
		return own, fmt.Errorf("<virtualport> has no type, and network '%s' gives it none; use type='openvswitch'", n.Name)
	}
	return out, nil
}

// mergePorts is a with what it leaves open taken from b.
func mergePorts(a, b *VirtualPort) (*VirtualPort, error) {
	if b == nil {
		return a, nil
	}
	if a == nil {
		a = &VirtualPort{}
	}
	out := clone(a)
	switch {
	case a.Type == "":
		out.Type = b.Type
	case b.Type != "" && b.Type != a.Type:
		return nil, fmt.Errorf("<virtualport> is of type '%s' in one place and '%s' in another; leave one out", a.Type, b.Type)
	}
	if b.Parameters == nil {
		return out, nil
	}
	if out.Parameters == nil {
		out.Parameters = &VirtualPortParameters{}
	}
	if out.Parameters.InterfaceID == "" {
		out.Parameters.InterfaceID = b.Parameters.InterfaceID
	}
	switch profile := b.Parameters.ProfileID; {
	case out.Parameters.ProfileID == "":
		out.Parameters.ProfileID = profile
	case profile != "" && profile != out.Parameters.ProfileID:
		return nil, fmt.Errorf("<virtualport> has the profile '%s' in one place and '%s' in another; leave one out", out.Parameters.ProfileID, profile)
	}
	return out, nil
}

// CompleteGroups writes what NICs are given as libvirt does.
func (n *Network) CompleteGroups() {
	n.VLAN.Complete()
	for i := range n.PortGroups {
		n.PortGroups[i].VLAN.Complete()
	}
}

// checkGroups checks the port groups, and what the network has a NIC's port be.
func (n *Network) checkGroups() error {
	if err := n.checkShare("", n.VLAN, n.VirtualPort, n.VirtualPort); err != nil {
		return err
	}
	if err := n.checkBandwidth(); err != nil {
		return err
	}
	standard, seen := "", map[string]bool{}
	for i := range n.PortGroups {
		g := &n.PortGroups[i]
		switch {
		case g.Name == "":
			return invalid("portgroup/@name", "it is missing")
		case seen[g.Name]:
			return invalid("portgroup/@name", "two port groups are called '%s'", g.Name)
		case g.Default == "yes" && standard != "":
			return invalid("portgroup/@default", "both '%s' and '%s' are the default; only one can be", standard, g.Name)
		}
		seen[g.Name] = true
		if g.Default == "yes" {
			standard = g.Name
		}
		port, err := mergePorts(g.VirtualPort, n.VirtualPort)
		if err != nil {
			return invalid("portgroup/virtualport", "%s (port group '%s')", err, g.Name)
		}
		if err := n.checkShare("portgroup/", g.VLAN, g.VirtualPort, port); err != nil {
			return err
		}
	}
	return nil
}

// checkShare checks what NICs are given of a network: vlan and port where they are said, merged with what the network says.
func (n *Network) checkShare(at string, vlan *NICVLAN, port, merged *VirtualPort) error {
	if vlan != nil {
		if err := vlan.check(at + "vlan"); err != nil {
			return err
		}
		if hands := n.Forward != nil && (n.Forward.Mode == "hostdev"); !hands && (merged == nil || merged.Type != "openvswitch") {
			return unsupported(at+"vlan", "VLAN tags are for networks on a bridge of Open vSwitch: <forward mode='bridge'/> with <virtualport type='openvswitch'/>")
		}
	}
	switch {
	case port == nil:
		return nil
	case n.Routed():
		return unsupported(at+"virtualport", "the network has a Linux bridge of its own; it is for <forward mode='bridge'/> with a bridge of Open vSwitch")
	case n.BridgeName() == "":
		return unsupported(at+"virtualport", "the network puts guests on links of the host; it is for <forward mode='bridge'/> with a bridge of Open vSwitch")
	case port.Parameters == nil:
		return nil
	}
	return port.Parameters.check(at + "virtualport/parameters/")
}

// ParsePortGroup reads a <portgroup>. Errors are of type *SyntaxError.
func ParsePortGroup(doc []byte) (*PortGroup, error) {
	g := new(PortGroup)
	return g, decodeDocument(doc, "portgroup", g)
}

// portGroupRules judges port groups, and what a network says of all NICs on it.
func portGroupRules() map[string]rule {
	m := map[string]rule{
		"portgroup/@default":             yesNo(),
		"portgroup/@trustGuestRxFilters": yesNo(),
		"port/@isolated":                 yesNo(),
	}
	other := refuse("it is for ports of 802.1Qbg, which are not implemented")
	for _, at := range []string{"", "portgroup/"} {
		addRules(m, bandwidthRules(at+"bandwidth"))
		addRules(m, map[string]rule{
			at + "virtualport/@type":                     values("openvswitch", "802.1Qbg 802.1Qbh midonet"),
			at + "virtualport/parameters/@managerid":     other,
			at + "virtualport/parameters/@typeid":        other,
			at + "virtualport/parameters/@typeidversion": other,
			at + "virtualport/parameters/@instanceid":    other,
			at + "vlan/@trunk":                           yesNo(),
			at + "vlan/tag/@id":                          number(0, 4095),
			at + "vlan/tag/@nativeMode":                  values("tagged untagged", ""),
		})
	}
	return m
}
