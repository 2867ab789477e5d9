package clienttest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// learned are the addresses that the daemon says were learned of a link.
func (c *clients) learned(link string) []string {
	c.t.Helper()
	out, code := c.run(c.taproom("--json", "filter", "ls"))
	if code != 0 {
		c.t.Fatalf("taproom filter ls: exit %d: %s", code, out)
	}
	var r struct {
		NICs []struct {
			Link    string
			Learned []string
		}
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		c.t.Fatal(err)
	}
	for _, n := range r.NICs {
		if n.Link == link {
			return n.Learned
		}
	}
	return nil
}

// bind has a client bind a filter to a link.
func (c *clients) bind(link, mac, filter string) {
	c.t.Helper()
	c.write("binding.xml", "<filterbinding><owner><name>"+link+"</name><uuid>11111111-2222-4333-8444-5555555555"+mac[len(mac)-2:]+"</uuid></owner>"+
		"<portdev name='"+link+"'/><mac address='"+mac+"'/><filterref filter='"+filter+"'/></filterbinding>")
	c.do("nwfilter-binding-create", "binding.xml")
}

// reaches reports whether a machine has an answer to a ping from one of its addresses, from which it first asks for the other's.
func (m standIn) reaches(from, to string) bool {
	m.ns.Run("ip", "neigh", "flush", "dev", "eth0")
	_, err := m.ns.Try("ping", "-c", "1", "-W", "1", "-I", from, to)
	return err == nil
}

// A real DHCP client gets an address through a filter that asks for one, and with it what the filter lets pass; a second address is
// learned from ARP and one of IPv6 from neighbour discovery. A machine that claims another's address is held, and the owner is not
// cut off. A daemon that was killed knows the addresses again.
func TestFilterLearning_FromTheFirstACKAndSpoofersAreHeld(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("lab.xml", forwardingNetwork(""))
	c.do("net-define", "lab.xml")
	c.do("net-start", "lab")
	c.write("f.xml", "<filter name='learned' chain='root'><filterref filter='no-mac-spoofing'/><filterref filter='no-ip-spoofing'/>"+
		"<filterref filter='no-arp-spoofing'/><filterref filter='no-ipv6-spoofing'/></filter>")
	c.do("nwfilter-define", "f.xml")
	const gateway, gateway6, second, third = "192.168.77.1", "fd00:77::1", "192.168.77.50", "fd00:77::50"
	const macA, macB = "52:54:00:77:00:01", "52:54:00:77:00:02"
	a, b := c.standIn("lnA", macA), c.standIn("lnB", macB)
	c.bind("lnA", macA, "learned")
	c.bind("lnB", macB, "learned")
	for _, link := range []string{"lnA", "lnB"} {
		if got := c.learned(link); len(got) > 0 {
			t.Errorf("of %s is learned %v, and it has said nothing", link, got)
		}
	}

	first := a.leases()
	c.comes("the address of the first ACK is learned", func() bool { return slices.Contains(c.learned("lnA"), first) })
	if !a.reaches(first, gateway) {
		t.Errorf("the machine does not reach its gateway with the address %s that it was given", first)
	}
	a.ns.Run("ip", "addr", "add", second+"/24", "dev", "eth0")
	c.comes("a second address passes", func() bool { return a.reaches(second, gateway) })
	a.ns.Run("ip", "addr", "add", third+"/64", "dev", "eth0")
	c.comes("an address of IPv6 passes", func() bool { return a.reaches(third, gateway6) })
	for _, address := range []string{first, second, third} {
		if got := c.learned("lnA"); !slices.Contains(got, address) {
			t.Errorf("%s passes, and is not among %v", address, got)
		}
	}

	own := b.leases()
	c.comes("the other machine has its own", func() bool { return slices.Contains(c.learned("lnB"), own) })
	for _, stolen := range []string{first, second} {
		b.ns.Run("ip", "addr", "add", stolen+"/24", "dev", "eth0")
		for range 3 {
			if b.reaches(stolen, gateway) {
				t.Errorf("a spoofer got an answer for %s", stolen)
			}
		}
		if !a.reaches(stolen, gateway) {
			t.Errorf("the owner of %s was cut off by a spoofer", stolen)
		}
	}
	b.ns.Run("ip", "addr", "add", third+"/64", "dev", "eth0", "nodad")
	if b.reaches(third, gateway6) {
		t.Errorf("a spoofer got an answer for %s", third)
	}
	if got := c.learned("lnB"); slices.Contains(got, first) || slices.Contains(got, second) || slices.Contains(got, third) {
		t.Errorf("a spoofer was believed: %v", got)
	}

	before := c.learned("lnA")
	c.daemon.Kill()
	if err := c.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	c.comes("the next daemon knows the addresses", func() bool { return slices.Equal(c.learned("lnA"), before) })
	if !a.reaches(first, gateway) || !a.reaches(third, gateway6) {
		t.Error("the machine was cut off by a restart")
	}
	for _, link := range []string{"lnA", "lnB"} {
		c.do("nwfilter-binding-delete", link)
	}
	if rules := c.filtered(); strings.Contains(rules, "lnA") || strings.Contains(rules, "lnB") {
		t.Errorf("left behind:\n%s", rules)
	}
	c.do("net-destroy", "lab")
}
