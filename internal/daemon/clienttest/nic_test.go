package clienttest

import (
	"testing"

	"taproom/internal/host"
)

// bridge makes a bridge that is no network's.
func (c *clients) bridge(name string) {
	c.t.Helper()
	k := c.daemon.NS.Kernel()
	index, err := k.CreateBridge(host.BridgeSpec{Name: name})
	if err == nil {
		err = k.SetUp(index, true)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// on is the bridge that a link is a port of.
func (c *clients) on(link string) string {
	c.t.Helper()
	k := c.daemon.NS.Kernel()
	l, err := k.LinkByName(link)
	if err != nil {
		c.t.Fatal(err)
	}
	if l.Master == 0 {
		return "none"
	}
	m, err := k.LinkByIndex(l.Master)
	if err != nil {
		c.t.Fatal(err)
	}
	return m.Name
}

// remove removes a link, by whatever name.
func (c *clients) remove(name string) {
	c.t.Helper()
	k := c.daemon.NS.Kernel()
	l, err := k.LinkByName(name)
	if err == nil {
		err = k.DeleteLink(l.Index)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// The other end of a NIC of a running guest is changed, in the document and on the host, with a daemon that died as well.
func TestNICsOfARunningGuestAreChanged(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.bridge("br8")
	c.tell("nics/nics.story")
	if on := c.on("vnet0"); on != "virbr-lab" {
		t.Errorf("the NIC is on %s", on)
	}
	c.do("update-device", "nics", "to-br8.xml", "--live")
	if on := c.on("vnet0"); on != "br8" {
		t.Errorf("the NIC is on %s", on)
	}
	c.restart("kill")
	if on := c.on("vnet0"); on != "br8" {
		t.Errorf("with the next daemon the NIC is on %s", on)
	}
	c.do("update-device", "nics", "to-lab.xml", "--live")
	if on := c.on("vnet0"); on != "virbr-lab" {
		t.Errorf("the NIC is on %s", on)
	}
	c.do("destroy", "nics")
	c.do("undefine", "nics")
	c.do("net-destroy", "lab")
	c.do("net-undefine", "lab")
	c.do("net-undefine", "other")
	c.remove("br8")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
