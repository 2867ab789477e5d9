package firewall_test

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
)

// world is a host with two bridges and a guest on each, and an outside that has no route to the guests: it sees them
// only behind the host's address.
type world struct {
	t                    *testing.T
	host, a, a2, b, away *hosttest.NS
	f                    *firewall.Firewall
	port                 int // the low port used last: a new one each time, so that no connection is taken for an old one
}

const (
	hostAway, awayAddr = "192.0.2.1", "192.0.2.2"
	hostA, guestA      = "10.1.0.1", "10.1.0.10"
	guestA2            = "10.1.0.11"
	hostB, guestB      = "10.2.0.1", "10.2.0.10"
)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, a: hosttest.NewNS(t), a2: hosttest.NewNS(t), b: hosttest.NewNS(t), away: hosttest.NewNS(t)}
	var c *nft.Conn
	w.host, c = open(t)
	w.host.Keep("link virbr*", "table ip taproom")
	w.f = firewall.New(c, firewall.DefaultTable)
	w.host.Shell(`echo 1 > /proc/sys/net/ipv4/ip_forward
		ip link add virbr0 type bridge; ip addr add 10.1.0.1/24 dev virbr0; ip link set virbr0 up
		ip link add virbr1 type bridge; ip addr add 10.2.0.1/24 dev virbr1; ip link set virbr1 up`)
	guest := func(ns *hosttest.NS, port, bridge, address, gateway string) {
		hosttest.Veth(w.host, port, ns, "eth0")
		w.host.Run("ip", "link", "set", port, "master", bridge)
		ns.Shell(fmt.Sprintf("ip addr add %s/24 dev eth0; ip route add default via %s", address, gateway))
	}
	guest(w.a, "vnet0", "virbr0", guestA, hostA)
	guest(w.a2, "vnet1", "virbr0", guestA2, hostA)
	guest(w.b, "vnet2", "virbr1", guestB, hostB)
	hosttest.Veth(w.host, "up0", w.away, "eth0")
	w.host.Run("ip", "addr", "add", hostAway+"/24", "dev", "up0")
	w.away.Run("ip", "addr", "add", awayAddr+"/24", "dev", "eth0")
	return w
}

// serve answers on TCP and UDP with the sender's address, until the test ends.
func (w *world) serve(ns *hosttest.NS, address string) {
	w.t.Helper()
	var tcp net.Listener
	var udp net.PacketConn
	var err1, err2 error
	ns.Do(func() {
		tcp, err1 = net.Listen("tcp", net.JoinHostPort(address, "7"))
		udp, err2 = net.ListenPacket("udp", net.JoinHostPort(address, "7"))
	})
	if err := errors.Join(err1, err2); err != nil {
		w.t.Fatal(err)
	}
	done := make(chan struct{}, 2)
	go func() {
		defer func() { done <- struct{}{} }()
		for {
			c, err := tcp.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(c.RemoteAddr().String()))
			_ = c.Close()
		}
	}()
	go func() {
		defer func() { done <- struct{}{} }()
		buf := make([]byte, 64)
		for {
			_, from, err := udp.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = udp.WriteTo([]byte(from.String()), from)
		}
	}()
	w.t.Cleanup(func() {
		_ = tcp.Close()
		_ = udp.Close()
		<-done
		<-done
	})
}

// ask sends from a low port and returns the address that the other side saw.
func (w *world) ask(ns *hosttest.NS, network, address string) (string, error) {
	w.port++
	var c net.Conn
	var err error
	low := func(_, _ string, raw syscall.RawConn) error {
		var serr error
		if err := raw.Control(func(fd uintptr) {
			serr = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
		}); err != nil {
			return err
		}
		return serr
	}
	ns.Do(func() {
		d := net.Dialer{Control: low, Timeout: 3 * time.Second}
		switch network {
		case "tcp":
			d.LocalAddr = &net.TCPAddr{Port: 600 + w.port}
		default:
			d.LocalAddr = &net.UDPAddr{Port: 600 + w.port}
		}
		c, err = d.Dial(network, net.JoinHostPort(address, "7"))
	})
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(3 * time.Second)); err != nil {
		return "", err
	}
	if network == "udp" {
		if _, err := c.Write([]byte("?")); err != nil {
			return "", err
		}
	}
	buf := make([]byte, 64)
	n, err := c.Read(buf)
	return string(buf[:n]), err
}

