package clienttest

import (
	"strings"
	"testing"
)

// A guest that virtual CPUs were plugged into goes on with them after a save.
func TestSave_RestoresPluggedVirtualCPUs(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.disk("disk1.img")
	c.write("light.xml", strings.Replace(c.fill(lightGuest), "<os>", "<vcpu current='1'>4</vcpu><os>", 1))
	c.do("create", "light.xml")
	for _, n := range []string{"2", "4"} {
		c.do("setvcpus", "light", n, "--live")
		c.do("save", "light", "image")
		c.do("restore", "image")
		if got := strings.TrimSpace(c.do("vcpucount", "light", "--live", "--current")); got != n {
			t.Errorf("the restored guest has %s virtual CPUs, want %s", got, n)
		}
	}
	c.do("destroy", "light")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
