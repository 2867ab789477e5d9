package spec

import (
	"slices"
	"strconv"
)

// VirtualPort says that a NIC's other end is a port of a switch that is controlled: one of Open vSwitch.
type VirtualPort struct {
	Type       string                 `xml:"type,attr,omitempty"` // openvswitch; others are refused by name
	Parameters *VirtualPortParameters `xml:"parameters"`
	Extra
}

// VirtualPortParameters are what those who control the switch know the port by.
type VirtualPortParameters struct {
	InterfaceID string `xml:"interfaceid,attr,omitempty"` // a UUID: iface-id in the switch's database
	ProfileID   string `xml:"profileid,attr,omitempty"`   // port-profile there
	Extra
}

// NICVLAN is what VLANs a NIC's port on a switch carries.
type NICVLAN struct {
	Trunk string    `xml:"trunk,attr,omitempty"` // yes: the guest sees the tags
	Tags  []VLANTag `xml:"tag"`
	Extra
}

// VLANTag is one VLAN. A trunk's native VLAN is that of frames without a tag.
type VLANTag struct {
	ID         string `xml:"id,attr"`
	NativeMode string `xml:"nativeMode,attr,omitempty"` // tagged, untagged: how frames of it leave
	Extra
}

// OnSwitch reports whether the NIC's other end is a port of Open vSwitch.
func (n *Interface) OnSwitch() bool {
	return n.VirtualPort != nil && n.VirtualPort.Type == "openvswitch"
}

// KeepInterfaceID gives a port of Open vSwitch that has no interface id that of what it was before.
func (n *Interface) KeepInterfaceID(was Interface) {
	if !n.OnSwitch() || !was.OnSwitch() || was.VirtualPort.Parameters == nil {
		return
	}
	if n.VirtualPort.Parameters == nil {
		n.VirtualPort.Parameters = &VirtualPortParameters{}
	}
	if p := n.VirtualPort.Parameters; p.InterfaceID == "" {
		p.InterfaceID = was.VirtualPort.Parameters.InterfaceID
	}
}

// Number returns the VLAN's, 0 to 4095. The document was checked.
func (t *VLANTag) Number() int {
	n, _ := strconv.Atoi(t.ID)
	return n
}

// Same reports whether two say the same of a port.
func (v *NICVLAN) Same(o *NICVLAN) bool {
	if v == nil || o == nil {
		return v == o
	}
	return v.Trunks() == o.Trunks() && slices.EqualFunc(v.Tags, o.Tags, func(a, b VLANTag) bool {
		return a.Number() == b.Number() && a.NativeMode == b.NativeMode
	})
}

// Trunks reports whether the port is a trunk: the document says so, or there are several tags.
func (v *NICVLAN) Trunks() bool { return IsYes(v.Trunk) || len(v.Tags) > 1 }

// Native is the tag of the native VLAN, or nil.
func (v *NICVLAN) Native() *VLANTag {
	for i := range v.Tags {
		if v.Tags[i].NativeMode != "" {
			return &v.Tags[i]
		}
	}
	return nil
}

// switchRules judges virtual ports and VLANs.
func switchRules() map[string]rule {
	other := refuse("it is for ports of 802.1Qbg, which are not implemented")
	return map[string]rule{
		"devices/interface/virtualport/@type":                     values("openvswitch", "802.1Qbg 802.1Qbh midonet"),
		"devices/interface/virtualport/parameters/@managerid":     other,
		"devices/interface/virtualport/parameters/@typeid":        other,
		"devices/interface/virtualport/parameters/@typeidversion": other,
		"devices/interface/virtualport/parameters/@instanceid":    other,
		"devices/interface/vlan/@trunk":                           yesNo(),
		"devices/interface/vlan/tag/@id":                          number(0, 4095),
		"devices/interface/vlan/tag/@nativeMode":                  values("tagged untagged", ""),
	}
}

// maxProfile is how long a port profile is at most, in bytes, as libvirt has it.
const maxProfile = 39

// checkSwitch checks what only ports of a switch have.
func (n *Interface) checkSwitch() error {
	const at = "devices/interface/"
	p := n.VirtualPort
	switch {
	case p != nil && n.Type != "bridge" && n.Type != "network":
		return unsupported(at+"virtualport", "it is for type='bridge', with a bridge of Open vSwitch")
	case p != nil && p.Type == "":
		return invalid(at+"virtualport/@type", "it is missing; use openvswitch")
	case p != nil && n.Port != nil && n.Port.Isolated == "yes":
		return unsupported(at+"port/@isolated", "it is for ports of Linux bridges; those who control Open vSwitch keep its ports apart")
	case n.VLAN != nil && p == nil && (n.Type == "bridge" || n.Type == "network"):
		return unsupported(at+"vlan", "a Linux bridge sets no tags here; plug the NIC into a bridge of Open vSwitch, with <virtualport type='openvswitch'/>")
	case n.VLAN != nil && p == nil:
		return unsupported(at+"vlan", "it is for bridges of Open vSwitch: type='bridge' with <virtualport type='openvswitch'/>")
	}
	if p != nil && p.Parameters != nil {
		if id := p.Parameters.InterfaceID; id != "" {
			if _, err := ParseUUID(id); err != nil {
				return invalid(at+"virtualport/parameters/@interfaceid", "%s", err)
			}
		}
		if l := len(p.Parameters.ProfileID); l > maxProfile {
			return invalid(at+"virtualport/parameters/@profileid", "it has %d bytes, and %d at most fit", l, maxProfile)
		}
	}
	return n.VLAN.check()
}

func (v *NICVLAN) check() error {
	const at = "devices/interface/vlan"
	if v == nil {
		return nil
	}
	if len(v.Tags) == 0 {
		return invalid(at, "it needs at least one <tag id='…'/>")
	}
	seen, native := map[int]bool{}, 0
	for i := range v.Tags {
		t := &v.Tags[i]
		if t.ID == "" {
			return invalid(at+"/tag/@id", "it is missing")
		}
		if seen[t.Number()] {
			return invalid(at+"/tag/@id", "VLAN %s is named twice", t.ID)
		}
		seen[t.Number()] = true
		if t.NativeMode != "" {
			native++
		}
	}
	switch {
	case native > 1:
		return invalid(at+"/tag/@nativeMode", "a trunk has one native VLAN, not %d", native)
	case v.Trunk == "no" && len(v.Tags) > 1:
		return invalid(at+"/@trunk", "with several tags the port is a trunk; use trunk='yes'")
	case v.Trunk == "no" && native > 0:
		return invalid(at+"/@trunk", "only a trunk has a native VLAN; use trunk='yes'")
	}
	return nil
}
