package engine

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"taproom/internal/host/hosttest"
	"taproom/internal/spec"
)

// A subnet that nothing leads to is found free without a look at every route, of which other networks have most.
func TestASubnetThatIsCertainlyFreeCostsNoLookAtEveryRoute(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	var calls []string
	k := ns.KernelWith(func(call string) { calls = append(calls, call) })
	defer k.Close()
	e := small(t)
	e.k = k
	doc, err := spec.ParseNetwork([]byte(`<network><name>lab</name><uuid>00000000-0000-4000-8000-000000000002</uuid><forward mode='nat'/><bridge name='virbr-lab'/>
		<ip address='192.0.2.1' prefix='24'/><ip family='ipv6' address='2001:db8::1' prefix='64'/></network>`))
	if err != nil {
		t.Fatal(err)
	}
	n := newNetwork(*doc.UUID, doc.Name, nil)
	ns.Shell("ip link add uplink up type veth peer name other; ip link set other up; ip address add 198.51.100.1/24 dev uplink; ip address add 2001:db8:1::1/64 dev uplink nodad")
	defer ns.Shell("ip link delete uplink")
	for _, c := range []struct {
		what, add, del string
		looks          bool
		refused        string
	}{
		{"nothing leads there", "true", "true", false, ""},
		{"the default routes do", "ip route add default via 198.51.100.9; ip -6 route add default via 2001:db8:1::9", "ip route del default; ip -6 route del default", false, ""},
		{"wider ones do", "ip route add 192.0.0.0/16 dev uplink; ip -6 route add 2001:db8::/48 dev uplink", "ip route del 192.0.0.0/16; ip -6 route del 2001:db8::/48", false, ""},
		{"narrower ones do", "ip route add 192.0.2.0/25 dev uplink; ip -6 route add 2001:db8::/80 dev uplink", "ip route del 192.0.2.0/25; ip -6 route del 2001:db8::/80", true, ""},
		{"a route that is the subnet's", "ip route add 192.0.2.0/24 dev uplink", "ip route del 192.0.2.0/24", true, "reaches 192.0.2.0/24 by link uplink already"},
		{"one of IPv6", "ip -6 route add 2001:db8::/64 dev uplink", "ip -6 route del 2001:db8::/64", true, "reaches 2001:db8::/64 by link uplink already"},
		{"one behind a narrower one", "ip route add 192.0.2.0/24 dev uplink; ip route add 192.0.2.0/25 dev uplink", "ip route del 192.0.2.0/24; ip route del 192.0.2.0/25", true, "reaches 192.0.2.0/24 by link uplink already"},
		{"one behind another table's", "ip route add 192.0.2.0/24 dev uplink; ip route add default dev uplink table 77; ip rule add lookup 77", "ip route del 192.0.2.0/24; ip rule del lookup 77", true, "reaches 192.0.2.0/24 by link uplink already"},
		{"one behind what is unreachable", "ip route add 192.0.2.0/24 dev uplink; ip route add unreachable 192.0.2.1", "ip route del 192.0.2.0/24; ip route del unreachable 192.0.2.1", true, "reaches 192.0.2.0/24 by link uplink already"},
		{"the address is the host's", "ip address add 192.0.2.1/16 dev uplink", "ip address del 192.0.2.1/16 dev uplink", true, "the host has the address 192.0.2.1 already"},
	} {
		ns.Shell(c.add)
		calls = nil
		err := e.subnetIsFree(n, doc)
		if looked := slices.Contains(calls, "route list"); looked != c.looks {
			t.Errorf("%s: every route is looked at: %t", c.what, looked)
		}
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %v, want %q", c.what, err, c.refused)
		}
		ns.Shell(c.del)
	}
}

// What a network comes to costs as much as it says itself, and next to nothing for each of the others.
func TestAThousandNetworksAreLookedThroughWithoutReadingTheirDocumentsAgain(t *testing.T) {
	t.Parallel()
	e := small(t)
	e.fabric = &fabric{}
	parse := func(i int) *spec.Network {
		doc, err := spec.ParseNetwork(fmt.Appendf(nil, `<network><name>n%[1]d</name><uuid>00000000-0000-4000-8000-%012[1]d</uuid><forward mode='nat'/>
			<ip address='10.%[2]d.%[3]d.1' prefix='24'/><ip family='ipv6' address='fd00:%[1]x::1' prefix='64'/></network>`, i, i>>8, i&255))
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	for i := range 1000 {
		doc := parse(i)
		n := newNetwork(*doc.UUID, doc.Name, nil)
		n.update(func(v *netView) { v.live = doc })
		e.networks.add(n)
	}
	doc := parse(1000)
	n, mine := newNetwork(*doc.UUID, doc.Name, nil), readSubnets(doc)
	theirs := netip.MustParseAddr("10.3.231.1")
	look := func() {
		release, err := e.claimBefore(n, mine)
		if err != nil || !e.ownAddress(theirs) || e.ownAddress(mine.at[0]) {
			t.Fatalf("claimed: %v; of 999: %t, of the one that comes: %t", err, e.ownAddress(theirs), e.ownAddress(mine.at[0]))
		}
		release()
	}
	look()
	read := map[*network]*subnetsOf{}
	for _, o := range e.networks.all() {
		read[o] = o.within.Load()
	}
	look()
	for o, once := range read {
		if once == nil || o.within.Load() != once {
			t.Fatalf("the subnets of network '%s' are read of its document at each look", o.label)
		}
	}
	last, _ := e.networks.named("n999")
	last.update(func(v *netView) { v.live = nil })
	if e.ownAddress(theirs) {
		t.Error("a network that went has its address")
	}
	last.update(func(v *netView) { v.live = doc })
	if _, err := e.claimBefore(n, mine); err == nil || !strings.Contains(err.Error(), "overlaps with 10.3.232.0/24 of network 'n999'") {
		t.Errorf("what another one was changed to: %v", err)
	}
}
