package clienttest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"taproom/internal/host/hosttest"
	"taproom/internal/qemu/emutest"
)

// forwardingNetwork is a network whose ports of the host lead to guests.
func forwardingNetwork(forwards string) string {
	return `<network>
  <name>lab</name>
  <metadata><taproom:forwards xmlns:taproom='urn:taproom:network:1'>` + forwards + `</taproom:forwards></metadata>
  <forward mode='nat'/>
  <bridge name='virbr-lab'/>
  <ip address='192.168.77.1' netmask='255.255.255.0'><dhcp>
    <range start='192.168.77.100' end='192.168.77.110'/><host mac='52:54:00:77:00:09' name='fixed' ip='192.168.77.9'/>
  </dhcp></ip>
  <ip family='ipv6' address='fd00:77::1' prefix='64'/>
</network>`
}

// standIn is a guest of a network that is a namespace, with a NIC of some address.
type standIn struct {
	*clients
	ns *hosttest.NS
}

func (c *clients) standIn(name, mac string, addresses ...string) standIn {
	c.t.Helper()
	m := standIn{c, hosttest.NewNS(c.t)}
	hosttest.Veth(c.daemon.NS, name, m.ns, "eth0")
	c.daemon.NS.Run("ip", "link", "set", "dev", name, "master", "virbr-lab")
	// It has no other address that it might answer datagrams from.
	m.ns.Shell("ip link set dev eth0 down; echo 0 > /proc/sys/net/ipv6/conf/eth0/accept_ra; ip link set dev eth0 address " + mac + " up")
	for _, a := range addresses {
		m.ns.Run("ip", "addr", "add", a, "dev", "eth0", "nodad")
	}
	c.comes("the bridge carries its frames", func() bool {
		out, _ := c.daemon.NS.Try("ip", "-d", "link", "show", "dev", name)
		return strings.Contains(out, "state forwarding")
	})
	return m
}

// leases gets the machine its address from the network's DHCP.
func (m standIn) leases() string {
	m.t.Helper()
	script := filepath.Join(m.t.TempDir(), "script")
	if err := hosttest.WriteProgram(script, []byte("#!/bin/sh\n[ \"$1\" != bound ] || { ip addr replace $ip/$mask dev eth0; ip route replace default via $router; echo \"address $ip\"; }\n")); err != nil {
		m.t.Fatal(err)
	}
	out := m.ns.Run("udhcpc", "-i", "eth0", "-f", "-q", "-n", "-t", "60", "-T", "1", "-s", script)
	_, address, _ := strings.Cut(out, "address ")
	return strings.TrimSpace(address)
}

// answers has the machine answer on a port of TCP and UDP with its name.
func (m standIn) answers(port int, name string) {
	m.t.Helper()
	hosttest.Answer(m.t, m.ns, fmt.Sprintf(":%d", port), func(net.Addr) string { return name })
}

// asked is who answers at a port, seen from a namespace; "" is nobody. A datagram may be lost on its way, and is sent again.
func (c *clients) asked(ns *hosttest.NS, network, at string) string {
	c.t.Helper()
	var conn net.Conn
	var err error
	ns.Do(func() { conn, err = net.DialTimeout(network, at, emutest.Patience()) })
	said := make([]byte, 64)
	n := 0
	if err == nil {
		defer conn.Close()
		ends := time.Now().Add(emutest.Patience())
		for again := true; again; again = network == "udp" && errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(ends) {
			_ = conn.SetDeadline(ends)
			if network == "udp" {
				_ = conn.SetDeadline(time.Now().Add(time.Second)) // wait: then it is asked again
				_, _ = conn.Write([]byte("?"))                    // what it fails with, reading tells too
			}
			n, err = conn.Read(said)
		}
	}
	if err != nil && !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ECONNRESET) {
		c.t.Errorf("%s %s: %v", network, at, err)
	}
	return string(said[:n])
}

// lead expects who answers at ports, on TCP and UDP.
func (c *clients) lead(ns *hosttest.NS, to string, at ...string) {
	c.t.Helper()
	for _, a := range at {
		for _, network := range []string{"tcp", "udp"} {
			if got := c.asked(ns, network, a); got != to {
				c.t.Errorf("%s %s: %q answers; want %q\n%s", network, a, got, to, c.forwarded())
			}
		}
	}
}

// forwarded is what taproom says of forwards.
func (c *clients) forwarded() string {
	c.t.Helper()
	out, code := c.run(c.taproom("net", "forwards"))
	if code != 0 {
		c.t.Fatalf("net forwards: %s", out)
	}
	return out
}

// both is a forward of TCP and UDP.
func both(attrs string) string {
	return "<forward protocol='tcp' " + attrs + "/><forward protocol='udp' " + attrs + "/>"
}

