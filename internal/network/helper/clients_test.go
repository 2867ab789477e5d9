package helper_test

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv6"
)

// silence drops what a guest's kernel sends to one address's DHCP port, so that only broadcasts get through.
func (g *guest) silence(a string) {
	g.s.t.Helper()
	g.ns.Run("nft", "add table ip deaf; add chain ip deaf out { type filter hook output priority 0; }; add rule ip deaf out ip daddr "+a+" udp dport 67 drop")
	g.ns.Keep("table ip deaf")
}

func TestDhclientRebindsWhereUnicastIsLost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := seven()
	n.DHCP4.LeaseSeconds = 20
	s.serve(n)
	g := s.guest("virbr7", "52:54:00:00:00:01")
	g.silence("10.7.0.1")
	const config = "10.7.0.10 255.255.255.0 10.7.0.1 10.7.0.1 example.test"
	g.write("config", "initial-interval 1; backoff-cutoff 1;")
	g.dhclient("-cf", filepath.Join(g.dir, "config"))
	g.want("BOUND "+config, "RENEW "+config) // its word for both; what it sends to the server's address gets nowhere
	s.wantEvents("add 10.7.0.10", "old 10.7.0.10")
}

// TestAnAddressThatItsClientFindsInUseIsDeclinedAndAnotherGiven has a guest that hides from the server alone.
func TestAnAddressThatItsClientFindsInUseIsDeclinedAndAnotherGiven(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]func(g *guest){
		"udhcpc": func(g *guest) {
			g.udhcpc("-a200", "-A", "1")
			g.want("deconfig", "bound 10.7.0.11")
		},
		"dhclient": func(g *guest) {
			g.write("dhclient-script", `case $reason in BOUND)
			busybox arping -D -q -c 1 -w 2 -I $interface $new_ip_address || exit 1
			echo "$reason $new_ip_address" >`+g.fifo()+`;; esac`)
			g.dhclient()
			g.want("BOUND 10.7.0.11")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			n := seven()
			n.DHCP4.Ranges[0].End = netip.MustParseAddr("10.7.0.11")
			s.serve(n)
			l, err := s.o.Kernel.LinkByName(n.Bridge)
			if err != nil {
				t.Fatal(err)
			}
			static := s.guest("virbr7", "52:54:00:00:00:05")
			static.ns.Keep("table arp hidden")
			static.ns.Run("nft", "add table arp hidden; add chain arp hidden in { type filter hook input priority 0; }; add rule arp hidden in arp saddr ether "+l.MAC+" drop")
			static.ns.Run("ip", "addr", "add", "10.7.0.10/24", "dev", "eth0")
			client(s.guest("virbr7", "52:54:00:00:00:01"))
			s.wantEvents("add 10.7.0.10", "del 10.7.0.10", "add 10.7.0.11")
			st, err := s.h.Stats(s.ctx, n.UUID)
			if err != nil || st.Leases != 1 {
				t.Errorf("counted %+v, %v", st, err)
			}
		})
	}
}

// dhclient6 runs dhclient for DHCPv6. Its script looks whether the address is used on the link, as distributions' do.
func (g *guest) dhclient6(more ...string) (stop func()) {
	g.s.t.Helper()
	g.write("dhclient6-script", `case $reason in
BOUND6|RENEW6|REBIND6)
	ip -6 addr replace $new_ip6_address/128 dev $interface
	if [ "$(cat /proc/sys/net/ipv6/conf/$interface/accept_dad)" != 0 ]; then
		while ip -6 addr show dev $interface to $new_ip6_address tentative | grep -v dadfailed | grep -q inet6; do :; done
		if ip -6 addr show dev $interface to $new_ip6_address dadfailed | grep -q inet6; then
			ip -6 addr del $new_ip6_address/128 dev $interface
			exit 3
		fi
	fi;;
EXPIRE6|RELEASE6|STOP6) [ -z "$old_ip6_address" ] || ip -6 addr del $old_ip6_address/128 dev $interface;;
esac
case $reason in PREINIT6|MEDIUM) ;; *) echo "$reason ${new_ip6_address:-$old_ip6_address}" >`+g.fifo()+`;; esac`)
	g.shows("fe80::", "ip", "-6", "addr", "show", "dev", "eth0", "-tentative") // without which it ends
	_, stop = g.start("dhclient", append([]string{
		"-6", "-d", "-q", "-lf", g.dir + "/leases6", "-pf", g.dir + "/pid6", "-cf", "/dev/null", "-sf", g.dir + "/dhclient6-script",
	}, append(more, "eth0")...)...)
	return stop
}

