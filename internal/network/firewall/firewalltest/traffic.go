package firewalltest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/firewall"
)

// RunTraffic sends packets between a host, the guests of two networks, and an outside that knows the way in, for each forward
// mode of the two and each family. open returns a Host with a namespace and no rules.
func RunTraffic(t *testing.T, open func(t testing.TB) *Host) {
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, open(t), f)
			b := w.host.Open(t, Table)
			w.counts(b)
			var have []element
			for i, c := range []struct{ a, b string }{
				{"nat", "nat"}, {"isolated", "nat"}, {"route", "isolated"}, {"nat", "route"}, {"open", "nat"},
			} {
				if c.a == "open" && w.host.Strict {
					continue
				}
				want := slices.Concat(Elements(c.a, bridgeA, f.netA), Elements(c.b, bridgeB, f.netB))
				apply(t, b, minus(want, have), minus(have, want))
				have = want
				w.what = fmt.Sprintf("network %s beside network %s: ", c.a, c.b)
				w.passes(c.a, c.b, i == 0)
			}
			apply(t, b, nil, have)
			w.oneWayOut(b)
			w.othersPorts(b)
			w.othersAddresses(b)
			w.forwards(b)
			if w.host.Strict {
				return
			}
			w.what = "without rules: "
			w.reaches("guest to outside", w.a, f.away, f.guestA, false)
		})
	}
}

// oneWayOut checks networks whose guests get out by one link alone.
func (w *world) oneWayOut(b firewall.Backend) {
	w.t.Helper()
	w.what = "one way out: "
	f := w.f
	routed, natted := Elements("route", bridgeA, f.netA), ByDev("nat", bridgeB, f.netB, "up0")
	apply(w.t, b, slices.Concat(routed, natted), nil)
	w.reaches("routed guest to outside", w.a, f.away, f.guestA, false)
	w.reaches("outside to routed guest", w.away, f.guestA, f.away, false)
	w.reaches("guest to outside by its link", w.b, f.away, f.hostAway, true)
	w.refused("outside to guest behind NAT", w.away, f.guestB, "")
	w.refused("guest to the routed one, which is not that way", w.b, f.guestA, "")
	elsewhere := ByDev("nat", bridgeB, f.netB, "up1")
	routedBy := ByDev("route", bridgeA, f.netA, "up0")
	apply(w.t, b, slices.Concat(elsewhere, routedBy), slices.Concat(minus(natted, elsewhere), minus(routed, routedBy)))
	w.refused("guest whose link is another one", w.b, f.away, "")
	w.reaches("routed guest to outside by its link", w.a, f.away, f.guestA, false)
	w.reaches("outside to routed guest by its link", w.away, f.guestA, f.away, false)
	apply(w.t, b, nil, slices.Concat(elsewhere, routedBy))
}

// counts checks that a datagram to the outside and its answer are counted for the network of the guest, and for no other;
// and that what was counted is forgotten when the network goes.
func (w *world) counts(b firewall.Backend) {
	w.t.Helper()
	f := w.f
	all := slices.Concat(Elements("nat", bridgeA, f.netA), Elements("nat", bridgeB, f.netB))
	for range 2 {
		apply(w.t, b, all, nil)
		if got := w.traffic(b); len(got) != 0 {
			w.t.Errorf("without a packet %v was counted", got)
		}
		seen, err := w.ask(w.a, "udp", f.away, "")
		if err != nil {
			w.t.Fatal(err)
		}
		header := uint64(20 + 8)
		if f.name == "IPv6" {
			header = 40 + 8
		}
		want := map[string]firewall.Traffic{bridgeA: {SentPackets: 1, SentBytes: header + 1, ReceivedPackets: 1, ReceivedBytes: header + uint64(len(seen))}}
		if got := w.traffic(b); !maps.Equal(got, want) {
			w.t.Errorf("counted %+v; want %+v", got, want)
		}
		apply(w.t, b, nil, Elements("nat", bridgeA, f.netA))
	}
	apply(w.t, b, nil, all)
}

// traffic is what was counted by now.
func (w *world) traffic(b firewall.Backend) map[string]firewall.Traffic {
	w.t.Helper()
	got, err := firewall.TrafficOf(w.t.Context(), b)
	if err != nil {
		w.t.Error(err)
	}
	return got
}