// faraway is a machine beside the host, which knows the host as its gateway.
func (c *clients) faraway() *hosttest.NS {
	c.t.Helper()
	away := hosttest.NewNS(c.t)
	hosttest.Veth(c.daemon.NS, "up0", away, "eth0")
	c.daemon.NS.Shell("ip link set lo up; ip addr add 192.0.2.1/24 dev up0; ip addr add 2001:db8::1/64 dev up0 nodad")
	away.Shell("ip addr add 192.0.2.2/24 dev eth0; ip addr add 2001:db8::2/64 dev eth0 nodad; ip route add default via 192.0.2.1; ip -6 route add default via 2001:db8::1")
	return away
}

// A port leads to an address, in every way that there is to it, whatever becomes of the daemon and of the rules.
func TestPortsOfTheHostLeadToGuests(t *testing.T) {
	t.Parallel()
	for _, backend := range []string{"nftables", "iptables"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			c := serve(t)
			c.settings("firewall_backend = '" + backend + "'\n")
			if backend == "iptables" {
				c.daemon.NS.Keep("table ip filter", "table ip nat", "table ip6 filter", "table ip6 nat") // iptables never removes a table
			}
			c.restart("stop")
			away := c.faraway()
			doc := both("port='8080' to='192.168.77.10' toPort='80'") + both("port='8080' to='fd00:77::10' toPort='80'") + both("address='192.0.2.1' port='81' end='89' to='fixed' toPort='80'")
			if out, code := c.run(c.taproom("up", c.write("lab.xml", forwardingNetwork(doc)))); code != 0 {
				t.Fatal(out)
			}
			web := c.standIn("web0", "52:54:00:77:00:0a", "192.168.77.10/24", "fd00:77::10/64")
			web.ns.Shell("ip route add default via 192.168.77.1; ip -6 route add default via fd00:77::1")
			web.answers(80, "web")
			fixed := c.standIn("fix0", "52:54:00:77:00:09", "192.168.77.9/24", "fd00:77::9/64")
			fixed.ns.Shell("ip route add default via 192.168.77.1; ip -6 route add default via fd00:77::1")
			fixed.answers(84, "fixed")
			lead := func() {
				t.Helper()
				c.lead(away, "web", "192.0.2.1:8080", "[2001:db8::1]:8080")
				c.lead(c.daemon.NS, "web", "192.0.2.1:8080", "[2001:db8::1]:8080", "127.0.0.1:8080", "[::1]:8080", "192.168.77.1:8080")
				c.lead(fixed.ns, "web", "192.0.2.1:8080", "[2001:db8::1]:8080", "192.168.77.1:8080") // its neighbour
				c.lead(away, "fixed", "192.0.2.1:85")
				c.lead(c.daemon.NS, "", "127.0.0.1:85")
			}
			lead()
			out, code := c.run(c.taproom("net", "why", "lab", "--to", "192.0.2.1:8080"))
			if want := "reaches 192.0.2.1 port 8080, where network 'lab' has tcp 8080 lead to 192.168.77.10 (192.168.77.10 port 80)"; code != 0 || !strings.Contains(out, want) {
				t.Errorf("net why: exit %d, %s; want %s", code, out, want)
			}
			c.restart("kill")
			lead()
			if backend == "nftables" {
				c.daemon.NS.Shell("nft flush ruleset")
				c.comes("the rules are there again", func() bool { return c.asked(away, "tcp", "192.0.2.1:8080") == "web" })
			}
			// Nobody listens beside it, and no other network takes it.
			c.write("other.xml", strings.NewReplacer("lab", "other", "192.168.77.", "192.168.78.", "fd00:77:", "fd00:78:", "00:77:", "00:78:").Replace(forwardingNetwork(both("port='85' to='fixed'"))))
			out, code = c.run(c.taproom("up", "other.xml"))
			if want := "tcp 85 is to lead to 'fixed', and network 'lab' has tcp 81-89 at 192.0.2.1 lead to 'fixed'"; code == 0 || !strings.Contains(out, want) {
				t.Errorf("another network: exit %d, %s", code, out)
			}
			// Another document: what stays goes on, what goes is gone.
			if out, code := c.run(c.taproom("up", c.write("lab.xml", forwardingNetwork(both("port='8080' to='192.168.77.9' toPort='84'"))))); code != 0 {
				t.Fatal(out)
			}
			c.lead(away, "fixed", "192.0.2.1:8080")
			c.lead(c.daemon.NS, "fixed", "127.0.0.1:8080")
			c.lead(c.daemon.NS, "", "[::1]:8080", "192.0.2.1:85")
			c.do("net-destroy", "lab")
			c.lead(c.daemon.NS, "", "127.0.0.1:8080", "192.0.2.1:8080")
			c.do("net-undefine", "lab")
			c.do("net-undefine", "other")
		})
	}
}

