package dhcp4

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

// wide is a network with 10,000 addresses.
func wide() Config {
	n := small()
	n.Subnets[0].Prefix = netip.MustParsePrefix("10.7.0.0/16")
	n.Ranges = []Range{{Start: netip.MustParseAddr("10.7.1.0"), End: netip.MustParseAddr("10.7.40.15")}}
	return n
}

// stranger is a message of one of very many cards.
func stranger(i int, kind dhcpv4.MessageType, how ...dhcpv4.Modifier) *Packet {
	mac := packet.MAC{0x52, 0x54, byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)}
	m := message(0, kind, how...)
	m.ClientHWAddr = mac[:]
	return &Packet{Source: mac, Target: everybody(), Message: m}
}

func TestTenThousandClientsAllGetAnAddressOfTenThousand(t *testing.T) {
	t.Parallel()
	s, err := NewServer(wide(), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	holder := map[string]int{}
	for i := range 10000 {
		r, _, err := s.Handle(stranger(i, discover), 1)
		if err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
		a := r.Message.YourIPAddr
		r, changes, err := s.Handle(stranger(i, request, wish(a.String()), server("10.7.0.1")), 1)
		if err != nil || r.Message.MessageType() != dhcpv4.MessageTypeAck || len(changes) != 1 {
			t.Fatalf("client %d asks for %s: %v, %v", i, a, r, err)
		}
		if other, ok := holder[a.String()]; ok {
			t.Fatalf("clients %d and %d both have %s", other, i, a)
		}
		holder[a.String()] = i
	}
	if _, _, err := s.Handle(stranger(10000, discover), 1); !errors.Is(err, packet.RefuseFull) {
		t.Errorf("one more: %v", err)
	}
	if s.Running() != 10000 || s.NextExpiry() != 1+DefaultLease {
		t.Errorf("%d running, the next ends at %d", s.Running(), s.NextExpiry())
	}
	if gone := s.Expire(1 + DefaultLease); len(gone) != 10000 || s.NextExpiry() != lease.Never {
		t.Errorf("%d ended", len(gone))
	}
}

func TestAFloodOfInventedCardsDoesNotGrowAndDoesNotLockOut(t *testing.T) {
	t.Parallel()
	s, err := NewServer(small(), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20000 {
		if _, _, err := s.Handle(stranger(i, discover), int64(i/500)); err != nil {
			t.Fatalf("card %d: %v", i, err)
		}
	}
	p := s.pool
	if len(p.offers.entries) > 3 || len(p.offered) > 3 || p.offers.order.Len() > 3 || len(s.leases.at) > 0 {
		t.Errorf("%d offers, %d clients with one, %d leases for three addresses", len(p.offers.entries), len(p.offered), len(s.leases.at))
	}
	r, _, err := s.Handle(stranger(7, discover), 50)
	if err != nil {
		t.Fatal(err)
	}
	a := r.Message.YourIPAddr.String()
	if r, _, err := s.Handle(stranger(7, request, wish(a), server("10.7.0.1")), 50); err != nil || r.Message.MessageType() != dhcpv4.MessageTypeAck {
		t.Errorf("a client that means it: %v, %v", r, err)
	}
}

func TestALeaseLastsAsItWasPromisedWhateverTheConfigurationSaysNow(t *testing.T) {
	t.Parallel()
	n := small()
	n.LeaseSeconds = 60
	s, err := NewServer(n, []lease.Lease{
		{IP: netip.MustParseAddr("10.7.0.10"), MAC: nic(1), Ends: 3700},
		{IP: netip.MustParseAddr("10.7.0.11"), MAC: nic(2), Ends: lease.Never},
		{IP: netip.MustParseAddr("fd00::1"), MAC: nic(3), Ends: 3700},
	}, 100)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, s: s, now: 3000}
	l.wantLeases(`
		10.7.0.10 of 1 "" until 3700
		10.7.0.11 of 2 "" until 9223372036854775807`)
}

func TestAnAddressThatSomebodyUsesIsGivenLast(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	inUse := map[string]packet.MAC{"10.7.0.11": nic(5)}
	l.s.Avoid(func(a netip.Addr, client packet.MAC, _ int64) bool {
		mac, used := inUse[a.String()]
		return used && mac != client
	})
	l.send(2, discover, wish("10.7.0.11"))
	l.send(2, request, wish("10.7.0.11"))
	l.send(5, discover, wish("10.7.0.11"))
	l.now += offerSeconds
	inUse = map[string]packet.MAC{"10.7.0.10": nic(5), "10.7.0.11": nic(6), "10.7.0.12": nic(6)}
	r := l.send(1, discover)
	l.now += offerSeconds
	inUse["10.7.0.10"] = nic(1)
	l.send(1, discover)
	l.want(`
		2 DISCOVER: OFFER 10.7.0.10 for 1h0m0s to 10.7.0.10
		2 REQUEST: NAK to 255.255.255.255
		5 DISCOVER: OFFER 10.7.0.11 for 1h0m0s to 10.7.0.11
		1 DISCOVER: OFFER ` + r.Message.YourIPAddr.String() + ` for 1h0m0s to ` + r.Message.YourIPAddr.String() + `
		1 DISCOVER: OFFER 10.7.0.10 for 1h0m0s to 10.7.0.10`)
}

func TestWhatComesUpIsWhatNewClientsGet(t *testing.T) {
	t.Parallel()
	l := newLab(t, wide())
	for i := range byte(200) {
		up := l.s.Upcoming()
		if len(up) != 64 {
			t.Fatalf("%d addresses come up", len(up))
		}
		if a := netip.MustParseAddr(l.join(i)); !slices.Contains(up, a) {
			t.Fatalf("NIC %d got %s, which was not coming up", i, a)
		}
	}
	l = newLab(t, small())
	l.join(1)
	if up := l.s.Upcoming(); len(up) != 2 {
		t.Errorf("of three addresses with one given, %v come up", up)
	}
}

// BenchmarkOffer is the cost of a DISCOVER from a card never seen before, in a network with 9,000 leases.
func BenchmarkOffer(b *testing.B) {
	s, err := NewServer(wide(), nil, 0)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 9000 {
		r, _, _ := s.Handle(stranger(i, discover), 1)
		_, _, _ = s.Handle(stranger(i, request, wish(r.Message.YourIPAddr.String()), server("10.7.0.1")), 1)
	}
	p := stranger(0, discover)
	b.ResetTimer()
	for i := range b.N {
		p.Message.ClientHWAddr[2], p.Message.ClientHWAddr[4], p.Message.ClientHWAddr[5] = 9, byte(i>>8), byte(i)
		p.Source = packet.MAC(p.Message.ClientHWAddr)
		if _, _, err := s.Handle(p, int64(i/500)); err != nil {
			b.Fatal(err)
		}
	}
}
