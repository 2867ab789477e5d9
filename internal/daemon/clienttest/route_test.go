package clienttest

import (
	"strings"
	"testing"
)

const routedNet = `<network><name>lab</name><uuid>5c1fa002-0000-4000-8000-0000000000aa</uuid><bridge name='virbr-lab'/><mac address='52:54:00:00:07:01'/>
<ip address='192.168.131.1' netmask='255.255.255.0'/><ip family='ipv6' address='fd00:131::1' prefix='64'/>
<route address='192.168.222.0' prefix='24' gateway='192.168.131.7'/>
<route family='ipv6' address='fd00:222::' prefix='64' gateway='fd00:131::7' metric='5'/></network>`

// routes are the routes of ours that the host has.
func (c *clients) routes() string {
	ns := c.daemon.NS
	return strings.ReplaceAll(strings.Join(strings.Fields(ns.Shell("ip route show proto 116; ip -6 route show proto 116")), " "), "linkdown ", "")
}

// Routes of a network come and go with it, are put back, and change in place; the bridge of a network is called back.
func TestRoutesOfANetwork(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("lab.xml", routedNet)
	c.do("net-define", "lab.xml")
	c.shows(c.do("net-dumpxml", "lab"), "<route address='192.168.222.0' prefix='24' gateway='192.168.131.7'/>",
		"<route family='ipv6' address='fd00:222::' prefix='64' gateway='fd00:131::7' metric='5'/>")
	c.do("net-start", "lab")
	const four, six = "192.168.222.0/24 via 192.168.131.7 dev virbr-lab", " fd00:222::/64 via fd00:131::7 dev virbr-lab metric 5 pref medium"
	there := func(what, want string) {
		t.Helper()
		c.comes(what, func() bool { return c.routes() == want })
	}
	there("the routes are there", four+" "+six[1:])
	c.daemon.NS.Shell("ip route delete 192.168.222.0/24")
	there("the route that somebody deleted is back", four+six)
	c.daemon.NS.Shell("ip -6 route delete fd00:222::/64")
	there("that of IPv6 is back", four+six)
	index := c.link("virbr-lab").Index
	if err := c.daemon.NS.Kernel().SetUp(index, false); err != nil {
		t.Fatal(err)
	}
	there("the routes are back after the bridge was down", four+six)

	c.restart("stop") // somebody who does more than that within a minute is left alone
	for _, restart := range []bool{false, true} {
		if err := c.daemon.NS.Kernel().RenameLink(index, "mine"); err != nil {
			t.Fatal(err)
		}
		if restart {
			c.restart("kill")
		}
		c.comes("the bridge is called back", func() bool { return c.link("virbr-lab").Index == index && c.link("mine").Index == 0 })
		there("the routes are there", four+six)
	}

	c.write("lab.xml", strings.Replace(routedNet, "gateway='192.168.131.7'", "gateway='192.168.131.8'", 1))
	if out, code := c.run(c.taproom("up", "lab.xml")); code != 0 {
		t.Fatalf("taproom up: %s", out)
	}
	there("the route is changed in place", strings.Replace(four, "131.7", "131.8", 1)+six)
	if now := c.link("virbr-lab").Index; now != index {
		t.Errorf("the bridge was %d and is %d", index, now)
	}
	c.write("bad.xml", strings.Replace(routedNet, "gateway='192.168.131.7'", "gateway='10.1.2.3'", 1))
	c.refused("unreachable static route gateway '10.1.2.3'", "net-define", "bad.xml")
	c.do("net-destroy", "lab")
	there("none is left", "")
	c.do("net-undefine", "lab")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
