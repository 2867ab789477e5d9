package clienttest

import (
	"strings"
	"testing"
)

// behind are the addresses that a link's bridge was told are behind it, and whether it learns others.
func (c *clients) behind(link string) (macs string, learns bool) {
	c.t.Helper()
	l := c.link(link)
	all, err := c.daemon.NS.Kernel().StaticFDB(l.Index, l.Master)
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.Join(all, " "), !l.NoLearning || !l.NoFlood
}

// A network whose MAC addresses are managed learns none: its bridge is told of its guests when they are plugged in. What
// somebody changes of that is put back, and a network that learns is told nothing.
func TestTheBridgeOfANetworkIsToldOfItsGuests(t *testing.T) {
	t.Parallel()
	c := serve(t)
	network := func(manager string) {
		c.write("lab.xml", "<network><name>lab</name><bridge name='virbr-lab' stp='off' macTableManager='"+manager+"'/><ip address='192.168.131.1' netmask='255.255.255.0'/></network>")
		c.do("net-define", "lab.xml")
		c.do("net-start", "lab")
	}
	nic := func(mac string) string {
		return "<interface type='network'><mac address='52:54:00:00:00:" + mac + "'/><source network='lab'/><model type='virtio'/></interface>"
	}
	managed := func(link, mac string) func() bool {
		return func() bool {
			got, learns := c.behind(link)
			return got == "52:54:00:00:00:"+mac && !learns
		}
	}
	network("libvirt")
	c.direct("guest", nic("0a"))
	c.do("start", "guest", "--paused")
	c.write("nic.xml", nic("0B"))
	c.do("attach-device", "guest", "nic.xml", "--live")
	for link, mac := range map[string]string{"vnet0": "0a", "vnet1": "0b"} {
		if !managed(link, mac)() {
			got, learns := c.behind(link)
			t.Errorf("behind %s are %q, and it learns: %v", link, got, learns)
		}
	}
	if out := c.do("net-dumpxml", "lab"); !strings.Contains(out, "macTableManager='libvirt'") {
		t.Errorf("the network:\n%s", out)
	}

	k, tap := c.daemon.NS.Kernel(), c.link("vnet0").Index
	if err := k.DelFDB(tap, "52:54:00:00:00:0a"); err != nil {
		t.Fatal(err)
	}
	c.comes("the bridge is told again", managed("vnet0", "0a"))
	c.daemon.NS.Run("bridge", "link", "set", "dev", "vnet0", "learning", "on", "flood", "on")
	c.comes("vnet0 learns nothing again", managed("vnet0", "0a"))
	c.daemon.Kill()
	if err := k.SetFDB(tap, "52:54:00:00:00:0c"); err != nil {
		t.Fatal(err)
	}
	if err := c.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	c.comes("it is as the document says", managed("vnet0", "0a"))

	// A network that learns, and again one that does not: its guests stay.
	c.do("net-destroy", "lab")
	network("kernel")
	if got, learns := c.behind("vnet0"); got != "" || !learns {
		t.Errorf("behind vnet0 are %q, and it learns: %v", got, learns)
	}
	c.do("net-destroy", "lab")
	network("libvirt")
	if !managed("vnet0", "0a")() || !managed("vnet1", "0b")() {
		t.Error("the bridge was not told again")
	}
	c.do("destroy", "guest")
	c.do("net-destroy", "lab")
	if left := c.links(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