// othersPorts checks networks that name the ports their guests get.
func (w *world) othersPorts(b firewall.Backend) {
	w.t.Helper()
	w.what = "ports: "
	f := w.f
	own := SeenAs(bridgeA, f.netA, "", "", 40000, 40099)
	have := slices.Concat(own, Elements("nat", bridgeB, f.netB))
	apply(w.t, b, have, nil)
	w.looksLike("guest to outside", w.a, f.hostAway, f.hostAway, 40000, 40099)
	w.reaches("guest of the network beside it", w.b, f.away, f.hostAway, true)
	w.multicasts()
	other := SeenAs(bridgeA, f.netA, "", "", 50000, 50000)
	apply(w.t, b, minus(other, own), minus(own, other))
	w.looksLike("guest after a change", w.a, f.hostAway, f.hostAway, 50000, 50000)
	apply(w.t, b, nil, slices.Concat(have, other))
}

// othersAddresses checks networks that name the addresses their guests get.
func (w *world) othersAddresses(b firewall.Backend) {
	w.t.Helper()
	if w.f.name == "IPv6" {
		return
	}
	w.what = "addresses: "
	f := w.f
	w.away.Shell("for n in 11 12 21; do ip route add 192.0.2.$n/32 via " + f.hostAway + "; done")
	own := SeenAs(bridgeA, f.netA, "192.0.2.11", "192.0.2.12", 40000, 40099)
	have := slices.Concat(own, Elements("nat", bridgeB, f.netB))
	apply(w.t, b, have, nil)
	w.looksLike("guest to outside", w.a, "192.0.2.11", "192.0.2.12", 40000, 40099)
	w.reaches("guest of the network beside it", w.b, f.away, f.hostAway, true)
	w.reaches("guest to guest of its network", w.a, f.guestA2, f.guestA, false)
	w.reaches("guest to host", w.a, f.hostA, f.guestA, false)
	w.refused("outside to guest", w.away, f.guestA, "")
	w.multicasts()
	other := SeenAs(bridgeA, f.netA, "192.0.2.21", "192.0.2.21", 1024, 65535)
	apply(w.t, b, minus(other, own), minus(own, other))
	w.looksLike("guest after a change", w.a, "192.0.2.21", "192.0.2.21", 1024, 65535)
	apply(w.t, b, nil, slices.Concat(have, other))
}

// leaves reports whether guests of a network get out, and enters whether others get to them.
func leaves(mode string) bool { return mode != "isolated" }
func enters(mode string) bool { return mode == "route" || mode == "open" }

// passes checks who reaches whom, and as whom. Multicasts are sent where addresses are rewritten.
func (w *world) passes(a, b string, multicast bool) {
	f := w.f
	seenAway, seenB, seenA := f.guestA, f.guestA, f.guestB
	if a == "nat" {
		seenAway, seenB = f.hostAway, f.hostB
	}
	if b == "nat" {
		seenA = f.hostA
	}
	w.expect(leaves(a), "guest to outside", w.a, f.away, seenAway, a == "nat")
	w.expect(enters(a), "outside to guest", w.away, f.guestA, f.away, false)
	w.expect(leaves(a) && enters(b), "guest to guest of the other network", w.a, f.guestB, seenB, a == "nat")
	w.expect(leaves(b) && enters(a), "guest of the other network to guest", w.b, f.guestA, seenA, b == "nat")
	w.reaches("guest to guest of its network", w.a, f.guestA2, f.guestA, false)
	w.reaches("guest to host", w.a, f.hostA, f.guestA, false)
	w.reaches("host to guest", w.host.NS, f.guestA, f.hostA, false)
	if a != "open" { // no rule is made for the guests of such a network
		w.refused("guest that borrows an address to outside", w.a, f.away, f.borrowed)
	}
	if multicast {
		w.multicasts()
	}
}

func (w *world) expect(reached bool, what string, from *hosttest.NS, to, seenAs string, masqueraded bool) {
	w.t.Helper()
	if reached {
		w.reaches(what, from, to, seenAs, masqueraded)
	} else {
		w.refused(what, from, to, "")
	}
}

// family is the addresses of one.
type family struct {
	name                             string
	netA, netB                       string
	hostA, guestA, guestA2           string
	hostB, guestB                    string
	hostAway, away, borrowed, groups string // groups are multicast groups, and broadcast, that never leave a link
	bits, host                       int    // of prefixes: of networks, and of one address
}