// bound6 is the address that dhclient says first.
func (g *guest) bound6() string {
	g.s.t.Helper()
	first := g.hear()
	address, ok := strings.CutPrefix(first, "BOUND6 ")
	if !ok {
		g.s.t.Fatalf("the client said %q", first)
	}
	return address
}

func TestDhclientOverIPv6RenewsRebootsAndReleases(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := dual()
	n.DHCP6.Ranges[0].LeaseSeconds = 8
	s.serveDual(n)
	g := s.guest6(n.Bridge, "52:54:00:09:00:09")
	stop := g.dhclient6()
	address := g.bound6()
	g.want("RENEW6 " + address)
	s.wantEvents("add "+address, "old "+address)
	stop()
	stop = g.dhclient6() // it knows what it had
	g.want("BOUND6 " + address)
	stop()
	g.dhclient6("-r")
	g.want("RELEASE6 " + address)
	for e := s.event(); e != "del "+address; e = s.event() {
		if e != "old "+address {
			t.Fatalf("event %q", e)
		}
	}
}

// TestDhclientOverIPv6RebindsWithAnotherServer has the server change who it is: with the old one nobody renews.
func TestDhclientOverIPv6RebindsWithAnotherServer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := dual()
	n.DHCP6.Ranges[0].LeaseSeconds = 26 // dhclient looks every ten seconds whether it is time to rebind
	index := s.serveDual(n)
	g := s.guest6(n.Bridge, "52:54:00:09:00:0d")
	g.dhclient6()
	address := g.bound6()
	n.DHCP6.DUID = append([]byte{}, n.DHCP6.DUID...)
	n.DHCP6.DUID[17] = 7
	s.set(n, index)
	g.want("REBIND6 " + address)
	s.wantEvents("add "+address, "old "+address)
}

func TestAnIPv6AddressThatIsInUseIsDeclinedAndAnotherGiven(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := dual()
	n.RA = nil // addresses that the guest makes itself are no matter here
	n.DHCP6.Ranges[0].End = netip.MustParseAddr("fd00:9::1001")
	s.serveDual(n)
	card := card{s.guest(n.Bridge, "52:54:00:09:00:0b").wire(), number(1)}
	taken := card.join6(n.DHCP6.DUID)
	used := taken.Prev() // the only other
	if used.As16()[15] != 0 {
		used = taken.Next()
	}
	static := s.guest6(n.Bridge, "52:54:00:09:00:0c")
	static.ns.Run("ip", "addr", "add", used.String()+"/64", "dev", "eth0", "nodad")
	g := s.guest6(n.Bridge, "52:54:00:09:00:0a")
	g.ns.Shell("echo 1 >/proc/sys/net/ipv6/conf/all/accept_dad; echo 1 >/proc/sys/net/ipv6/conf/eth0/accept_dad")
	g.dhclient6()
	s.wantEvents("add "+taken.String(), "add "+used.String(), "del "+used.String())
	card.ask6(dhcpv6.MessageTypeRelease, n.DHCP6.DUID, ia(taken))
	g.want("BOUND6 " + taken.String())
	s.wantEvents("del "+taken.String(), "add "+taken.String())
}
