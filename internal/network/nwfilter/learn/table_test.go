package learn

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv6"
)

// lab is a table with a clock that a test turns and a transcript of what came of each frame.
type lab struct {
	t   *testing.T
	tab Table
	now int64
	out []string
}

func newLab(t *testing.T, ports ...Port) *lab {
	t.Helper()
	l := &lab{t: t, now: 1000}
	for _, p := range ports {
		l.tab.Watch(p, nil, l.now)
	}
	return l
}

// nic is the nth NIC of a network.
func nic(n byte, mode Mode) Port {
	return Port{Name: fmt.Sprintf("vnet%d", n), Network: "br0", MAC: card(n), Mode: mode}
}

func (l *lab) hear(n byte, d Direction, frame []byte) {
	l.t.Helper()
	changed, err := l.tab.Frame(nic(n, Any).Name, d, frame, false, l.now)
	for _, c := range changed {
		l.out = append(l.out, c+": "+l.has(c))
	}
	if err != nil {
		l.out = append(l.out, "("+strings.TrimPrefix(err.Error(), "refused: ")+")")
	}
}

func (l *lab) guest(n byte, frame []byte) { l.t.Helper(); l.hear(n, FromGuest, frame) }
func (l *lab) wire(n byte, frame []byte)  { l.t.Helper(); l.hear(n, ToGuest, frame) }

