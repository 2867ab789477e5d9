package lan_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/lan"
)

// rich is a host with all that a NIC can have on it; the router at its other end is in a namespace of its own.
const rich = `
echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad
ip link add eth0 address 02:00:5e:00:00:01 type veth peer name far
ip link set dev far up
ip link set dev eth0 mtu 1400 up
echo 2 > /proc/sys/net/ipv6/conf/eth0/accept_ra
echo 2 > /proc/sys/net/ipv4/conf/eth0/arp_announce
for l in eth0 far; do until ip -o link show dev $l | grep -q "state UP"; do sleep 0.01; done; done
while ip -6 address show dev eth0 | grep -q tentative; do sleep 0.01; done
ip address add 192.0.2.10/24 broadcast 192.0.2.255 dev eth0 valid_lft 4000 preferred_lft 3000
ip address add 192.0.2.11/24 dev eth0 label eth0:1
ip address add 198.51.100.1/25 dev eth0 metric 77
ip address add 203.0.113.1/24 dev eth0 noprefixroute
ip address add 10.9.0.1 peer 10.9.0.2/32 dev eth0
ip address add 2001:db8::10/64 dev eth0 nodad
ip address add 2001:db8:1::10/64 dev eth0 mngtmpaddr noprefixroute nodad valid_lft 5000 preferred_lft 4000
ip route add 203.0.113.0/24 dev eth0 proto kernel scope link src 203.0.113.1 metric 100
ip route add default via 192.0.2.1 dev eth0 proto dhcp src 192.0.2.10 metric 50 mtu 1300
ip route add default via 192.0.2.2 dev eth0 metric 60
ip route add 172.16.0.0/12 via 192.0.2.9 dev eth0 table 99 onlink
ip route add 172.31.0.0/16 nexthop via 192.0.2.3 dev eth0 weight 2 nexthop via 192.0.2.4 dev eth0
ip route add 198.18.0.0/15 via inet6 fe80::2 dev eth0
ip -6 route add default via fe80::1 dev eth0 proto ra metric 512 expires 1700 pref high
ip -6 route add 2001:db8:5::/48 via 2001:db8::1 dev eth0
ip rule add from all iif eth0 lookup 99 priority 1000
ip rule add from 10.0.0.0/8 oif eth0 lookup 98 priority 1001
ip -6 rule add from all iif eth0 lookup 99 priority 1002
ip neighbour add 192.0.2.1 lladdr 02:00:5e:00:00:99 nud stale dev eth0
ip neighbour add 192.0.2.7 lladdr 02:00:5e:00:00:97 nud permanent dev eth0
`

// dump is all of that as ip shows it, once the kernel has looked at the link-local addresses that it makes.
const dump = `
while ip -6 address | grep -q tentative; do sleep 0.01; done
for l in eth0 br0; do ip -o link show dev $l 2>/dev/null | grep -o 'mtu.*' | sed 's/qlen.*//; s/\\.*link.ether/ether/'; ip -o address show dev $l 2>/dev/null | sed 's/^[0-9]*: //'; done
ip route show table all | grep -v 'table local' | sort
ip -6 route show table all | grep -v 'table local' | sort
ip rule; ip -6 rule
ip neighbour | sort
for l in eth0 br0; do for s in ipv4/conf/$l/arp_announce ipv6/conf/$l/accept_ra ipv6/conf/$l/accept_dad ipv6/conf/$l/disable_ipv6; do test ! -e /proc/sys/net/$s || echo $s $(cat /proc/sys/net/$s); done; done
`

func look(t *testing.T, k *host.Kernel) *lan.Seen {
	t.Helper()
	s, err := lan.Look(k, "eth0", "br0")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shown is the dump, without what counts down.
func shown(ns *hosttest.NS) string {
	var out []string
	for line := range strings.Lines(ns.Shell(dump)) {
		fields := strings.Fields(line)
		for i := range fields {
			if i > 0 && (fields[i-1] == "expires" || fields[i-1] == "valid_lft" || fields[i-1] == "preferred_lft") && fields[i] != "forever" {
				fields[i] = "N"
			}
		}
		out = append(out, strings.Join(fields, " "))
	}
	return strings.Join(out, "\n")
}

// newHost makes a namespace with a NIC.
func newHost(t *testing.T, script string) (*hosttest.NS, *host.Kernel) {
	t.Helper()
	ns := hosttest.NewNS(t)
	ns.Keep("link eth0*", "link far", "link br0", "link macvtap0")
	ns.Shell(script)
	return ns, ns.Kernel()
}

func move(ctx context.Context, t *testing.T, k *host.Kernel, want lan.Layout) {
	t.Helper()
	s := look(t, k)
	if _, err := lan.Apply(ctx, k, s, lan.Plan(s, want), false); err != nil {
		t.Fatal(err)
	}
	if again := lan.Plan(look(t, k), want); len(again) > 0 {
		t.Errorf("a second time it would still run:\n%s", again)
	}
}

func TestABridgeGetsAllThatANICHasAndGivesItBack(t *testing.T) {
	t.Parallel()
	ns, k := newHost(t, rich)
	before, is := shown(ns), lan.Current(look(t, k), "br0")
	move(t.Context(), t, k, is.WithBridge())
	bridged := shown(ns)
	want := strings.NewReplacer("eth0", "br0").Replace(before)
	if d := cmp.Diff(onIP(want), onIP(bridged)); d != "" {
		t.Errorf("the bridge has not what the NIC had (-want +got):\n%s", d)
	}
	for _, line := range strings.Split(bridged, "\n") {
		if strings.HasPrefix(line, "eth0 ") || strings.Contains(line, "dev eth0") || strings.Contains(line, "if eth0") {
			t.Errorf("the NIC still has %s", line)
		}
	}
	move(t.Context(), t, k, is)
	if d := cmp.Diff(before, shown(ns)); d != "" {
		t.Errorf("it is not as before (-before +after):\n%s", d)
	}
}

func TestALeaseThatIsProlongedMeanwhileStaysSo(t *testing.T) {
	t.Parallel()
	ns, k := newHost(t, rich)
	is := lan.Current(look(t, k), "br0")
	move(t.Context(), t, k, is.WithBridge())
	ns.Shell("ip address change 192.0.2.10/24 dev br0 valid_lft 80000 preferred_lft 70000")
	move(t.Context(), t, k, is)
	if got := ns.Shell("ip -o -4 address show dev eth0"); !regexp.MustCompile(`192\.0\.2\.10/24.* valid_lft (80000|79\d{3})sec preferred_lft (70000|69\d{3})sec`).MatchString(got) {
		t.Errorf("the NIC has\n%s", got)
	}
}

// onIP are the lines that say what somebody who talks IP has.
func onIP(s string) []string {
	var out []string
	for _, line := range strings.Split(s, "\n") {
		if !strings.HasPrefix(line, "mtu") && !strings.Contains(line, "conf/eth0/") {
			out = append(out, line)
		}
	}
	return out
}
