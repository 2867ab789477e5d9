package spec

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
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

// NameOnSwitch gives a port of Open vSwitch the name that those who control the switch know it by, where it has none, and
// writes what it has as libvirt does.
func (n *Interface) NameOnSwitch(newUUID func() UUID) {
	if n.VirtualPort.Parameters == nil {
		n.VirtualPort.Parameters = &VirtualPortParameters{}
	}
	p := n.VirtualPort.Parameters
	if id, err := ParseUUID(p.InterfaceID); err == nil {
		p.InterfaceID = id.String()
	}
	if p.InterfaceID == "" {
		p.InterfaceID = newUUID().String()
	}
}

// same reports whether two ports are of one type and have the same parameters.
func (p *VirtualPort) same(o *VirtualPort) bool {
	if p == nil || o == nil {
		return p == o
	}
	var a, b VirtualPortParameters
	if p.Parameters != nil {
		a = *p.Parameters
	}
	if o.Parameters != nil {
		b = *o.Parameters
	}
	return p.Type == o.Type && strings.EqualFold(a.InterfaceID, b.InterfaceID) && a.ProfileID == b.ProfileID
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

// Complete writes it as libvirt does; nil stays nil.
func (v *NICVLAN) Complete() {
	if v == nil {
		return
	}
	v.Trunk = map[bool]string{true: "yes"}[v.Trunks()]
	for i := range v.Tags {
		v.Tags[i].ID = cmp.Or(strings.TrimLeft(v.Tags[i].ID, "0"), "0")
	}
}

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
	case p != nil && p.Type == "" && n.Type != "network": // of a network it may have the type
		return invalid(at+"virtualport/@type", "it is missing; use openvswitch")
	case p != nil && n.Port != nil && n.Port.Isolated == "yes":
		return unsupported(at+"port/@isolated", "it is for ports of Linux bridges; those who control Open vSwitch keep its ports apart")
	case n.VLAN != nil && p == nil && n.Type == "network": // the network may have a virtual port for it
	case n.VLAN != nil && p == nil && n.Type == "bridge":
		return unsupported(at+"vlan", "a Linux bridge sets no tags here; plug the NIC into a bridge of Open vSwitch, with <virtualport type='openvswitch'/>")
	case n.VLAN != nil && p == nil:
		return unsupported(at+"vlan", "it is for bridges of Open vSwitch: type='bridge' with <virtualport type='openvswitch'/>")
	}
	if p != nil && p.Parameters != nil {
		if err := p.Parameters.check(at + "virtualport/parameters/"); err != nil {
			return err
		}
	}
	return n.VLAN.check(at + "vlan")
}

func (p *VirtualPortParameters) check(at string) error {
	if p.InterfaceID != "" {
		if _, err := ParseUUID(p.InterfaceID); err != nil {
			return invalid(at+"@interfaceid", "%s", err)
		}
	}
	if l := len(p.ProfileID); l > maxProfile {
		return invalid(at+"@profileid", "it has %d bytes, and %d at most fit", l, maxProfile)
	}
	return nil
}

func (v *NICVLAN) check(at string) error {
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
