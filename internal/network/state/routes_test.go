package state

import (
	"net/netip"
	"strings"
	"testing"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func route(to, via string, metric uint32) host.StaticRoute {
	return host.StaticRoute{To: netip.MustParsePrefix(to), Via: netip.MustParseAddr(via), Metric: metric}
}

// routing is a bridge with two IPv4 subnets and one of IPv6, and routes by all of them.
func routing() State {
	return State{Bridges: map[string]Bridge{"virbr1": {
		Owner: "net-1", MAC: "52:54:00:00:00:01", Up: true, Static: true,
		LinkLocal: prefixes("fe80::5054:ff:fe00:1/64"), Addresses: prefixes("10.8.1.1/24", "10.9.1.1/24", "fd00:9::1/64"),
		Routes: []host.StaticRoute{route("192.168.1.0/24", "10.8.1.7", 0), route("192.168.2.0/24", "10.9.1.7", 0), route("192.168.2.0/24", "10.9.1.8", 20), route("fd00:7::/64", "fd00:9::7", 1024)},
	}}}
}

// shown is the routes of ours, as an administrator sees them.
func shown(ns *hosttest.NS) string {
	return strings.Join(strings.Fields(ns.Shell("ip route show proto 116; ip -6 route show proto 116")), " ")
}

const (
	viaEight = "192.168.1.0/24 via 10.8.1.7 dev virbr1 linkdown "
	viaNine  = "192.168.2.0/24 via 10.9.1.7 dev virbr1 linkdown 192.168.2.0/24 via 10.9.1.8 dev virbr1 metric 20 linkdown "
	viaSix   = "fd00:7::/64 via fd00:9::7 dev virbr1 metric 1024 linkdown pref medium"
)

func TestRoutesAreThereWithTheirBridge(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	e := newEnv(ns)
	step := func(what string, want State, shows string) {
		t.Helper()
		if err := settle(e, want); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got := shown(ns); got != strings.TrimSpace(shows) {
			t.Errorf("%s: there is\n%s\nwant\n%s", what, got, shows)
		}
	}
	all := routing()
	step("made", all, viaEight+viaNine+viaSix)
	ns.Shell("ip route delete 192.168.1.0/24; ip -6 route delete fd00:7::/64")
	step("deleted by somebody", all, viaEight+viaNine+viaSix)
	ns.Shell("ip link set virbr1 down")
	step("gone with a link that was down", all, viaEight+viaNine+viaSix)
	ns.Shell("ip address delete 10.9.1.1/24 dev virbr1; ip address delete 10.8.1.1/24 dev virbr1")
	step("gone with the addresses", all, viaEight+viaNine+viaSix)
	ns.Shell("ip route add 192.168.2.0/24 via 10.9.1.7 metric 30; ip route add 10.200.0.0/16 dev virbr1")
	step("beside those of others", all, viaEight+viaNine+viaSix)
	if got := ns.Shell("ip route show proto boot"); strings.Count(got, "\n") != 2 {
		t.Errorf("of the routes of others there are %s", got)
	}
	fewer := all.Clone()
	b := fewer.Bridges["virbr1"]
	b.Addresses, b.Routes = b.Addresses[1:], b.Routes[1:]
	fewer.Bridges["virbr1"] = b
	step("with an address less", fewer, viaNine+viaSix)
	other := all.Clone()
	b = other.Bridges["virbr1"]
	b.Addresses = prefixes("10.8.1.2/24", "10.9.1.2/24", "fd00:9::2/64")
	other.Bridges["virbr1"] = b
	step("with no address that there was", other, viaEight+viaNine+viaSix)
	b = all.Clone().Bridges["virbr1"]
	b.Routes = nil
	step("none", State{Bridges: map[string]Bridge{"virbr1": b}}, "")
	step("all again", all, viaEight+viaNine+viaSix)
	step("nothing", State{}, "")
}

// A route that somebody else has is not taken over.
func TestARouteOfSomebodyElseIsLeftAlone(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("link uplink")
	ns.Shell("ip link add uplink type bridge; ip address add 10.1.0.1/24 dev uplink; ip link set uplink up; ip route add 192.168.1.0/24 via 10.1.0.7")
	e := newEnv(ns)
	err := settle(e, routing())
	if err == nil || !strings.Contains(err.Error(), "the host has one to 192.168.1.0/24 already (ip route show 192.168.1.0/24)") {
		t.Errorf("%v", err)
	}
	if err := settle(e, State{}); err != nil {
		t.Error(err)
	}
	if got := ns.Shell("ip route show 192.168.1.0/24"); !strings.Contains(got, "via 10.1.0.7 dev uplink") {
		t.Errorf("his route is %s", got)
	}
}
