package clienttest

import (
	"strings"
	"testing"
)

const (
	groupsNet = `<network trustGuestRxFilters='no'><name>lan</name><forward mode='bridge'/><bridge name='ovs0'/>
<virtualport type='openvswitch'><parameters profileid='gold'/></virtualport>
<portgroup name='std' default='yes'><vlan><tag id='10'/></vlan></portgroup>
<portgroup name='lab' trustGuestRxFilters='yes'><vlan><tag id='20'/></vlan><bandwidth><inbound average='1000'/></bandwidth></portgroup></network>`
	groupsNIC   = `<interface type='network'><mac address='52:54:00:00:05:0%[1]s'/><source network='lan'%[2]s/>%[3]s<model type='virtio'/></interface>`
	groupsGuest = `<domain type='qemu'><name>g</name><memory unit='MiB'>16</memory><os><type machine='q35'>hvm</type></os><devices>%s<memballoon model='none'/></devices></domain>`
)

func groupNIC(n, group, more string) string {
	if group != "" {
		group = " portgroup='" + group + "'"
	}
	return strings.NewReplacer("%[1]s", n, "%[2]s", group, "%[3]s", more).Replace(groupsNIC)
}

// What a NIC does not say of itself its port group says, and then its network; the document of what runs, the port's and the switch show it.
func TestNICsAreWhatTheirPortGroupsSay(t *testing.T) {
	t.Parallel()
	c, sw := serveSwitch(t)
	c.write("lan.xml", groupsNet)
	c.do("net-define", "lan.xml")
	c.do("net-start", "lan")
	c.write("g.xml", strings.Replace(groupsGuest, "%s", groupNIC("1", "", "")+groupNIC("2", "lab", "")+groupNIC("3", "lab", "<vlan><tag id='30'/></vlan>"), 1))
	c.do("define", "g.xml")
	c.do("start", "g", "--paused")
	carries := func(want map[string]string) {
		t.Helper()
		for nic, tag := range want {
			sw.Await(nic+" carries "+tag, func() bool { return sw.Port(nic) == tag })
		}
	}
	carries(map[string]string{"vnet0": "tag=10", "vnet1": "tag=20", "vnet2": "tag=30"})
	if ids := sw.Ctl("get", "Interface", "vnet1", "external_ids"); !strings.Contains(ids, "port-profile=gold") || !strings.Contains(ids, "iface-id=") {
		t.Errorf("external_ids %s", ids)
	}
	live := c.do("dumpxml", "g")
	c.shows(live, "<interface type='network' trustGuestRxFilters='yes'>", "portgroup='lab'", "<tag id='10'/>", "<tag id='20'/>", "<tag id='30'/>", "profileid='gold'")
	if def := c.do("dumpxml", "g", "--inactive"); strings.Count(def, "<tag ") != 1 || strings.Contains(def, "virtualport") || strings.Contains(def, "trustGuest") {
		t.Errorf("the definition has what the network gives: %s", def)
	}
	all := ""
	for _, f := range strings.Fields(c.do("net-port-list", "lan"))[2:] {
		all += c.do("net-port-dumpxml", "lan", f)
	}
	c.shows(all, "<group>lab</group>", "<tag id='10'/>", "<tag id='20'/>", "<tag id='30'/>", "<rxfilters trustGuest='yes'/>", "<virtualport type='openvswitch'>")

	// A client sends back what it read, with a link that is down; and a NIC changes its group.
	c.do("domif-setlink", "g", "52:54:00:00:05:01", "down")
	carries(map[string]string{"vnet0": "tag=10"})
	c.write("nic.xml", groupNIC("1", "lab", ""))
	c.do("update-device", "g", "nic.xml", "--live")
	carries(map[string]string{"vnet0": "tag=20", "vnet1": "tag=20"})

	// The network's groups change: who runs keeps what it has, who comes has the new ones.
	c.write("group.xml", "<portgroup name='lab'><vlan><tag id='21'/></vlan></portgroup>")
	c.do("net-update", "lan", "modify", "portgroup", "group.xml", "--live", "--config")
	c.write("four.xml", groupNIC("4", "lab", ""))
	c.do("attach-device", "g", "four.xml", "--live")
	carries(map[string]string{"vnet0": "tag=20", "vnet1": "tag=20", "vnet3": "tag=21"})
	c.restart("kill")
	carries(map[string]string{"vnet0": "tag=20", "vnet3": "tag=21"})
	sw.Ctl("--no-wait", "del-port", "vnet1")
	carries(map[string]string{"vnet1": "tag=20"})

	c.write("nic.xml", groupNIC("1", "none", ""))
	c.refused("network 'lan' has no port group 'none'; it has std, lab", "update-device", "g", "nic.xml", "--live")
	carries(map[string]string{"vnet0": "tag=20"})
	c.do("net-update", "lan", "delete", "portgroup", "<portgroup name='lab'/>", "--live", "--config")
	c.do("destroy", "g")
	c.refused("network 'lan' has no port group 'lab'; it has std", "start", "g")
	c.do("undefine", "g")
	c.do("net-destroy", "lan")
	c.do("net-undefine", "lan")
	c.clean(sw)
}

// shows fails the test unless a document has every part.
func (c *clients) shows(doc string, parts ...string) {
	c.t.Helper()
	for _, p := range parts {
		if !strings.Contains(doc, p) {
			c.t.Errorf("%s is not in %s", p, doc)
		}
	}
}

// On a Linux bridge no NIC gets a tag, whoever says so.
func TestTagsAreRefusedOnANetworkOfALinuxBridge(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("net.xml", "<network><name>lan</name><bridge name='virbr7'/><portgroup name='a' default='yes'/><port isolated='yes'/></network>")
	c.do("net-create", "net.xml")
	c.write("g.xml", strings.Replace(groupsGuest, "%s", groupNIC("1", "", "<vlan><tag id='7'/></vlan>"), 1))
	c.refused("an interface connecting to network 'lan' is requesting a vlan tag, but that is not supported for this type of network", "create", "g.xml", "--paused")
	c.write("g.xml", strings.Replace(groupsGuest, "%s", groupNIC("1", "a", ""), 1))
	c.do("create", "g.xml", "--paused")
	if !c.link("vnet0").Isolated {
		t.Error("the network's ports are isolated, and the guest's is not")
	}
	c.shows(c.do("dumpxml", "g"), "<port isolated='yes'/>")
	c.write("nic.xml", groupNIC("1", "", "<vlan><tag id='7'/></vlan>"))
	c.refused("requesting a vlan tag", "update-device", "g", "nic.xml", "--live")
	c.do("destroy", "g")
	c.do("net-destroy", "lan")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
