// Package firewalltest holds what every back end of the firewall must do: RunState compares what is there, as text, RunRequests
// what is left of requests that fail, together with the links that they are about, and RunTraffic what becomes of packets.
package firewalltest

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/firewall"
)

// Host is a place that has a firewall, and what a test does there behind the back end's back.
type Host struct {
	// NS is where packets pass; nil for a firewall in memory.
	NS *hosttest.NS
	// Open returns the back end of a daemon with that table, as it has it when it has just started.
	Open func(t testing.TB, table string) firewall.Backend
	// Text is every rule that is there, ours and others', without counters and handles; empty when there is none.
	Text func(t testing.TB) string
	// Foreign adds rules of somebody else.
	Foreign func(t testing.TB)
	// Damage are ways to hurt the rules of IPv4 of DefaultTable, by name.
	Damage map[string]Damage
	// Strict says that somebody else beside the back end drops what nobody asked him to let through: what becomes of the packets
	// of a network of mode open, which no rule is made for, is his business.
	Strict bool
	// FailAt makes the n-th change of rules from now on fail, after it has taken effect or instead; 0: none does.
	FailAt func(n int, after bool)
}

// Damage is one way to hurt the rules.
type Damage struct {
	Do    func(t testing.TB)
	Loses bool // also what says which elements there were
}

// Group is that of the links which RunRequests makes.
const Group = 0x7461

// The names of two daemons' tables.
const (
	Table = firewall.DefaultTable
	other = "taproom-0123abcd"
)

type element = firewall.Element

// Elements are what a network of a forward mode (nat, route, isolated, open) has in the firewall.
func Elements(mode, bridge, subnet string) []firewall.Element {
	p := netip.MustParsePrefix(subnet)
	family := ""
	if p.Addr().Is6() {
		family = "ip6/"
	}
	onBridge := bridge + " . " + p.Addr().String()
	is := func(set, key string) element { return element{Set: family + set, Key: key} }
	length := func(set, key string) element { return is(fmt.Sprintf("%s%d", set, p.Bits()), key) }
	joined := []element{is("bridges", bridge), is("same", bridge+" . "+bridge)}
	switch mode {
	case "nat":
		return append(joined, length("nat", p.Addr().String()), length("net", onBridge))
	case "route":
		return append(joined, length("in", onBridge), length("net", onBridge))
	case "isolated":
		return joined
	case "open":
		return nil
	}
	panic("no forward mode " + mode)
}

// ByDev are what a network of mode nat or route has that has one link as its way out.
func ByDev(mode, bridge, subnet, dev string) []firewall.Element {
	es := Elements(mode, bridge, subnet)
	for i, e := range es[2:] {
		family, set, ok := strings.Cut(e.Set, "/")
		if !ok {
			family, set = "", e.Set
		} else {
			family += "/"
		}
		es[2+i] = element{Set: family + "dev" + set, Key: e.Key + " . " + dev}
	}
	return es
}

// SeenAs are what a network of mode nat has whose guests look like these addresses to the outside, or with "" like the
// link's, and these ports.
func SeenAs(bridge, subnet, first, last string, low, high uint16) []firewall.Element {
	var to firewall.Addresses
	if first != "" {
		to = firewall.Addresses{First: netip.MustParseAddr(first), Last: netip.MustParseAddr(last)}
	}
	ports := firewall.Ports{First: low, Last: high}
	return append(Elements("nat", bridge, subnet), firewall.Sources(netip.MustParsePrefix(subnet), to, ports)...)
}

func apply(t testing.TB, b firewall.Backend, add, del []element) {
	t.Helper()
	if err := b.Apply(t.Context(), add, del); err != nil {
		t.Fatalf("apply +%v -%v: %v", add, del, err)
	}
}

func observed(t testing.TB, b firewall.Backend, want ...[]element) {
	t.Helper()
	got, err := b.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(want...)
	firewall.Sort(all)
	if d := cmp.Diff(all, got); d != "" {
		t.Errorf("elements (-want +got):\n%s", d)
	}
}

func same(t testing.TB, what, want, got string) {
	t.Helper()
	if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// Forwarded are what a port of the host that leads to a guest has in the firewall, at one address and at all, with its network.
func Forwarded(bridge, subnet, address, guest string) []firewall.Element {
	to := netip.AddrPortFrom(netip.MustParseAddr(guest), 80)
	at := netip.AddrPortFrom(netip.MustParseAddr(address), 8080)
	return slices.Concat(firewall.ForwardPort("tcp", at, bridge, to), firewall.ForwardPort("udp", netip.AddrPortFrom(netip.Addr{}, 8080), bridge, to),
		[]firewall.Element{firewall.Hairpin(bridge, netip.MustParsePrefix(subnet))})
}
