package spec

import (
	"encoding/json"
	"strings"
	"testing"
)

// onSwitch is a network on a bridge of Open vSwitch with more in its document.
func onSwitch(more string) string {
	return "<network><name>n</name><forward mode='bridge'/><bridge name='ovs0'/>" + more + "</network>"
}

const virtualPort = "<virtualport type='openvswitch'/>"

func TestPortGroupsThatCannotBeAreRefusedByName(t *testing.T) {
	t.Parallel()
	const vlan = "<vlan><tag id='7'/></vlan>"
	for doc, want := range map[string]string{
		onSwitch("<portgroup name='a'/><portgroup name='b' default='yes'/>"):                                    "",
		onSwitch(virtualPort + vlan):                                                                            "",
		onSwitch(virtualPort + "<portgroup name='a'>" + vlan + "</portgroup>"):                                  "",
		onSwitch("<portgroup name='a'>" + vlan + virtualPort + "</portgroup>"):                                  "",
		onSwitch(virtualPort + "<portgroup name='a'><bandwidth><inbound average='9'/></bandwidth></portgroup>"): "",
		onSwitch("<portgroup name='a'><virtualport><parameters profileid='x'/></virtualport></portgroup>"):      "",
		"<network><name>n</name><ip address='10.0.0.1'/><port isolated='yes'/><portgroup name='a'/></network>":  "",
		onSwitch("<portgroup/>"):                                                           "invalid portgroup/@name: it is missing",
		onSwitch("<portgroup name='a'/><portgroup name='a'/>"):                             "invalid portgroup/@name: two port groups are called 'a'",
		onSwitch("<portgroup name='a' default='yes'/><portgroup name='b' default='yes'/>"): "invalid portgroup/@default: both 'a' and 'b' are the default; only one can be",
		onSwitch("<portgroup name='a' default='maybe'/>"):                                  "invalid portgroup/@default",
		onSwitch("<portgroup name='a' trustGuestRxFilters='maybe'/>"):                      "invalid portgroup/@trustGuestRxFilters",
		onSwitch(vlan): "vlan is not supported: VLAN tags are for networks on a bridge of Open vSwitch",
		onSwitch("<portgroup name='a'>" + vlan + "</portgroup>"):                                                     "portgroup/vlan is not supported",
		"<network><name>n</name>" + vlan + "</network>":                                                              "vlan is not supported",
		"<network><name>n</name>" + virtualPort + "</network>":                                                       "virtualport is not supported: the network has a Linux bridge of its own",
		"<network><name>n</name><portgroup name='a'>" + virtualPort + "</portgroup></network>":                       "portgroup/virtualport is not supported",
		"<network><name>n</name><forward mode='private'><interface dev='e'/></forward>" + virtualPort + "</network>": "virtualport is not supported: the network puts guests on links of the host",
		onSwitch(virtualPort + "<vlan/>"):                                                                            "invalid vlan: it needs at least one",
		onSwitch(virtualPort + "<vlan><tag id='4096'/></vlan>"):                                                      "invalid vlan/tag/@id",
		onSwitch(virtualPort + "<vlan trunk='no'><tag id='1'/><tag id='2'/></vlan>"):                                 "invalid vlan/@trunk",
		onSwitch(virtualPort + "<vlan trunk='yes'><tag id='1' nativeMode='maybe'/></vlan>"):                          "invalid vlan/tag/@nativeMode",
		onSwitch("<virtualport type='802.1Qbh'/>"):                                                                   "virtualport/@type is not supported",
		onSwitch("<virtualport type='openvswitch'><parameters interfaceid='x'/></virtualport>"):                      "invalid virtualport/parameters/@interfaceid",
		onSwitch(virtualPort + "<portgroup name='a'><virtualport type='midonet'/></portgroup>"):                      "portgroup/virtualport/@type is not supported",
		onSwitch("<portgroup name='a'><bandwidth><inbound average='x'/></bandwidth></portgroup>"):                    "invalid portgroup/bandwidth/inbound/@average",
		onSwitch("<port isolated='maybe'/>"):                                                                         "invalid port/@isolated",
	} {
		err := validateNetwork(doc)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
}

// joined is what a NIC has, as JSON, or why it cannot.
func joined(t *testing.T, network, nic string) string {
	t.Helper()
	n, err := ParseNetwork([]byte(network))
	if err != nil {
		t.Fatal(err)
	}
	d, err := ParseDevice([]byte(nic))
	if err != nil {
		t.Fatal(err)
	}
	one := &d.Interfaces[0]
	before := one.Share()
	s, err := n.Join(one.Source.PortGroup, before)
	if err != nil {
		return err.Error()
	}
	if !one.Share().Same(before) {
		t.Errorf("%s was changed", nic)
	}
	// What a client reads of the NIC and sends back is what it said itself.
	back := one.With(s)
	if back.Drop(s, before); !back.Share().Same(before) {
		t.Errorf("%s came back as %+v", nic, back.Share())
	}
	out := []string{}
	if s.VLAN != nil {
		b, _ := json.Marshal(s.VLAN.Tags[0].ID)
		out = append(out, "vlan "+string(b))
	}
	if p := s.VirtualPort; p != nil {
		out = append(out, "port "+p.Type)
		if p.Parameters != nil {
			out = append(out, "id "+p.Parameters.InterfaceID+" profile "+p.Parameters.ProfileID)
		}
	}
	return strings.Join(append(out, "trust "+s.TrustRx+" isolated "+s.Isolated), ", ")
}

func TestANICHasWhatItSaysThenItsGroupThenTheNetwork(t *testing.T) {
	t.Parallel()
	const (
		id = "09b11c53-8b5c-4eeb-8f00-d84eaa0aaa4f"
		n  = "<network trustGuestRxFilters='no'><name>n</name><forward mode='bridge'/><bridge name='ovs0'/><vlan><tag id='1'/></vlan><port isolated='yes'/>" +
			"<virtualport type='openvswitch'><parameters profileid='gold'/></virtualport>" +
			"<portgroup name='a' trustGuestRxFilters='yes'><vlan><tag id='2'/></vlan></portgroup><portgroup name='std' default='yes'><vlan><tag id='3'/></vlan></portgroup>" +
			"<portgroup name='bad'><virtualport><parameters profileid='silver'/></virtualport></portgroup></network>"
	)
	nic := func(group, more string) string {
		if group != "" {
			group = " portgroup='" + group + "'"
		}
		return "<interface type='network'><source network='n'" + group + "/>" + more + "</interface>"
	}
	for _, c := range []struct{ network, nic, want string }{
		{n, nic("a", ""), `vlan "2", port openvswitch, id  profile gold, trust yes isolated yes`},
		{n, nic("", ""), `vlan "3", port openvswitch, id  profile gold, trust no isolated yes`},
		{n, nic("a", "<vlan><tag id='9'/></vlan><port isolated='no'/>"), `vlan "9", port openvswitch, id  profile gold, trust yes isolated no`},
		{n, nic("a", "<virtualport><parameters interfaceid='"+id+"'/></virtualport>"), `vlan "2", port openvswitch, id ` + id + ` profile gold, trust yes isolated yes`},
		{n, nic("a", "<virtualport type='openvswitch'><parameters profileid='lead'/></virtualport>"), `network 'n': <virtualport> has the profile 'lead' in one place and 'gold' in another; leave one out`},
		{n, nic("bad", ""), `network 'n': <virtualport> has the profile 'silver' in one place and 'gold' in another; leave one out`},
		{n, nic("z", ""), "network 'n' has no port group 'z'; it has a, std, bad"},
		{"<network><name>n</name></network>", nic("z", ""), "network 'n' has no port group 'z', and no others; add it, or leave portgroup='z' out"},
		{"<network><name>n</name></network>", nic("", ""), "trust  isolated "},
		{"<network><name>n</name></network>", nic("", "<virtualport/>"), "<virtualport> has no type, and network 'n' gives it none; use type='openvswitch'"},
		{"<network><name>n</name><virtualport type='openvswitch'/></network>", nic("", "<virtualport type='midonet'/>"), "network 'n': <virtualport> is of type 'midonet' in one place and 'openvswitch' in another; leave one out"},
	} {
		if got := joined(t, c.network, c.nic); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.nic, got, c.want)
		}
	}
}