func (w *world) reaches(what string, from *hosttest.NS, to, seenAs string, masqueraded bool) {
	w.t.Helper()
	for _, network := range []string{"tcp", "udp"} {
		got, err := w.ask(from, network, to)
		if err != nil {
			w.t.Errorf("%s by %s: %v", what, network, err)
			continue
		}
		address, port, err := net.SplitHostPort(got)
		low := len(port) < 4
		if err != nil || address != seenAs || low == masqueraded {
			w.t.Errorf("%s by %s: seen as %s; want %s, port rewritten %v", what, network, got, seenAs, masqueraded)
		}
	}
	if out, err := from.Try("ping", "-c1", "-W3", to); err != nil {
		w.t.Errorf("%s by ICMP: %v\n%s", what, err, out)
	}
}

func (w *world) refused(what string, from *hosttest.NS, to string) {
	w.t.Helper()
	for _, network := range []string{"tcp", "udp"} {
		if got, err := w.ask(from, network, to); !errors.Is(err, unix.ECONNREFUSED) {
			w.t.Errorf("%s by %s: got %q, error %v; want refused at once", what, network, got, err)
		}
	}
	out, err := from.Try("ping", "-c1", "-W3", to)
	if err == nil || !strings.Contains(strings.ToLower(out), "port unreachable") {
		w.t.Errorf("%s by ICMP: %v\n%s; want an ICMP answer", what, err, out)
	}
}

func TestTrafficOfTwoNetworks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, s := range []struct {
		ns      *hosttest.NS
		address string
	}{{w.a, guestA}, {w.a2, guestA2}, {w.b, guestB}, {w.away, awayAddr}, {w.host, hostA}} {
		w.serve(s.ns, s.address)
	}
	w.away.Run("ip", "route", "add", "10.0.0.0/8", "via", hostAway) // an outsider that knows the way in
	a, b := network("virbr0", "10.1.0.0", 24), network("virbr1", "10.2.0.0", 24)
	apply(t, w.f, a, nil)
	apply(t, w.f, b, nil)

	w.reaches("guest to outside", w.a, awayAddr, hostAway, true)
	w.reaches("guest of the other network to outside", w.b, awayAddr, hostAway, true)
	w.reaches("guest to guest on a bridge", w.a, guestA2, guestA, false)
	w.reaches("guest to host", w.a, hostA, guestA, false)
	w.reaches("host to guest", w.host, guestA, hostA, false)
	w.refused("outside to guest", w.away, guestA)
	w.refused("guest to guest of another network", w.a, guestB)
	w.refused("and back", w.b, guestA)

	// A guest that borrows an address of elsewhere is not let out.
	w.a.Run("ip", "addr", "add", "10.9.0.9/32", "dev", "eth0")
	if out, err := w.a.Try("ping", "-I", "10.9.0.9", "-c1", "-W1", awayAddr); err == nil {
		t.Errorf("a borrowed address was let out:\n%s", out)
	}

	// An isolated network is one without an address in the sets: its guests reach each other and the host.
	isolated := []element{{Set: "nat24", Key: "10.1.0.0"}, {Set: "net24", Key: "virbr0 . 10.1.0.0"}}
	apply(t, w.f, nil, isolated)
	w.refused("isolated guest to outside", w.a, awayAddr)
	w.reaches("isolated guest to guest", w.a, guestA2, guestA, false)
	w.reaches("isolated guest to host", w.a, hostA, guestA, false)
	w.reaches("the other network goes on", w.b, awayAddr, hostAway, true)

	// Without any element the host forwards as it did before, with the guest's own address.
	apply(t, w.f, nil, append(a, b...))
	w.reaches("after both have left", w.a, awayAddr, guestA, false)
}