// has are a NIC's addresses, and for how long.
func (l *lab) has(name string) string {
	var all []string
	for _, a := range l.tab.Addresses(name) {
		s := a.Addr.String() + " " + string(a.By)
		if a.Ends < math.MaxInt64 {
			s += fmt.Sprintf(" for %d", a.Ends-l.now)
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

func (l *lab) expire() {
	l.t.Helper()
	for _, c := range l.tab.Expire(l.now) {
		l.out = append(l.out, c+": "+l.has(c))
	}
}

func (l *lab) want(lines string) {
	l.t.Helper()
	want := strings.TrimSpace(strings.ReplaceAll(lines, "\t", ""))
	if diff := cmp.Diff(want, strings.Join(l.out, "\n")); diff != "" {
		l.t.Errorf("what was learned differs (-want +got):\n%s", diff)
	}
	l.out = nil
}

const (
	offer = dhcpv4.MessageTypeOffer
	ack   = dhcpv4.MessageTypeAck
	reply = dhcpv6.MessageTypeReply
)

func TestALeaseIsLearnedFromItsAcknowledgementAndEnds(t *testing.T) {
	t.Parallel()
	l := newLab(t, nic(1, DHCP))
	gw := ip("10.7.0.1")
	l.guest(1, tell4(card(1), dhcpv4.MessageTypeDiscover))
	l.wire(1, answer4(gw, card(1), offer, ip("10.7.0.10"), 60))
	l.wire(1, answer4(gw, card(1), ack, ip("10.7.0.10"), 60))
	l.now += 30
	l.wire(1, answer4(gw, card(1), ack, ip("10.7.0.10"), 60))
	l.wire(1, answer4(gw, card(2), ack, ip("10.7.0.11"), 60)) // heard by everybody
	l.guest(1, answer4(gw, card(1), ack, ip("10.7.0.12"), 60))
	l.now += 59
	l.expire()
	l.now++
	l.expire()
	l.wire(1, answer4(gw, card(1), ack, ip("10.7.0.10"), math.MaxUint32))
	l.want(`
		(nothing to say)
		(nothing to say)
		vnet1: 10.7.0.10 dhcp4 for 60
		vnet1: 10.7.0.10 dhcp4 for 60
		(nothing to say)
		(spoofed source)
		vnet1: nothing
		vnet1: 10.7.0.10 dhcp4`)
}

func TestWhatAGuestGivesBackGoes(t *testing.T) {
	t.Parallel()
	l := newLab(t, nic(1, DHCP), nic(2, DHCP))
	gw, gw6 := ip("10.7.0.1"), ip("fe80::1")
	l.wire(1, answer4(gw, card(1), ack, ip("10.7.0.10"), 60))
	l.wire(1, answer6(gw6, card(1), reply, 90, ip("fd00::10"), ip("fd00::11")))
	l.guest(2, release4(card(2), ip("10.7.0.10"))) // another's
	l.guest(2, release4(card(1), ip("10.7.0.10"))) // in another's name
	l.guest(1, release4(card(1), ip("10.7.0.10")))
	l.guest(1, release6(card(1), ip("fd00::10")))
	l.wire(1, answer6(gw6, card(1), reply, 0, ip("fd00::11")))
	l.want(`
		vnet1: 10.7.0.10 dhcp4 for 60
		vnet1: 10.7.0.10 dhcp4 for 60, fd00::10 dhcp6 for 90, fd00::11 dhcp6 for 90
		(spoofed source)
		vnet1: fd00::10 dhcp6 for 90, fd00::11 dhcp6 for 90
		vnet1: fd00::11 dhcp6 for 90
		vnet1: nothing`)
}

func TestOnlyNamedServersAreBelieved(t *testing.T) {
	t.Parallel()
	p := nic(1, Any)
	p.Trusted = []netip.Addr{ip("10.7.0.1"), ip("fe80::1")}
	l := newLab(t, p)
	prefix := prefixOf(netip.MustParsePrefix("fd00::/64"), ndAutonomous, 9000)
	for _, other := range []string{"10.7.0.66", "10.7.0.1"} {
		l.wire(1, answer4(ip(other), card(1), ack, ip("10.7.0.10"), 60))
	}
	for _, other := range []string{"fe80::66", "fe80::1"} {
		l.wire(1, answer6(ip(other), card(1), reply, 90, ip("fd00::10")))
		l.wire(1, routerSays(ip(other), prefix))
	}
	l.want(`
		(server not trusted)
		vnet1: 10.7.0.10 dhcp4 for 60
		(server not trusted)
		(server not trusted)
		vnet1: 10.7.0.10 dhcp4 for 60, fd00::10 dhcp6 for 90
		vnet1: 10.7.0.10 dhcp4 for 60, fd00::10 dhcp6 for 90, fd00::5054:ff:fe00:1 ra for 9000`)
}

func TestAGuestsOwnWordCountsInModeAnyAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t, nic(1, Any), nic(2, DHCP))
	for n := range byte(2) {
		n++
		l.guest(n, arp(card(n), ip(fmt.Sprintf("10.7.0.%d", n))))
		l.guest(n, unique(card(n), card(n).LinkLocal()))
		l.guest(n, solicit(card(n), ip(fmt.Sprintf("fd00::%d", n)), card(n)))
		l.guest(n, advertise(card(n), ip(fmt.Sprintf("fd00::1:%d", n)), card(n), ndHops))
	}
	l.want(`
		vnet1: 10.7.0.1 arp
		vnet1: 10.7.0.1 arp, fe80::5054:ff:fe00:1 nd
		vnet1: 10.7.0.1 arp, fd00::1 nd, fe80::5054:ff:fe00:1 nd
		vnet1: 10.7.0.1 arp, fd00::1 nd, fd00::1:1 nd, fe80::5054:ff:fe00:1 nd
		(not learned in this mode)
		(not learned in this mode)
		(not learned in this mode)
		(not learned in this mode)`)
}

func TestWhatCannotBeTheGuestsIsNotLearned(t *testing.T) {
	t.Parallel()
	p := nic(1, Any)
	p.Reserved = []netip.Addr{ip("10.7.0.1")}
	p.Within = []netip.Prefix{netip.MustParsePrefix("10.7.0.0/24"), netip.MustParsePrefix("fd00::/64")}
	l := newLab(t, p)
	l.guest(1, arp(card(2), ip("10.7.0.9"))) // in another's name
	l.guest(1, arp(card(1), ip("0.0.0.0")))  // a probe
	l.guest(1, arp(card(1), ip("10.7.0.1")))
	l.guest(1, arp(card(1), ip("10.8.0.1")))
	l.guest(1, arp(card(1), ip("224.0.0.1")))
	l.guest(1, arp(card(1), ip("127.0.0.1")))
	l.guest(1, solicit(card(1), ip("fd00::9"), card(2)))
	l.guest(1, advertise(card(1), ip("fd00::9"), card(1), 64)) // through a router
	l.guest(1, unique(card(1), ip("2001:db8::1")))
	l.guest(1, unique(card(1), ip("ff02::1")))
	l.wire(1, arp(card(2), ip("10.7.0.9"))) // what others say
	l.wire(1, answer4(ip("10.7.0.1"), card(1), ack, ip("10.7.0.1"), 60))
	l.want(`
		(spoofed source)
		(nothing to say)
		(reserved address)
		(outside the network)
		(no station's address)
		(no station's address)
		(spoofed source)
		(malformed)
		(outside the network)
		(no station's address)
		(protocol)
		(reserved address)`)
}

func TestAnAddressBelongsToWhoHadItFirst(t *testing.T) {
	t.Parallel()
	p3 := nic(3, Any)
	p3.Network = "br1"
	p4 := nic(4, Any)
	p4.Trusted = []netip.Addr{ip("10.7.0.1")}
	l := newLab(t, nic(1, Any), nic(2, Any), p3, p4)
	a := ip("10.7.0.10")
	l.guest(1, arp(card(1), a))
	l.guest(2, arp(card(2), a))
	l.guest(3, arp(card(3), a)) // of another network
	l.wire(2, answer4(ip("10.7.0.66"), card(2), ack, a, 60))
	l.now += idle - 1
	l.guest(1, arp(card(1), a)) // still there
	l.now += idle - 1
	l.guest(2, arp(card(2), a))
	l.now++
	l.guest(2, arp(card(2), a)) // the first has been silent for ten minutes
	l.wire(4, answer4(ip("10.7.0.1"), card(4), ack, a, 60))
	l.guest(2, arp(card(2), a))
	l.want(`
		vnet1: 10.7.0.10 arp
		(another NIC's address)
		vnet3: 10.7.0.10 arp
		(another NIC's address)
		(another NIC's address)
		vnet1: nothing
		vnet2: 10.7.0.10 arp
		vnet2: nothing
		vnet4: 10.7.0.10 dhcp4 for 60
		(another NIC's address)`)
}

func TestANICHasSixteenAddressesOfAFamily(t *testing.T) {
	t.Parallel()
	l := newLab(t, nic(1, Any))
	for i := range byte(perFamily) {
		l.guest(1, arp(card(1), netip.AddrFrom4([4]byte{10, 7, 0, i})))
		l.now++
	}
	l.out = nil
	l.guest(1, arp(card(1), ip("10.7.1.1")))
	l.guest(1, unique(card(1), ip("fd00::1"))) // the other family
	l.wire(1, answer4(ip("10.7.0.1"), card(1), ack, ip("10.7.1.2"), 60))
	if got := l.has("vnet1"); strings.Contains(got, "10.7.0.0 arp") || !strings.Contains(got, "10.7.1.2 dhcp4") {
		t.Errorf("a lease did not take the place of the address that was seen longest ago: %s", got)
	}
	l.now += idle
	l.guest(1, arp(card(1), ip("10.7.1.1")))
	if got := l.has("vnet1"); strings.Contains(got, "10.7.0.1 arp") || !strings.Contains(got, "10.7.1.1 arp") || len(l.tab.Addresses("vnet1")) != perFamily+1 {
		t.Errorf("an address did not take the place of an idle one: %s", got)
	}
	if l.out[0] != "(too many addresses)" {
		t.Errorf("one too many: %s", l.out[0])
	}
}

func TestARoutersPrefixMakesAnAddressForItsTime(t *testing.T) {
	t.Parallel()
	l := newLab(t, nic(1, Any), nic(2, DHCP))
	net := netip.MustParsePrefix("fd00:1::/64")
	says := func(seconds uint32) []byte { return routerSays(ip("fe80::1"), prefixOf(net, ndAutonomous, seconds)) }
	l.wire(1, says(86400))
	l.wire(2, says(86400))
	l.wire(1, routerSays(ip("fe80::1"), prefixOf(netip.MustParsePrefix("fd00:2::/64"), 0, 86400)))            // only on the link
	l.wire(1, routerSays(ip("fe80::1"), prefixOf(netip.MustParsePrefix("fd00:3::/80"), ndAutonomous, 86400))) // no room for a MAC
	l.wire(1, routerSays(ip("fd00:1::1"), prefixOf(net, ndAutonomous, 86400)))
	l.guest(1, routerSays(ip("fe80::1"), prefixOf(net, ndAutonomous, 86400)))
	l.now += 600
	l.wire(1, says(86400)) // no news
	l.now += 20000
	l.wire(1, says(86400))
	l.wire(1, says(0)) // not sooner than in two hours
	l.now += 100
	l.wire(1, says(60))
	l.now += twoHours - 100
	l.expire()
	l.want(`
		vnet1: fd00:1::5054:ff:fe00:1 ra for 86400
		(not learned in this mode)
		(nothing to say)
		(nothing to say)
		(malformed)
		(spoofed source)
		vnet1: fd00:1::5054:ff:fe00:1 ra for 86400
		vnet1: fd00:1::5054:ff:fe00:1 ra for 7200
		vnet1: nothing`)
}

func TestAServersWordReplacesTheGuests(t *testing.T) {
	t.Parallel()
	l := newLab(t, nic(1, Any))
	l.guest(1, arp(card(1), ip("10.7.0.10")))
	l.wire(1, answer4(ip("10.7.0.1"), card(1), ack, ip("10.7.0.10"), 60))
	l.guest(1, arp(card(1), ip("10.7.0.10")))
	l.now += 60
	l.expire()
	l.want(`
		vnet1: 10.7.0.10 arp
		vnet1: 10.7.0.10 dhcp4 for 60
		vnet1: nothing`)
}

func TestANICThatIsWatchedAnewKeepsWhatItsModeBelieves(t *testing.T) {
	t.Parallel()
	l := newLab(t, nic(1, Any), nic(2, Any))
	l.guest(1, arp(card(1), ip("10.7.0.10")))
	l.wire(1, answer4(ip("10.7.0.1"), card(1), ack, ip("10.7.0.11"), 60))
	l.out = nil
	l.tab.Watch(nic(1, DHCP), []Address{{ip("10.7.0.12"), ARP, math.MaxInt64}, {ip("fd00::1"), DHCP6, l.now}}, l.now)
	if got := l.has("vnet1"); got != "10.7.0.11 dhcp4 for 60" {
		t.Errorf("a stricter mode: %s", got)
	}
	l.guest(2, arp(card(2), ip("10.7.0.10"))) // nobody has it now
	p := nic(1, DHCP)
	p.MAC = card(7)
	l.tab.Watch(p, nil, l.now)
	if got := l.has("vnet1"); got != "nothing" {
		t.Errorf("another card: %s", got)
	}
	l.guest(2, arp(card(2), ip("10.7.0.11")))
	l.tab.Forget("vnet2")
	l.tab.Forget("vnet2")
	l.guest(2, arp(card(2), ip("10.7.0.11")))
	l.want(`
		vnet2: 10.7.0.10 arp
		vnet2: 10.7.0.10 arp, 10.7.0.11 arp
		(not watched)`)
	if len(l.tab.holders) != 0 {
		t.Errorf("left behind: %v", l.tab.holders)
	}
}
