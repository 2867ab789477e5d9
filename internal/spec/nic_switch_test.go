package spec

import (
	"strings"
	"testing"
)

func TestVirtualPortsAndVLANs(t *testing.T) {
	t.Parallel()
	const (
		bridge = "type='bridge'"
		source = "<source bridge='br0'/>"
		port   = source + "<virtualport type='openvswitch'/>"
	)
	for _, c := range []struct{ attrs, inside, want string }{
		{bridge, port, ""},
		{bridge, source + "<virtualport type='openvswitch'><parameters interfaceid='09B11C53-8B5C-4EEB-8F00-D84EAA0AAA4F' profileid='x'/></virtualport>", ""},
		{"type='network'", "<source network='n'/><virtualport type='openvswitch'/>", ""},
		{bridge, port + "<vlan><tag id='0'/></vlan>", ""},
		{bridge, port + "<vlan trunk='yes'><tag id='42'/><tag id='4095' nativeMode='untagged'/></vlan>", ""},
		{bridge, port + "<vlan trunk='yes'><tag id='42'/></vlan>", ""},
		{bridge, port + "<vlan trunk='no'><tag id='42'/></vlan>", ""},
		{bridge, port + "<port isolated='yes'/>", "it is for ports of Linux bridges"},
		{bridge, source + "<virtualport/>", "virtualport/@type: it is missing; use openvswitch"},
		{bridge, source + "<virtualport type='802.1Qbg'/>", `"802.1Qbg" is not implemented; use openvswitch`},
		{bridge, source + "<virtualport type='802.1Qbh'/>", `"802.1Qbh" is not implemented; use openvswitch`},
		{bridge, source + "<virtualport type='midonet'/>", `"midonet" is not implemented; use openvswitch`},
		{bridge, source + "<virtualport type='vepa'/>", `"vepa" is not known; use openvswitch`},
		{bridge, source + "<virtualport type='openvswitch'><parameters interfaceid='x'/></virtualport>", `interfaceid: malformed UUID "x"`},
		{bridge, source + "<virtualport type='openvswitch'><parameters profileid='" + strings.Repeat("x", 40) + "'/></virtualport>", "it has 40 bytes, and 39 at most fit"},
		{bridge, source + "<virtualport type='openvswitch'><parameters managerid='1'/></virtualport>", "it is for ports of 802.1Qbg, which are not implemented"},
		{"type='user'", "<virtualport type='openvswitch'/>", "it is for type='bridge', with a bridge of Open vSwitch"},
		{bridge, source + "<vlan><tag id='42'/></vlan>", "a Linux bridge sets no tags here; plug the NIC into a bridge of Open vSwitch, with <virtualport type='openvswitch'/>"},
		{"type='user'", "<vlan><tag id='42'/></vlan>", "it is for bridges of Open vSwitch"},
		{bridge, port + "<vlan/>", "it needs at least one <tag id='…'/>"},
		{bridge, port + "<vlan trunk='yes'/>", "it needs at least one <tag id='…'/>"},
		{bridge, port + "<vlan><tag/></vlan>", "vlan/tag/@id: it is missing"},
		{bridge, port + "<vlan><tag id='4096'/></vlan>", "4096 is too large (limit 4095)"},
		{bridge, port + "<vlan><tag id='x'/></vlan>", "vlan/tag/@id"},
		{bridge, port + "<vlan><tag id='7'/><tag id='07'/></vlan>", "VLAN 07 is named twice"},
		{bridge, port + "<vlan trunk='no'><tag id='1'/><tag id='2'/></vlan>", "with several tags the port is a trunk; use trunk='yes'"},
		{bridge, port + "<vlan trunk='no'><tag id='1' nativeMode='tagged'/></vlan>", "only a trunk has a native VLAN; use trunk='yes'"},
		{bridge, port + "<vlan><tag id='1' nativeMode='tagged'/><tag id='2' nativeMode='tagged'/></vlan>", "a trunk has one native VLAN, not 2"},
		{bridge, port + "<vlan><tag id='1' nativeMode='none'/></vlan>", `"none" is not known; use tagged or untagged`},
	} {
		d, err := ParseDomain(userNIC(c.attrs, c.inside))
		if err == nil {
			err = d.Validate()
		}
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s %s: %v", c.attrs, c.inside, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s %s: got %v, want %s", c.attrs, c.inside, err, c.want)
		}
	}
}
