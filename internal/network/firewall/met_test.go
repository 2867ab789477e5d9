package firewall_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalltest"
)

// A packet meets as many rules among a thousand networks as it does with one, and there are as many.
func TestAPacketMeetsTheSameRulesHoweverManyNetworksThereAre(t *testing.T) {
	t.Parallel()
	for _, f := range []struct {
		name         string
		family       nft.Family
		subnet, sub  string // of the n-th network
		bits         int
		uplink, away string
		outside      int
	}{
		{name: "IPv4", family: nft.IPv4, subnet: "10.%d.%d.0", sub: "10.%d.%d.", bits: 24, uplink: "192.0.2.1", away: "192.0.2.2", outside: 24},
		{name: "IPv6", family: nft.IPv6, subnet: "fd00:%x:%x::", sub: "fd00:%x:%x::", bits: 64, uplink: "2001:db8::1", away: "2001:db8::2", outside: 64},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			c := crossing{
				family: f.family, bits: f.bits, uplink: f.uplink, away: f.away, outside: f.outside,
				subnet: func(i int) string { return fmt.Sprintf(f.subnet, i>>8, i&0xff) },
				host:   func(i, n int) string { return fmt.Sprintf(f.sub, i>>8, i&0xff) + fmt.Sprint(n) },
			}
			one, rules := c.met(t, 1)
			many, rulesOfMany := c.met(t, 1000)
			t.Logf("it meets %d rules and policies: %q", len(one), one)
			if d := cmp.Diff(one, many); d != "" || len(one) < 4 {
				t.Errorf("with one network it meets %q, with 1,000 (-one +many):\n%s", one, d)
			}
			if d := cmp.Diff(rules, rulesOfMany); d != "" {
				t.Errorf("rules with one network and with 1,000 (-one +many):\n%s", d)
			}
		})
	}
}

// crossing is a host between a guest and the outside.
type crossing struct {
	family       nft.Family
	subnet       func(i int) string
	host         func(i, n int) string
	bits         int
	uplink, away string
	outside      int // bits
}

// met sends a packet from a guest of the last network to the outside. It returns what of our rules the packet meets on its way,
// as the kernel tells it, and the rules that there are.
func (c crossing) met(t *testing.T, networks int) (met, rules []string) {
	t.Helper()
	ns, guest, away := hosttest.NewNS(t), hosttest.NewNS(t), hosttest.NewNS(t)
	ns.Keep("link virbr0", "table *")
	conn, err := nft.Open(ns.Kernel())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var all []firewall.Element
	last := networks - 1
	for i := range networks {
		bridge := fmt.Sprintf("net%d", i)
		if i == last {
			bridge = "virbr0"
		}
		all = append(all, firewalltest.Elements("nat", bridge, fmt.Sprintf("%s/%d", c.subnet(i), c.bits))...)
	}
	if err := firewall.New(conn, firewall.DefaultTable).Apply(t.Context(), all, nil); err != nil {
		t.Fatal(err)
	}
	c.connect(ns, guest, away, last)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	tracer, err := nft.Trace(ctx, ns.Kernel(), "trace-test", "vnet0")
	if err != nil {
		t.Fatal(err)
	}
	defer tracer.Close()
	c.send(t, guest, away)
	layout, err := conn.Layout(ctx, c.family, firewall.DefaultTable)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range layout.Rules {
		rules = append(rules, fmt.Sprint(r))
	}
	return c.first(ctx, t, tracer), rules
}

// connect makes the links.
func (c crossing) connect(ns, guest, away *hosttest.NS, last int) {
	hosttest.Veth(ns, "vnet0", guest, "eth0")
	hosttest.Veth(ns, "up0", away, "eth0")
	nodad := ""
	if c.family == nft.IPv6 {
		nodad = " nodad"
	}
	ns.Shell(fmt.Sprintf(`echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
		ip link add virbr0 type bridge; ip addr add %s/%d dev virbr0%s; ip link set virbr0 up; ip link set vnet0 master virbr0
		ip addr add %s/%d dev up0%s`, c.host(last, 1), c.bits, nodad, c.uplink, c.outside, nodad))
	guest.Shell(fmt.Sprintf("ip addr add %s/%d dev eth0%s; ip route add default via %s", c.host(last, 2), c.bits, nodad, c.host(last, 1)))
	away.Shell(fmt.Sprintf("ip addr add %s/%d dev eth0%s", c.away, c.outside, nodad))
}

// send has two datagrams of two connections arrive, one after the other.
func (c crossing) send(t *testing.T, guest, away *hosttest.NS) {
	t.Helper()
	var in net.PacketConn
	var err error
	away.Do(func() { in, err = net.ListenPacket("udp", net.JoinHostPort(c.away, "7")) })
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for range 2 {
		var out net.Conn
		guest.Do(func() { out, err = net.Dial("udp", in.LocalAddr().String()) })
		if err == nil {
			_, err = out.Write([]byte("?"))
		}
		if err == nil {
			_ = in.SetReadDeadline(time.Now().Add(time.Minute))
			_, _, err = in.ReadFrom(make([]byte, 8))
		}
		if err == nil {
			err = out.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// first is what the first datagram met, until the second begins.
func (c crossing) first(ctx context.Context, t *testing.T, tracer *nft.Tracer) (met []string) {
	t.Helper()
	for datagrams := 0; ; {
		x, err := tracer.Next(ctx)
		if err != nil {
			t.Fatalf("%v after %q", err, met)
		}
		if !isDatagram(x.Header) {
			continue
		}
		if tracer.Began(x) {
			if x.Handle != 0 {
				datagrams++
			}
			if datagrams == 2 {
				return met
			}
			continue
		}
		if x.Family == c.family && x.Table == firewall.DefaultTable {
			met = append(met, x.Chain+" "+x.Verdict)
		}
	}
}

// isDatagram reports whether a network header is followed by UDP's.
func isDatagram(h []byte) bool {
	const udp = 17
	switch {
	case len(h) >= 20 && h[0]>>4 == 4:
		return h[9] == udp
	case len(h) >= 40 && h[0]>>4 == 6:
		return h[6] == udp
	}
	return false
}
