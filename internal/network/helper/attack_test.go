package helper_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv6"

	"taproom/internal/network/dhcp4"
	"taproom/internal/network/dns"
	"taproom/internal/network/helper"
	"taproom/internal/network/packet"
	"taproom/internal/spec"
)

// strangers is how many cards a flood invents.
const strangers = 10_000

// growth is how much the process may grow in an attack, in KiB: its bounds per network, and what the collector has not
// collected yet.
const growth = 24 << 10

// ten is a small network beside the one that is attacked.
func ten() helper.Network {
	at := netip.MustParseAddr("10.10.0.1")
	return helper.Network{UUID: spec.UUID{10}, Bridge: "virbr10", DHCP4: &dhcp4.Config{
		Subnets: []dhcp4.Subnet{{Server: at, Prefix: netip.MustParsePrefix("10.10.0.0/24"), Gateway: at}},
		Ranges:  []dhcp4.Range{{Start: netip.MustParseAddr("10.10.0.10"), End: netip.MustParseAddr("10.10.0.200")}},
		DNS:     []netip.Addr{at}, Authoritative: true,
	}, DNS: &dns.Config{
		Domain: "ten.test", LocalOnly: true, NoResolv: true, Addresses: []netip.Addr{at},
		Hosts: []dns.Host{{IP: netip.MustParseAddr("10.10.0.7"), Names: []string{"quiet"}}},
	}}
}

// siege is a network under attack and a quiet one beside it.
type siege struct {
	*site
	index  int
	victim *guest
	wire   *wire // the attacker's
	quiet  *guest
	card   card // on the quiet network, which has
	has    netip.Addr
	before int
}

func besiege(t *testing.T, n helper.Network) *siege {
	t.Helper()
	s := &siege{site: newSite(t)}
	s.index = s.serveDual(n)
	s.serve(ten())
	s.victim, s.quiet = s.guest(n.Bridge, "52:54:00:09:00:08"), s.guest("virbr10", "52:54:00:10:00:01")
	s.victim.ns.Run("ip", "addr", "add", "10.9.0.9/24", "dev", "eth0")
	s.quiet.ns.Run("ip", "addr", "add", "10.10.0.9/24", "dev", "eth0")
	s.wire = s.victim.wire()
	s.card = card{s.quiet.wire(), number(1)}
	s.has = s.card.join4(ten().DHCP4.Subnets[0].Server)
	s.before = resident(t, s.h.Hello().PID)
	return s
}

// under runs an attack in the background, and has the quiet network answer as long as it lasts. An answer that the first
// question did not get is late.
func (s *siege) under(attack func()) {
	s.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		attack()
	}()
	var slowest time.Duration
	rounds := 0
	pace := time.NewTicker(10 * time.Millisecond) // this is no attack on the quiet one
	defer pace.Stop()
	for over := false; !over || rounds < 3; rounds++ {
		select {
		case <-done:
			over = true
		case <-pace.C:
		}
		began := time.Now()
		if got := s.card.renew4(s.has); got != s.has {
			s.t.Errorf("the quiet network's client renews %s and got %s", s.has, got)
		}
		slowest = max(slowest, time.Since(began))
		began = time.Now()
		if got := s.quiet.query("udp", "10.10.0.1", "quiet.ten.test."); got != "10.10.0.7" {
			s.t.Errorf("the quiet network says its name is at %q", got)
		}
		slowest = max(slowest, time.Since(began))
	}
	<-done
	if slowest >= again {
		s.t.Errorf("the quiet network took %v for an answer", slowest)
	}
	st, err := s.h.Stats(s.ctx, ten().UUID)
	if err != nil || st.Refused != nil || st.Faults != 0 {
		s.t.Errorf("the quiet network counted %+v, %v", st, err)
	}
	s.t.Logf("the quiet network's slowest answer of %d took %v", 2*rounds, slowest.Round(time.Microsecond))
}