// A forward that names a guest follows it: it leads nowhere until the guest runs and has an address, and elsewhere when that is
// another one.
func TestAForwardFollowsTheGuestThatItNames(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.daemon.NS.Run("ip", "link", "set", "lo", "up")
	c.do("net-define", c.write("lab.xml", forwardingNetwork(both("port='8080' to='web1' toPort='80'"))))
	c.do("net-start", "lab")
	says := func(want string) {
		t.Helper()
		c.comes("taproom says "+want, func() bool { return strings.Contains(c.forwarded(), want) })
	}
	says("nowhere: there is no guest 'web1', and no <host name='web1'> in the network's <dhcp>")
	counts := func(want string) {
		t.Helper()
		if out, code := c.run(c.taproom("ls")); code != 0 || !strings.Contains(out, want) {
			t.Errorf("taproom ls: exit %d, %s; want %s", code, out, want)
		}
	}
	counts("  0 of 2 lead to guests\n")
	const mac = "52:54:00:77:00:10"
	c.do("define", c.write("web1.xml", `<domain type='qemu'><name>web1</name><memory unit='MiB'>16</memory><os><type arch='x86_64'>hvm</type></os>
		<devices><interface type='network'><mac address='`+mac+`'/><source network='lab'/></interface></devices></domain>`))
	c.lead(c.daemon.NS, "", "127.0.0.1:8080")
	c.do("start", "web1", "--paused")
	says("nowhere: guest 'web1' has no address from the network's DHCP yet")
	// Another machine with the guest's card is as good as the guest, which stands still.
	m := c.standIn("web0", mac)
	m.answers(80, "web1")
	says(m.leases())
	counts("  2 of 2 lead to guests\n")
	c.lead(c.daemon.NS, "web1", "127.0.0.1:8080", "192.168.77.1:8080")
	c.restart("kill")
	c.lead(c.daemon.NS, "web1", "127.0.0.1:8080", "192.168.77.1:8080")
	// Its address is another one, by a document that is changed in place.
	c.do("net-update", "lab", "add", "ip-dhcp-host", "<host mac='"+mac+"' ip='192.168.77.20'/>", "--live")
	says("192.168.77.20")
	m.ns.Run("ip", "addr", "flush", "dev", "eth0")
	m.ns.Run("ip", "addr", "add", "192.168.77.20/24", "dev", "eth0")
	c.lead(c.daemon.NS, "web1", "127.0.0.1:8080", "192.168.77.1:8080")
	c.do("destroy", "web1")
	says("nowhere: guest 'web1' does not run")
	c.lead(c.daemon.NS, "", "127.0.0.1:8080", "192.168.77.1:8080")
	c.do("undefine", "web1")
	c.do("net-destroy", "lab")
	says("nowhere: the network is not active")
}

// A forward that cannot follow its guest, since a program took the port meanwhile, does so once it can.
func TestAForwardThatCouldNotFollowItsGuestIsTriedAgain(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.daemon.NS.Run("ip", "link", "set", "lo", "up")
	c.do("net-define", c.write("lab.xml", forwardingNetwork("<forward address='127.0.0.1' port='8080' to='web1'/>")))
	c.do("net-start", "lab")
	var theirs net.Listener
	var err error
	c.daemon.NS.Do(func() { theirs, err = net.Listen("tcp", "127.0.0.1:8080") })
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	c.do("net-update", "lab", "add", "ip-dhcp-host", "<host mac='52:54:00:77:00:10' name='web1' ip='192.168.77.20'/>", "--live")
	problem := func() bool {
		return strings.Contains(c.problems(), "tcp 127.0.0.1:8080 cannot lead to a guest: it is in use by ")
	}
	c.comes("taproom tells of it", problem)
	if said := c.problems(); strings.Contains(said, "{") {
		t.Errorf("in words of programs: %s", said)
	}
	_ = theirs.Close() // of which nobody tells
	c.comes("it leads there", func() bool { return strings.Contains(c.forwarded(), "192.168.77.20") && !problem() })
	c.do("net-destroy", "lab")
	c.do("net-undefine", "lab")
}

// A port that a program of the host has is not taken from it, and what is in nobody's way is not refused.
func TestPortsThatProgramsHaveAreNotForwarded(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.daemon.NS.Shell("ip link set lo up; ip addr add 192.0.2.1/32 dev lo")
	var theirs net.Listener
	var err error
	c.daemon.NS.Do(func() { theirs, err = net.Listen("tcp", ":8080") })
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	up := func(forward string) (string, int) {
		t.Helper()
		return c.run(c.taproom("up", c.write("lab.xml", forwardingNetwork(forward))))
	}
	for _, forward := range []string{"<forward port='8000' end='8100' to='192.168.77.10'/>", "<forward address='127.0.0.1' port='8080' to='192.168.77.10'/>"} {
		if out, code := up(forward); code == 0 || !strings.Contains(out, "cannot lead to 192.168.77.10: it is in use by ") {
			t.Errorf("%s: exit %d: %s", forward, code, out)
		}
	}
	for _, forward := range []string{"<forward address='192.0.2.1' port='8080' to='192.168.77.10'/>", "<forward protocol='udp' port='8080' to='192.168.77.10'/>"} {
		if out, code := up(forward); code != 0 {
			t.Errorf("%s: exit %d: %s", forward, code, out)
		}
	}
	c.do("net-destroy", "lab")
}