func families() []family {
	return []family{
		{
			name: "IPv4", netA: "10.1.0.0/24", netB: "10.2.0.0/24", hostA: "10.1.0.1", guestA: "10.1.0.10", guestA2: "10.1.0.11", hostB: "10.2.0.1", guestB: "10.2.0.10",
			hostAway: "192.0.2.1", away: "192.0.2.2", borrowed: "10.9.0.9", groups: "224.0.0.251 255.255.255.255", bits: 24, host: 32,
		},
		{
			name: "IPv6", netA: "fd00:a::/64", netB: "fd00:b::/64", hostA: "fd00:a::1", guestA: "fd00:a::10", guestA2: "fd00:a::11", hostB: "fd00:b::1", guestB: "fd00:b::10",
			hostAway: "2001:db8::1", away: "2001:db8::2", borrowed: "fd00:9::9", groups: "ff02::fb", bits: 64, host: 128,
		},
	}
}

const bridgeA, bridgeB = "virbr0", "virbr1"

// world is a host with two bridges, two guests on the first and one on the second, and an outside.
type world struct {
	t              *testing.T
	f              family
	host           *Host
	a, a2, b, away *hosttest.NS
	what           string
	port           int // the low port used last: a new one each time, so that no connection is taken for an old one
}

func newWorld(t *testing.T, h *Host, f family) *world {
	t.Helper()
	w := &world{t: t, f: f, host: h, a: hosttest.NewNS(t), a2: hosttest.NewNS(t), b: hosttest.NewNS(t), away: hosttest.NewNS(t)}
	ns := h.NS
	ns.Keep("link virbr*")
	// Nobody probes for duplicate addresses, and no answer is held back, so nobody waits.
	ns.Shell(strings.NewReplacer("BITS", fmt.Sprint(f.bits), "HOSTA", f.hostA, "HOSTB", f.hostB, "HOSTAWAY", f.hostAway).Replace(`
		for s in net/ipv4/ip_forward=1 net/ipv6/conf/all/forwarding=1 net/ipv4/icmp_ratelimit=0 net/ipv6/icmp/ratelimit=0; do echo ${s#*=} > /proc/sys/${s%=*}; done
		ip link add virbr0 type bridge; ip addr add HOSTA/BITS dev virbr0` + nodad(f) + `; ip link set virbr0 up
		ip link add virbr1 type bridge; ip addr add HOSTB/BITS dev virbr1` + nodad(f) + `; ip link set virbr1 up`))
	join := func(ns *hosttest.NS, port, bridge, address, gateway string) {
		hosttest.Veth(h.NS, port, ns, "eth0")
		if bridge != "" {
			h.NS.Run("ip", "link", "set", port, "master", bridge)
		} else {
			h.NS.Shell(fmt.Sprintf("ip addr add %s/%d dev %s%s", gateway, f.bits, port, nodad(f)))
		}
		ns.Shell(fmt.Sprintf("ip addr add %s/%d dev eth0%s; ip route add default via %s", address, f.bits, nodad(f), gateway))
	}
	join(w.a, "vnet0", bridgeA, f.guestA, f.hostA)
	join(w.a2, "vnet1", bridgeA, f.guestA2, f.hostA)
	join(w.b, "vnet2", bridgeB, f.guestB, f.hostB)
	join(w.away, "up0", "", f.away, f.hostAway)
	// Answers to the borrowed address would find their way, so that it is the rules that stop it.
	w.a.Shell(fmt.Sprintf("ip addr add %s/%d dev eth0%s preferred_lft 0", f.borrowed, f.host, nodad(f))) // used by whoever asks for it
	ns.Shell(fmt.Sprintf("ip route add %s/%d via %s dev virbr0", f.borrowed, f.host, f.guestA))
	for _, s := range []struct {
		ns      *hosttest.NS
		address string
	}{{w.a, f.guestA}, {w.a2, f.guestA2}, {w.b, f.guestB}, {w.away, f.away}, {ns, f.hostA}} {
		w.serve(s.ns, s.address)
	}
	return w
}

func nodad(f family) string {
	if f.name == "IPv6" {
		return " nodad"
	}
	return ""
}