// survived checks that the process is the same, has no faults, and has not grown by much.
func (s *siege) survived(id spec.UUID) helper.Stats {
	s.t.Helper()
	after := resident(s.t, s.h.Hello().PID)
	st, err := s.h.Stats(s.ctx, id)
	if err != nil || st.Faults != 0 {
		s.t.Errorf("counted %+v, %v", st, err)
	}
	s.t.Logf("%d KiB before, %d KiB after; %+v", s.before, after, st)
	if after > s.before+growth {
		s.t.Errorf("%d KiB before, %d KiB after", s.before, after)
	}
	return st
}

// flood puts frames on the attacker's wire as fast as it takes them.
func (w *wire) flood(n int, frame func(i int) []byte) {
	for i := range n {
		_, _ = w.f.Write(frame(i)) // a full queue is the point
	}
}

func TestStarvationByInventedCardsStarvesNobody(t *testing.T) {
	t.Parallel()
	n := wide()
	s := besiege(t, n)
	old := card{s.wire, number(1 << 24)}
	four, six := old.join4(gateway4), old.join6(n.DHCP6.DUID)
	s.under(func() {
		s.wire.flood(strangers, func(i int) []byte {
			mac := number(i + 1)
			if i%2 == 0 {
				return frame4(mac, message4(mac, dhcpv4.MessageTypeDiscover))
			}
			return frame6(mac, message6(mac, dhcpv6.MessageTypeSolicit, nil, ia()))
		})
	})
	if a, b := old.renew4(four), old.renew6(n.DHCP6.DUID, six); a != four || b != six {
		t.Errorf("who was there before renews %s and %s, and got %s and %s", four, six, a, b)
	}
	late := card{s.wire, number(1<<24 + 1)}
	if a, b := late.join4(gateway4), late.join6(n.DHCP6.DUID); !a.IsValid() || !b.IsValid() {
		t.Errorf("who comes afterwards got %s and %s", a, b)
	}
	st := s.survived(n.UUID)
	if st.Leases != 4 || st.Refused[packet.RefuseRate]+st.Dropped == 0 {
		t.Errorf("counted %+v", st)
	}
}

// TestWhoTakesEveryAddressTakesNoneThatIsFixed lets invented cards go all the way.
func TestWhoTakesEveryAddressTakesNoneThatIsFixed(t *testing.T) {
	t.Parallel()
	n := dual()
	n.DHCP4.Hosts = []dhcp4.Host{{MAC: number(1 << 24).String(), IP: netip.MustParseAddr("10.9.0.12")}}
	s := besiege(t, n)
	got := map[netip.Addr]bool{}
	for i := range 9 { // ten, of which one is fixed
		got[card{s.wire, number(i + 1)}.join4(gateway4)] = true
	}
	if len(got) != 9 || got[netip.MustParseAddr("10.9.0.12")] {
		t.Errorf("given were %v", got)
	}
	s.under(func() {
		s.wire.flood(300, func(i int) []byte {
			mac := number(i + 100)
			return frame4(mac, message4(mac, dhcpv4.MessageTypeDiscover))
		})
	})
	if a := (card{s.wire, number(1 << 24)}).join4(gateway4); a.String() != "10.9.0.12" {
		t.Errorf("whose address is fixed got %s", a)
	}
	if st := s.survived(n.UUID); st.Refused[packet.RefuseFull] == 0 {
		t.Errorf("counted %+v", st)
	}
}

