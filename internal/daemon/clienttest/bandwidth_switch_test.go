package clienttest

import (
	"strings"
	"testing"
)

// What a guest that runs sends through a bridge of Open vSwitch that reads frames itself cannot be bounded: who asks for it hears so,
// and nothing says that it were. What the guest receives is bounded there.
func TestWhatASwitchPassesByIsRefusedToAGuestThatRuns(t *testing.T) {
	t.Parallel()
	c, sw := serveSwitch(t)
	c.write("lan.xml", groupsNet)
	c.do("net-define", "lan.xml")
	c.do("net-start", "lan")
	nic := func(more string) string {
		return "<interface type='bridge'><mac address='52:54:00:00:05:01'/><source bridge='ovs0'/>" + onSwitch + "<model type='virtio'/>" + more + "</interface>"
	}
	c.write("g.xml", strings.Replace(groupsGuest, "%s", nic("")+groupNIC("2", "lab", ""), 1))
	c.do("define", "g.xml")
	c.do("start", "g", "--paused")
	c.bounded("vnet1", "tbf 7a70: root", "!mirred")
	before := c.do("dumpxml", "g", "--xpath", "//interface")
	c.write("nic.xml", nic("<bandwidth><inbound average='1024'/><outbound average='1024'/></bandwidth>"))
	group := func(bounds string) []string {
		return []string{"net-update", "lan", "modify", "portgroup", "<portgroup name='lab' trustGuestRxFilters='yes'><vlan><tag id='20'/></vlan><bandwidth>" + bounds + "</bandwidth></portgroup>", "--live"}
	}
	for _, args := range [][]string{
		{"domiftune", "g", "vnet0", "--outbound", "1024", "--live"},
		{"domiftune", "g", "vnet0", "--outbound", "1024", "--live", "--config"},
		{"update-device", "g", "nic.xml", "--live"},
		group("<inbound average='1000'/><outbound average='1024'/>"),
	} {
		if out, code := c.run(c.virsh(args...)); code == 0 || !strings.Contains(out, "what a guest sends cannot be bounded on bridge ovs0 of Open vSwitch") {
			t.Errorf("%q: exit %d: %s", args, code, out)
		}
		if now := c.do("dumpxml", "g", "--xpath", "//interface"); now != before {
			t.Errorf("after %q the guest has\n%s\nand had\n%s", args, now, before)
		}
	}
	if def := c.do("dumpxml", "g", "--inactive"); strings.Contains(def, "<outbound") {
		t.Errorf("what was refused is in the definition:\n%s", def)
	}
	if names := c.shapers(); len(names) > 0 {
		t.Errorf("what is sent goes through %v", names)
	}
	c.do(group("<inbound average='1024'/>")...)
	c.bounded("vnet1", rate1024)
	c.do("domiftune", "g", "vnet0", "--inbound", "1024", "--live")
	c.bounded("vnet0", "tbf 7a70: root", rate1024, "!mirred")
	c.comes("nothing is left to do", c.planned)
	c.do("net-destroy", "lan")
	c.do("net-undefine", "lan")
	c.clean(sw, "g")
}
