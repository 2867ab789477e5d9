package clienttest

import (
	"strings"
	"testing"
)

// A port is kept apart, and no longer, while its guest runs; a daemon that starts puts back what somebody changed of that.
func TestAPortIsIsolatedWhileItsGuestRuns(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.bridge("br8")
	c.bridge("br9")
	nic := func(bridge, port string) string {
		return "<interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='" + bridge + "'/><model type='virtio'/>" + port + "</interface>"
	}
	c.direct("guest", nic("br8", ""))
	c.do("start", "guest", "--paused")
	const on = "<port isolated='yes'/>"
	for _, change := range []struct {
		bridge, port string
		isolated     bool
	}{{"br8", on, true}, {"br9", on, true}, {"br9", "", false}, {"br8", on, true}, {"br9", "<port isolated='no'/>", false}, {"br9", on, true}} {
		c.write("nic.xml", nic(change.bridge, change.port))
		c.do("update-device", "guest", "nic.xml", "--live")
		if l := c.link("vnet0"); l.Isolated != change.isolated || l.Master != c.link(change.bridge).Index {
			t.Errorf("%+v: it is %+v", change, l)
		}
	}
	if xml := c.do("dumpxml", "guest"); !strings.Contains(xml, on) {
		t.Errorf("no %s in\n%s", on, xml)
	}
	c.daemon.Kill()
	if err := c.daemon.NS.Kernel().SetIsolated(c.link("vnet0").Index, false); err != nil {
		t.Fatal(err)
	}
	if err := c.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	if !c.link("vnet0").Isolated {
		t.Error("it is not isolated any more")
	}
	if err := c.daemon.NS.Kernel().SetIsolated(c.link("vnet0").Index, false); err != nil {
		t.Fatal(err)
	}
	c.comes("it is isolated again", func() bool { return c.link("vnet0").Isolated })
	c.do("destroy", "guest")
	c.remove("br8")
	c.remove("br9")
}
