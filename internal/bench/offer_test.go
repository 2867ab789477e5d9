package bench

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/network/dhcp4"
	"taproom/internal/network/packet"
)

func TestADiscoverIsOneThatOurServerOffersFor(t *testing.T) {
	t.Parallel()
	v := &vnetSide{number: 1}
	n := v.network(258, "br")
	if err := n.Validate(); err != nil {
		t.Fatal(err)
	}
	s, err := dhcp4.NewServer(*n.DHCP4, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	mac := packet.MAC{0x52, 0x54, 0, 0, 0, 9}
	p, err := dhcp4.ParseFrame(discover(mac, 7), false)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := s.Handle(p, 0)
	if err != nil || r == nil {
		t.Fatalf("%v, %v; want an offer", r, err)
	}
	f := r.Frame(packet.MAC{2})
	if !isOffer(f, 7) || isOffer(f, 8) || isOffer(f[:len(f)/2], 7) || isOffer(discover(mac, 7), 7) {
		t.Error("an offer is not told from what is none")
	}
	at := packet.EthHeader + packet.IPv4Header + packet.UDPHeader
	for i := range f[at+optionsAt:] { // the message type may be anywhere, and is ours
		if f[at+optionsAt+i] == messageType && f[at+optionsAt+i+1] == 1 {
			f[at+optionsAt+i+2] = 6
			break
		}
	}
	binary.BigEndian.PutUint16(f[at-2:], 0)
	if isOffer(f, 7) {
		t.Error("a refusal is taken for an offer")
	}
}

func TestAnOptionIsFoundInWhateverIsAroundIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		all  []byte
		want []byte
	}{
		{[]byte{1, 1, 9, 0, 0, 53, 1, 2, 255}, []byte{2}},
		{[]byte{53, 0, 255}, []byte{}},
		{[]byte{255, 53, 1, 2}, nil},
		{[]byte{53, 9, 2}, nil},
		{[]byte{53}, nil},
		{nil, nil},
	} {
		if d := cmp.Diff(c.want, option(c.all, messageType)); d != "" {
			t.Errorf("of % x (-want +got):\n%s", c.all, d)
		}
	}
}

func TestASampleIsTheMedianOfManyAndTheSlowestButOneInAHundred(t *testing.T) {
	t.Parallel()
	n := 0.0
	s, err := paced(5, func() (float64, error) { n++; return 6 - n, nil })
	if err != nil || s != (spread{3, 5}) {
		t.Errorf("%+v, %v", s, err)
	}
	fails := errors.New("no answer")
	if _, err := paced(5, func() (float64, error) { return 0, fails }); !errors.Is(err, fails) {
		t.Errorf("%v, want what failed", err)
	}
}

func TestNetworksOfAllSidesAreValidAndShareNoAddress(t *testing.T) {
	t.Parallel()
	seen := map[netip.Addr]bool{}
	for side := range 2 {
		v := &vnetSide{number: byte(side)}
		for i := range MostNetworks + 2 {
			n := v.network(i, "br")
			if i%500 == 0 {
				if err := n.Validate(); err != nil {
					t.Error(err)
				}
			}
			for _, a := range n.DNS.Addresses {
				if seen[a] {
					t.Fatalf("network %d of side %d has the address %s of another one", i, side, a)
				}
				seen[a] = true
			}
		}
	}
	l := &lan{bridge: "br", server: netip.MustParseAddr("10.201.0.1"), six: netip.MustParseAddr("fd00:ff:0:1::1")}
	n := (&vnetSide{}).measured(l, 3)
	if err := n.Validate(); err != nil || n.DNS.Addresses[0] != l.server || n.DNS.Addresses[1] != l.six {
		t.Errorf("a network with a guest is at %v, %v", n.DNS.Addresses, err)
	}
}