func TestWordsInAnothersNameEndNoLease(t *testing.T) {
	t.Parallel()
	n := wide()
	s := besiege(t, n)
	honest, liar := card{s.wire, number(1)}, number(666)
	four, six := honest.join4(gateway4), honest.join6(n.DHCP6.DUID)
	id := dhcpv4.WithOption(dhcpv4.OptClientIdentifier(append([]byte{1}, honest.mac[:]...)))
	var frames [][]byte
	for _, kind := range []dhcpv4.MessageType{dhcpv4.MessageTypeRelease, dhcpv4.MessageTypeDecline, dhcpv4.MessageTypeInform} {
		frames = append(
			frames,
			frame4(liar, message4(honest.mac, kind, has(four), server(gateway4))), // its name on another's letter
			frame4(liar, message4(liar, kind, has(four), wish(four), server(gateway4))),
			frame4(liar, message4(liar, kind, has(four), wish(four), server(gateway4), id)),
			frame4(liar, message4(liar, kind, has(gateway4), wish(gateway4), server(gateway4))),
		)
	}
	for _, kind := range []dhcpv6.MessageType{dhcpv6.MessageTypeRelease, dhcpv6.MessageTypeDecline} {
		frames = append(
			frames,
			frame6(liar, message6(liar, kind, n.DHCP6.DUID, ia(six))),
			frame6(liar, message6(honest.mac, kind, n.DHCP6.DUID, ia(six))),
		)
	}
	s.under(func() { s.wire.flood(len(frames), func(i int) []byte { return frames[i] }) })
	told{four: honest.mac, six: honest.mac}.want(s.site, "after the lies")
	if a, b := honest.renew4(four), honest.renew6(n.DHCP6.DUID, six); a != four || b != six {
		t.Errorf("who was there before renews %s and %s, and got %s and %s", four, six, a, b)
	}
	s.survived(n.UUID)
}

func TestWhoDeclinesEverythingKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	n := dual()
	s := besiege(t, n)
	s.under(func() {
		for i := range 15 {
			c := card{s.wire, number(i + 1)}
			if a := c.join4(gateway4); a.IsValid() {
				c.tell4(dhcpv4.MessageTypeDecline, wish(a), server(gateway4))
			}
			if a := c.join6(n.DHCP6.DUID); a.IsValid() {
				c.ask6(dhcpv6.MessageTypeDecline, n.DHCP6.DUID, ia(a))
			}
		}
	})
	c := card{s.wire, number(100)}
	if a, b := c.join4(gateway4), c.join6(n.DHCP6.DUID); !a.IsValid() || !b.IsValid() {
		t.Errorf("who comes afterwards got %s and %s", a, b)
	}
	s.survived(n.UUID)
}

func TestMalformedMessagesOfEveryProtocolAreOnlyCounted(t *testing.T) {
	t.Parallel()
	n := wide()
	s := besiege(t, n)
	random := rand.New(rand.NewPCG(1, 2))
	mac := number(666)
	good := [][]byte{
		frame4(mac, message4(mac, dhcpv4.MessageTypeDiscover, dhcpv4.WithOption(dhcpv4.OptHostName("a.name")))),
		frame4(mac, message4(mac, dhcpv4.MessageTypeRequest, wish(netip.MustParseAddr("10.9.0.10")), server(gateway4))),
		frame6(mac, message6(mac, dhcpv6.MessageTypeSolicit, nil, ia(netip.MustParseAddr("fd00:9::1001")))),
		frame6(mac, message6(mac, dhcpv6.MessageTypeRequest, n.DHCP6.DUID, ia(netip.MustParseAddr("fd00:9::1001")))),
		solicitation(mac), claim(mac, netip.MustParseAddr("10.9.0.10")),
	}
	spoil := func(i int) []byte {
		f := append([]byte{}, good[i%len(good)]...)
		for range 1 + random.IntN(4) {
			f[14+random.IntN(len(f)-14)] = byte(random.IntN(256))
		}
		switch packet.Type(f) { // no checksum, so that it is looked into
		case packet.TypeIPv4:
			f[40], f[41] = 0, 0
		case packet.TypeIPv6:
			f = resum(f)
		}
		if random.IntN(4) == 0 {
			f = f[:15+random.IntN(len(f)-15)]
		}
		return f
	}
	s.under(func() {
		for range 20 {
			s.wire.flood(100, spoil)
			card{s.wire, number(7)}.join4(gateway4) // looked at behind them
		}
	})
	if st := s.survived(n.UUID); st.Received < 500 || len(st.Refused) < 5 {
		t.Errorf("counted %+v", st)
	}
}
