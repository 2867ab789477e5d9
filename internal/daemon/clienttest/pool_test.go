package clienttest

import (
	"strings"
	"sync"
	"testing"
)

// Of links that are handed out in mode passthrough each guest gets one of its own, also when they start at the same moment.
func TestGuestsThatStartTogetherGetLinksOfTheirOwn(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.lowers("low0", "low1", "low2")
	c.write("net.xml", "<network><name>lan</name><forward mode='passthrough'><interface dev='low0'/><interface dev='low1'/><interface dev='low2'/></forward></network>")
	c.do("net-create", "net.xml")
	guests := []string{"a", "b", "c", "d"}
	for i, g := range guests {
		doc := strings.NewReplacer("<name>g<", "<name>"+g+"<", "%s", groupNIC(string(rune('1'+i)), "", "")).Replace(groupsGuest)
		c.write(g+".xml", doc)
		c.do("define", g+".xml")
	}
	for range 3 {
		said := make([]string, 3)
		var all sync.WaitGroup
		for i, g := range guests[:3] {
			all.Go(func() {
				out, err := c.virsh("start", g, "--paused").CombinedOutput()
				if err != nil {
					said[i] = string(out)
				}
			})
		}
		all.Wait()
		if out := strings.Join(said, ""); out != "" {
			t.Fatalf("three guests, three links: %s", out)
		}
		on := map[string]bool{}
		for _, g := range guests[:3] {
			for _, part := range strings.Split(c.do("dumpxml", g), "\n") {
				if _, dev, ok := strings.Cut(part, " dev='low"); ok {
					on[dev[:1]] = true
				}
			}
		}
		if len(on) != 3 {
			t.Errorf("they are on %v", on)
		}
		c.restart("kill")
		c.refused("has no link left: each of its 3 has a guest", "start", "d", "--paused")
		c.do("destroy", "b")
		c.do("start", "d", "--paused")
		for _, g := range []string{"a", "c", "d"} {
			c.do("destroy", g)
		}
	}
	c.do("net-destroy", "lan")
	for _, g := range guests {
		c.do("undefine", g)
	}
}

// Networks of SR-IOV functions are kept as they were written; what cannot be given to a guest here is said at the start.
func TestNetworksOfFunctionsAreKept(t *testing.T) {
	t.Parallel()
	c := serve(t)
	const forward = "<forward mode='hostdev' managed='yes'>\n    <driver name='vfio'/>\n    <address type='pci' domain='0x0000' bus='0x03' slot='0x10' function='0x1'/>\n  </forward>"
	c.write("net.xml", "<network><name>vf</name>"+forward+"<vlan><tag id='42'/></vlan><portgroup name='a'/></network>")
	c.do("net-define", "net.xml")
	c.restart("stop")
	c.shows(c.do("net-dumpxml", "vf"), forward, "<tag id='42'/>")
	c.refused("guests are not given PCI functions of the host yet; use mode='passthrough'", "net-start", "vf")
	c.do("net-undefine", "vf")
	c.write("net.xml", "<network><name>pf</name><forward mode='passthrough'><pf dev='lo'/></forward></network>")
	c.do("net-define", "net.xml")
	c.shows(c.do("net-dumpxml", "pf"), "<pf dev='lo'/>")
	c.refused("<pf dev='lo'>: lo is no SR-IOV NIC: it has no virtual functions to give to guests", "net-start", "pf")
	c.do("net-undefine", "pf")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
