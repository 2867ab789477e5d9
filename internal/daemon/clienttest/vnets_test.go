package clienttest

import (
	"regexp"
	"strings"
	"testing"
)

// A guest's NIC is a port with the UUID that the guest's document names; it stays while the network is stopped and started.
func TestVirshTellsOfPortsOfNetworks(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.tell("vnets/ports.story")
	id := regexp.MustCompile(`portid='([^']+)'`).FindStringSubmatch(c.do("dumpxml", "ports"))
	if id == nil {
		t.Fatalf("the guest's document names no port:\n%s", c.do("dumpxml", "ports"))
	}
	if list := c.do("net-port-list", "lab"); !strings.Contains(list, id[1]) {
		t.Errorf("port %s is not in the list:\n%s", id[1], list)
	}
	c.golden("vnets/port.live", c.normal(c.do("net-port-dumpxml", "lab", id[1])))
	// virsh 9 says that it failed, not why, and ends with success.
	if out, _ := c.run(c.virsh("net-port-delete", "lab", id[1])); !strings.Contains(out, "Failed to delete network port") {
		t.Errorf("deleting a guest's port: %s", out)
	}
	if on := c.on("vnet0"); on != "virbr-lab" {
		t.Errorf("the guest's NIC is on %s", on)
	}
	c.do("destroy", "ports")
	if list := c.do("net-port-list", "lab"); strings.Contains(list, id[1]) {
		t.Errorf("the port outlives the guest:\n%s", list)
	}
	c.do("net-destroy", "lab")
}

// Networks hand out links of the host: the one with the fewest guests, and in mode passthrough each link to one guest.
func TestNetworksHandOutLinksOfTheHost(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.lowers("low0", "low1", "low2", "low3")
	for name, forward := range map[string]string{
		"shared": "<forward mode='bridge'><interface dev='low0'/><interface dev='low1'/></forward>",
		"alone":  "<forward mode='passthrough'><interface dev='low2'/><interface dev='low3'/></forward>",
	} {
		c.do("net-define", c.write(name+".xml", "<network><name>"+name+"</name>"+forward+"</network>"))
		c.do("net-start", name)
	}
	nic := func(mac, network string) string {
		return "<interface type='network'><mac address='52:54:00:00:00:" + mac + "'/><source network='" + network + "'/><model type='virtio'/></interface>"
	}
	c.direct("one", nic("0a", "shared"), nic("0b", "shared"), nic("0c", "alone"))
	c.direct("two", nic("1a", "shared"), nic("1c", "alone"))
	c.direct("three", nic("2c", "alone"))
	c.do("start", "one", "--paused")
	c.do("start", "two", "--paused")
	for _, want := range []string{"macvtap0@low0", "macvtap1@low1", "macvtap2@low2", "macvtap3@low0", "macvtap4@low3"} {
		if got := c.macvtaps(); !strings.Contains(got, want) {
			t.Errorf("no %s among\n%s", want, got)
		}
	}
	xml := c.do("dumpxml", "two")
	for _, want := range []string{"<interface type='direct'>", "network='alone'", "dev='low3'", "mode='passthrough'", "<target dev='macvtap4'/>"} {
		if !strings.Contains(xml, want) {
			t.Errorf("no %s in\n%s", want, xml)
		}
	}
	if xml := c.do("dumpxml", "two", "--inactive"); strings.Contains(xml, "direct") || strings.Contains(xml, "low3") {
		t.Errorf("the definition names a link:\n%s", xml)
	}
	out, code := c.run(c.virsh("start", "three"))
	if code == 0 || !strings.Contains(out, "network 'alone' has no link left: each of its 2 has a guest") {
		t.Errorf("a third guest on two links: exit %d, %s", code, out)
	}
	out, code = c.run(c.virsh("update-device", "two", c.write("move.xml", nic("1a", "alone")), "--live"))
	if code == 0 || !strings.Contains(out, "is not moved; detach it and attach it again") {
		t.Errorf("moving a macvtap: exit %d, %s", code, out)
	}
	id := regexp.MustCompile(`network='alone' portid='([^']+)'`).FindStringSubmatch(xml)
	if id == nil {
		t.Fatalf("no port in\n%s", xml)
	}
	if port := c.do("net-port-dumpxml", "alone", id[1]); !strings.Contains(port, "<plug type='direct' dev='low3' mode='passthrough'/>") {
		t.Errorf("the port is\n%s", port)
	}
	c.restart("kill")
	if again := c.do("dumpxml", "two"); again != xml {
		t.Errorf("with the next daemon the guest is\n%s\nand was\n%s", again, xml)
	}
	c.do("destroy", "one")
	c.do("start", "three", "--paused")
	if got := c.macvtaps(); !strings.Contains(got, "@low2") {
		t.Errorf("the link that one had is not given to three:\n%s", got)
	}
	c.do("net-destroy", "shared")
	if got := c.macvtaps(); !strings.Contains(got, "macvtap3@low0") {
		t.Errorf("a guest lost its NIC with its network:\n%s", got)
	}
	for _, name := range []string{"two", "three"} {
		c.do("destroy", name)
	}
	if got := strings.TrimSpace(c.macvtaps()); got != "" {
		t.Errorf("left:\n%s", got)
	}
}
