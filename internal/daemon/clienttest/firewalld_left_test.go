package clienttest

import (
	"fmt"
	"strings"
	"testing"

	"taproom/internal/network/firewall/firewalld/firewalldtest"
)

// Where the administrator has rules left alone, firewalld that begins anew is told again which zones bridges are in all the
// same: it forgets that, and nobody wanted guests to be cut off. Who takes a bridge out of its zone has it so.
func TestFirewalldIsToldAgainWhereRulesAreLeftAlone(t *testing.T) {
	t.Parallel()
	c := serve(t)
	if err := c.daemon.Stop(); err != nil {
		t.Fatal(err)
	}
	fwd := firewalldtest.Start(t, c.daemon.NS, firewalldtest.NFTables)
	c.settings(fmt.Sprintf("system_bus = '%s'\nheal_firewall = false\n", fwd.Socket))
	if err := c.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	c.do("net-define", c.write("open.xml", "<network><name>open</name><forward mode='open'/><bridge name='virbr-open' zone='work'/><ip address='192.168.78.1' netmask='255.255.255.0'/></network>"))
	c.do("net-start", "open")
	in := func(zone, links string) {
		t.Helper()
		c.comes(zone+" has "+links, func() bool {
			var got []string
			err := fwd.Try("zone.getInterfaces", &got, zone)
			return err == nil && strings.Join(got, " ") == links
		})
	}
	in("work", "virbr-open")
	fwd.Reload()
	in("work", "virbr-open")
	fwd.StopDaemon()
	fwd.StartDaemon()
	in("work", "virbr-open")
	var was string
	if err := fwd.Try("zone.removeInterface", &was, "work", "virbr-open"); err != nil {
		t.Fatal(err)
	}
	// Whoever would put it back does so before he hears of the next that happens.
	c.do("net-define", c.write("other.xml", "<network><name>other</name><forward mode='open'/><bridge name='virbr-other' zone='work'/><ip address='192.168.79.1' netmask='255.255.255.0'/></network>"))
	c.do("net-start", "other")
	in("work", "virbr-other")
	c.do("net-destroy", "other")
	in("work", "")
	c.do("net-destroy", "open")
}
