package clienttest

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/firewall/firewalld/firewalldtest"
)

// Bridges are in zones of firewalld: taproom's, or the one that a document asks for, which cannot be had without firewalld. A
// firewalld that hangs is reported, and everything else goes on.
func TestNetworksAreInZonesOfFirewalld(t *testing.T) {
	t.Parallel()
	c := serve(t)
	if err := c.daemon.Stop(); err != nil {
		t.Fatal(err)
	}
	fwd := firewalldtest.StartBus(t, c.daemon.NS, firewalldtest.NFTables)
	c.settings(fmt.Sprintf("system_bus = '%s'\n", fwd.Socket))
	if err := c.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	c.do("net-define", c.write("lab.xml", natNetwork))
	const open = "<network><name>open</name><forward mode='open'/><bridge name='virbr-open'%s/><ip address='192.168.78.1' netmask='255.255.255.0'/></network>"
	c.do("net-define", c.write("open.xml", fmt.Sprintf(open, " zone='work'")))
	if xml := c.do("net-dumpxml", "open"); !strings.Contains(xml, "zone='work'") {
		t.Errorf("the zone is not in the document:\n%s", xml)
	}
	fails := func(says string, args ...string) {
		t.Helper()
		out, code := c.run(c.virsh(args...))
		if code == 0 || !strings.Contains(out, says) {
			t.Errorf("virsh %v: exit %d: %s", args, code, out)
		}
	}
	c.do("net-start", "lab")
	fails("zone work requested for network open but firewalld is not active", "net-start", "open")

	fwd.StartDaemon()
	in := func(zone, links string) {
		t.Helper()
		c.comes(zone+" has "+links, func() bool {
			var got []string
			err := fwd.Try("zone.getInterfaces", &got, zone)
			return err == nil && strings.Join(got, " ") == links
		})
	}
	in(firewalld.Zone, "virbr-lab")
	c.do("net-start", "open")
	in("work", "virbr-open")
	c.do("net-destroy", "open")
	in("work", "")
	c.do("net-start", "open")
	if err := c.daemon.Stop(); err != nil {
		t.Fatal(err)
	}
	fwd.Reload()
	if err := c.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	in("work", "virbr-open")
	in(firewalld.Zone, "virbr-lab")
	c.do("net-define", c.write("open.xml", fmt.Sprintf(open, " zone='nowhere'")))
	c.do("net-destroy", "open")
	fails("firewalld has no such zone", "net-start", "open")

	fwd.Signal(syscall.SIGSTOP)
	c.do("net-destroy", "lab") // it stays in its zone, which hurts nobody
	if out := c.do("net-list", "--all", "--name"); !strings.Contains(out, "lab") {
		t.Errorf("networks: %s", out)
	}
	fwd.Signal(syscall.SIGCONT)
	c.do("net-start", "lab")
	in(firewalld.Zone, "virbr-lab")
	c.do("net-destroy", "lab")
	in(firewalld.Zone, "")
}
