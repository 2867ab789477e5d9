package host_test

import (
	"net/netip"
	"testing"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func TestTheRouteThatMatchesIsTheOneOfItsTable(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	match := func(to string) (host.RouteMatch, bool) {
		t.Helper()
		m, found, err := k.MatchRoute(netip.MustParseAddr(to))
		if err != nil {
			t.Fatal(err)
		}
		return m, found
	}
	for _, to := range []string{"192.0.2.1", "2001:db8::1"} {
		if m, found := match(to); found {
			t.Errorf("to %s leads %+v, and there is no route", to, m)
		}
	}
	ns.Shell(`ip link add one up type veth peer name other; ip link set other up
		ip address add 192.0.2.1/24 dev one; ip address add 2001:db8::1/64 dev one nodad
		ip route add default via 192.0.2.254; ip -6 route add default via 2001:db8::fe
		ip route add 198.51.100.0/24 dev one; ip route add 198.51.100.128/25 dev one; ip -6 route add 2001:db8:1::/48 dev one
		ip route add unreachable 203.0.113.0/24
		ip route add default dev one table 77; ip rule add to 10.0.0.0/8 lookup 77`)
	defer ns.Shell(`ip rule delete to 10.0.0.0/8 lookup 77; ip link delete one; ip route delete unreachable 203.0.113.0/24`)
	for to, want := range map[string]host.RouteMatch{
		"192.0.2.1":         {To: netip.MustParsePrefix("192.0.2.1/32")},
		"192.0.2.9":         {To: netip.MustParsePrefix("192.0.2.0/24"), Main: true},
		"172.16.0.1":        {To: netip.MustParsePrefix("0.0.0.0/0"), Main: true},
		"198.51.100.1":      {To: netip.MustParsePrefix("198.51.100.0/24"), Main: true},
		"198.51.100.200":    {To: netip.MustParsePrefix("198.51.100.128/25"), Main: true},
		"10.1.2.3":          {To: netip.MustParsePrefix("0.0.0.0/0")},
		"2001:db8::1":       {To: netip.MustParsePrefix("2001:db8::1/128")},
		"2001:db8::9":       {To: netip.MustParsePrefix("2001:db8::/64"), Main: true},
		"2001:db8:1:2::9":   {To: netip.MustParsePrefix("2001:db8:1::/48"), Main: true},
		"fd00::1":           {To: netip.MustParsePrefix("::/0"), Main: true},
		"2001:db8:ffff::77": {To: netip.MustParsePrefix("::/0"), Main: true},
	} {
		m, found := match(to)
		if !found || m != want {
			t.Errorf("to %s leads %+v (%t), want %+v", to, m, found, want)
		}
	}
	if m, found, err := k.MatchRoute(netip.MustParseAddr("203.0.113.1")); err == nil {
		t.Errorf("what is unreachable matches %+v (%t)", m, found)
	}
}