// A routed network is reached from outside; one with a link of its own as its way out uses no other.
func TestTrafficOfARoutedNetworkAndOfOneWithALinkOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, s := range []struct {
		ns      *hosttest.NS
		address string
	}{{w.a, guestA}, {w.b, guestB}, {w.away, awayAddr}} {
		w.serve(s.ns, s.address)
	}
	w.away.Run("ip", "route", "add", "10.0.0.0/8", "via", hostAway)
	a := []element{{Set: "bridges", Key: "virbr0"}, {Set: "same", Key: "virbr0 . virbr0"}, {Set: "net24", Key: "virbr0 . 10.1.0.0"}, {Set: "in24", Key: "virbr0 . 10.1.0.0"}}
	b := byDev("virbr1", "10.2.0.0", 24, "up0")
	apply(t, w.f, append(a, b...), nil)
	w.reaches("routed guest to outside", w.a, awayAddr, guestA, false)
	w.reaches("outside to routed guest", w.away, guestA, awayAddr, false)
	w.reaches("guest to outside by its link", w.b, awayAddr, hostAway, true)
	w.refused("outside to guest behind NAT", w.away, guestB)
	w.refused("guest behind one link to the routed guest, which is not there", w.b, guestA)
	other := byDev("virbr1", "10.2.0.0", 24, "up1")
	apply(t, w.f, other, b[1:3])
	w.refused("guest whose link is another one", w.b, awayAddr)

	routedBy := []element{{Set: "devnet24", Key: "virbr0 . 10.1.0.0 . up0"}, {Set: "devin24", Key: "virbr0 . 10.1.0.0 . up0"}}
	apply(t, w.f, routedBy, a[2:])
	w.reaches("routed guest to outside by its link", w.a, awayAddr, guestA, false)
	w.reaches("outside to routed guest by its link", w.away, guestA, awayAddr, false)
	apply(t, w.f, nil, slices.Concat(a, b, other, routedBy))
}

const (
	guestA6, guestB6, away6, hostAway6 = "fd00:a::10", "fd00:b::10", "2001:db8::2", "2001:db8::1"
)

// newWorld6 adds IPv6 to a world. Nobody probes for duplicates, so nobody waits.
func newWorld6(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.host.Keep("table ip6 taproom")
	w.host.Shell(`echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
		ip addr add fd00:a::1/64 dev virbr0 nodad; ip addr add fd00:b::1/64 dev virbr1 nodad; ip addr add 2001:db8::1/64 dev up0 nodad`)
	guest := func(ns *hosttest.NS, address, gateway string) {
		ns.Shell(fmt.Sprintf("ip addr add %s/64 dev eth0 nodad; ip route add default via %s", address, gateway))
	}
	guest(w.a, guestA6, "fd00:a::1")
	guest(w.a2, "fd00:a::11", "fd00:a::1")
	guest(w.b, guestB6, "fd00:b::1")
	w.away.Run("ip", "addr", "add", away6+"/64", "dev", "eth0", "nodad")
	w.away.Run("ip", "route", "add", "fd00::/16", "via", hostAway6)
	return w
}

func TestTrafficOfTwoNetworksByIPv6(t *testing.T) {
	t.Parallel()
	w := newWorld6(t)
	for _, s := range []struct {
		ns      *hosttest.NS
		address string
	}{{w.a, guestA6}, {w.a2, "fd00:a::11"}, {w.b, guestB6}, {w.away, away6}, {w.host, "fd00:a::1"}} {
		w.serve(s.ns, s.address)
	}
	a, b := routed("virbr0", "fd00:a::", 64), routed("virbr1", "fd00:b::", 64)
	apply(t, w.f, append(a, b...), nil)
	w.reaches("guest to outside", w.a, away6, guestA6, false)
	w.reaches("outside to guest", w.away, guestA6, away6, false)
	w.reaches("guest to guest on a bridge", w.a, "fd00:a::11", guestA6, false)
	w.reaches("guest to host", w.a, "fd00:a::1", guestA6, false)
	apply(t, w.f, nil, b[1:3]) // isolated: in no set that leads out
	w.refused("guest to guest of an isolated network", w.a, guestB6)
	w.refused("isolated guest to guest", w.b, guestA6)
	w.refused("outside to isolated guest", w.away, guestB6)

	// Masquerading instead of being reached.
	apply(t, w.f, []element{{Set: "ip6/nat64", Key: "fd00:a::"}}, []element{{Set: "ip6/in64", Key: "virbr0 . fd00:a::"}})
	w.reaches("masqueraded guest to outside", w.a, away6, hostAway6, true)
	w.refused("outside to masqueraded guest", w.away, guestA6)

	// A guest that borrows an address of elsewhere is not let out.
	w.a.Run("ip", "addr", "add", "fd00:9::9/128", "dev", "eth0", "nodad")
	if out, err := w.a.Try("ping", "-I", "fd00:9::9", "-c1", "-W1", away6); err == nil {
		t.Errorf("a borrowed address was let out:\n%s", out)
	}
	apply(t, w.f, nil, append(append(a, b...), element{Set: "ip6/nat64", Key: "fd00:a::"}))
}
