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
