package arp

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

var (
	bridge = packet.MAC{0x52, 0x54, 0, 0, 0, 0xfe}
	alice  = packet.MAC{0x52, 0x54, 0, 0, 0, 1}
	bob    = packet.MAC{0x52, 0x54, 0, 0, 0, 2}
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// addrs returns 10.7.0.x.
func addrs(last ...int) []netip.Addr {
	var out []netip.Addr
	for _, n := range last {
		out = append(out, addr(fmt.Sprintf("10.7.%d.%d", n>>8, n&255)))
	}
	return out
}

func says(mac packet.MAC, a netip.Addr) *packet.ARP {
	return &packet.ARP{From: mac, To: bridge, Op: packet.ARPReply, SenderMAC: mac, Sender: a, OwnerMAC: bridge, Target: netip.IPv4Unspecified()}
}

// asked names the addresses that frames probe, and fails the test when they are no probes.
func asked(t *testing.T, frames [][]byte) string {
	t.Helper()
	var out []string
	for _, f := range frames {
		got, err := packet.ParseARP(f)
		if err != nil {
			t.Fatal(err)
		}
		want := &packet.ARP{
			From: bridge, To: packet.Broadcast(), Op: packet.ARPRequest, SenderMAC: bridge,
			Sender: netip.IPv4Unspecified(), Target: got.Target,
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		out = append(out, got.Target.String())
	}
	return strings.Join(out, " ")
}

// story runs a prober up to a moment and tells when it probed what.
func story(t *testing.T, p *Prober, until int64) string {
	t.Helper()
	var out []string
	for p.Next() <= until {
		now := p.Next()
		if early := p.Due(now - 1); now > 0 && len(early) > 0 {
			t.Fatalf("probes before they are due: %s", asked(t, early))
		}
		if what := asked(t, p.Due(now)); what != "" {
			out = append(out, fmt.Sprintf("%d: %s", now, what))
		}
	}
	return strings.Join(out, "\n")
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if want = strings.TrimSpace(strings.ReplaceAll(want, "\t", "")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAddressesToComeAreProbedAheadAndEverMoreRarely(t *testing.T) {
	t.Parallel()
	p := NewProber(bridge)
	if p.Next() != lease.Never || p.Due(0) != nil {
		t.Error("nothing is wanted, and something is due")
	}
	p.Want(addrs(10, 11), 100)
	if p.Checked(addr("10.7.0.10"), 100) || p.Blocked(addr("10.7.0.10"), alice, 100) {
		t.Error("something is known of what was not probed")
	}
	same(t, story(t, p, 3000), `100: 10.7.0.10 10.7.0.11
		101: 10.7.0.10 10.7.0.11
		162: 10.7.0.10 10.7.0.11
		163: 10.7.0.10 10.7.0.11
		284: 10.7.0.10 10.7.0.11
		285: 10.7.0.10 10.7.0.11
		526: 10.7.0.10 10.7.0.11
		527: 10.7.0.10 10.7.0.11
		1008: 10.7.0.10 10.7.0.11
		1009: 10.7.0.10 10.7.0.11
		1970: 10.7.0.10 10.7.0.11
		1971: 10.7.0.10 10.7.0.11
		2932: 10.7.0.10 10.7.0.11
		2933: 10.7.0.10 10.7.0.11`)
}

func TestAResultIsThereTwoSecondsAfterAnAddressIsWanted(t *testing.T) {
	t.Parallel()
	p := NewProber(bridge)
	p.Want(addrs(10), 100)
	var got []bool
	for now := int64(100); now < 104; now++ {
		p.Due(now)
		got = append(got, p.Checked(addr("10.7.0.10"), now))
	}
	if want := []bool{false, false, true, true}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	p.Want(addrs(11), 104) // the first one was offered
	if p.Checked(addr("10.7.0.10"), 104) {
		t.Error("an address that is not wanted any more is remembered")
	}
	same(t, story(t, p, 110), "104: 10.7.0.11\n105: 10.7.0.11")
}

func TestWhoAnswersBlocksAnAddressForOthersForTenMinutes(t *testing.T) {
	t.Parallel()
	a := addr("10.7.0.10")
	p := NewProber(bridge)
	p.Want(addrs(10), 100)
	p.Due(100)
	p.Heard(says(alice, a), 100)
	type view struct{ forBob, forAlice, checked bool }
	look := func(now int64) view {
		return view{p.Blocked(a, bob, now), p.Blocked(a, alice, now), p.Checked(a, now)}
	}
	got := []view{look(100), look(699), look(700)}
	if want := []view{{true, false, false}, {true, false, false}, {}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if mac, ok := p.Holder(a, 100); mac != alice || !ok {
		t.Errorf("%s has it, %v", mac, ok)
	}
	same(t, story(t, p, 702), "700: 10.7.0.10\n701: 10.7.0.10") // nobody is asked in between
	if !p.Checked(a, 702) {
		t.Error("it does not become free again")
	}
}

func TestWhoIsHeardLaterTakesAFreeAddressOut(t *testing.T) {
	t.Parallel()
	a := addr("10.7.0.10")
	p := NewProber(bridge)
	p.Want(addrs(10), 100)
	story(t, p, 110)
	announcement := &packet.ARP{From: bob, To: packet.Broadcast(), Op: packet.ARPRequest, SenderMAC: bob, Sender: a, Target: a}
	p.Heard(announcement, 110)
	if !p.Blocked(a, alice, 110) || p.Checked(a, 110) {
		t.Error("an announcement was not heard")
	}
	p.Heard(says(alice, a), 200) // two fight for it: the last one is remembered, and the time begins anew
	if mac, _ := p.Holder(a, 799); mac != alice {
		t.Errorf("%s has it", mac)
	}
	p.Want(nil, 300)
	if !p.Blocked(a, bob, 799) || p.Blocked(a, bob, 800) {
		t.Error("a block does not last as long as it should")
	}
}

func TestACardWithAllItsClaimsKeepsThem(t *testing.T) {
	t.Parallel()
	p := NewProber(bridge)
	for n := range maxClaims {
		p.Want(addrs(n), 0)
		p.Heard(says(alice, addrs(n)[0]), 0)
	}
	p.Heard(says(alice, addr("10.7.0.3")), 300)
	if !p.Blocked(addr("10.7.0.3"), bob, 899) || p.Blocked(addr("10.7.0.4"), bob, 899) {
		t.Error("the ten minutes do not begin anew for the one that was heard again")
	}
}

func TestTwoThatFightForAnAddressCountForOne(t *testing.T) {
	t.Parallel()
	p := NewProber(bridge)
	p.Want(addrs(10), 0)
	for now := range int64(2 * maxClaims) {
		p.Heard(says(alice, addr("10.7.0.10")), now)
		p.Heard(says(bob, addr("10.7.0.10")), now)
		p.Heard(says(bob, addr("10.7.0.10")), now)
	}
	if want := map[packet.MAC]int{bob: 1}; !reflect.DeepEqual(p.claims, want) {
		t.Errorf("claims are %v, want %v", p.claims, want)
	}
}

func TestWhatShowsNothingIsIgnored(t *testing.T) {
	t.Parallel()
	a := addr("10.7.0.10")
	for name, heard := range map[string]*packet.ARP{
		"our own packet":              says(bridge, a),
		"an answer for another":       says(alice, addr("10.7.0.99")),
		"a client's own probe":        {SenderMAC: alice, Op: packet.ARPRequest, Sender: netip.IPv4Unspecified(), Target: a},
		"somebody who looks for it":   {SenderMAC: alice, Op: packet.ARPRequest, Sender: addr("10.7.0.99"), Target: a},
		"an answer to whoever has it": {SenderMAC: alice, Op: packet.ARPReply, Sender: addr("10.7.0.99"), Target: a},
	} {
		p := NewProber(bridge)
		p.Want(addrs(10), 100)
		p.Heard(heard, 100)
		p.Want([]netip.Addr{a, addr("10.7.0.99")}, 101)
		story(t, p, 110)
		if got := [...]bool{p.Blocked(a, bob, 110), p.Checked(a, 110), p.Blocked(addr("10.7.0.99"), bob, 110)}; got != [...]bool{false, true, false} {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestACardThatAnswersForEverythingBlocksLittle is a router with proxy ARP, or a guest that wants all addresses.
func TestACardThatAnswersForEverythingBlocksLittle(t *testing.T) {
	t.Parallel()
	p := NewProber(bridge)
	blocked := 0
	for n := range 256 {
		p.Want(addrs(n), int64(n))
		p.Heard(says(alice, addrs(n)[0]), int64(n))
		if p.Blocked(addrs(n)[0], bob, int64(n)) {
			blocked++
		}
	}
	if blocked != maxClaims {
		t.Errorf("it blocked %d addresses, want %d", blocked, maxClaims)
	}
	p.Want(addrs(300), 1000) // all has run out
	p.Heard(says(alice, addrs(300)[0]), 1000)
	if !p.Blocked(addrs(300)[0], bob, 1000) {
		t.Error("it is not believed for good")
	}
	if want := map[packet.MAC]int{alice: 1}; !reflect.DeepEqual(p.claims, want) {
		t.Errorf("claims are %v, want %v", p.claims, want)
	}
}

// TestManyCardsThatLieStayBounded has 10000 cards answer for 10000 addresses.
func TestManyCardsThatLieStayBounded(t *testing.T) {
	t.Parallel()
	p := NewProber(bridge)
	for n := range 10000 {
		p.Want(addrs(n, n+1, n), 0)
		p.Heard(says(packet.MAC{2, 0, 0, 0, byte(n >> 8), byte(n)}, addrs(n)[0]), 0)
	}
	if got := [...]int{len(p.held), len(p.claims), len(p.wanted)}; got != [...]int{maxHeld, maxHeld, 2} {
		t.Errorf("it remembers %v", got)
	}
	p.Due(blockSeconds)
	if got := [...]int{len(p.held), len(p.claims)}; got != [...]int{0, 0} {
		t.Errorf("after ten minutes it remembers %v", got)
	}
}

func TestAFloodOfClientsIsNoFloodOfBroadcasts(t *testing.T) {
	t.Parallel()
	p := NewProber(bridge)
	frames := map[int64]int{}
	for i := range 20000 {
		now := int64(i / 1000)
		p.Want(addrs(i, i+1, i+2, i+3), now)
		frames[now] += len(p.Due(now))
		if p.Next() <= now {
			t.Fatal("what cannot be sent is due again at once")
		}
	}
	for now, n := range frames {
		if n != maxPerSecond {
			t.Errorf("second %d: %d probes, want %d", now, n, maxPerSecond)
		}
	}
}

func TestManyAddressesAreProbedOverSomeSeconds(t *testing.T) {
	t.Parallel()
	var all []int
	for n := range 100 {
		all = append(all, n+1)
	}
	p := NewProber(bridge)
	p.Want(append([]netip.Addr{{}, addr("fd07::1"), addr("0.0.0.0")}, addrs(all...)...), 0)
	got := map[int64]int{}
	for now := range int64(10) {
		got[now] = len(p.Due(now))
	}
	checked := 0
	for _, a := range addrs(all...) {
		if p.Checked(a, 10) {
			checked++
		}
	}
	if want := map[int64]int{0: 32, 1: 32, 2: 32, 3: 32, 4: 0, 5: 0, 6: 0, 7: 0, 8: 0, 9: 0}; checked != maxWanted || !reflect.DeepEqual(got, want) {
		t.Errorf("%d were checked by %v, want %d by %v", checked, got, maxWanted, want)
	}
}
