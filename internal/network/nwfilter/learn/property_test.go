package learn

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"taproom/internal/network/packet"
)

// sound fails the test unless the table keeps its promises.
func sound(t *testing.T, tab *Table, now int64) {
	t.Helper()
	n := 0
	for name, h := range tab.ports {
		count := map[bool]int{}
		for a, e := range h.has {
			n++
			count[a.Is4()]++
			if e.Addr != a || !usable(a) || tab.holders[place{h.Network, a}] != h || !h.Mode.allowed(e.By) {
				t.Fatalf("%s has %+v, which is held by %v", name, e, tab.holders[place{h.Network, a}])
			}
			if e.Ends < tab.next {
				t.Fatalf("%s: %s ends at %d, and nothing is said to end before %d", name, a, e.Ends, tab.next)
			}
		}
		if count[true] > perFamily || count[false] > perFamily {
			t.Fatalf("%s has %v addresses", name, count)
		}
	}
	if n != len(tab.holders) {
		t.Fatalf("%d addresses and %d holders at %d", n, len(tab.holders), now)
	}
}

// anyFrame is a frame of some guest or server about one of few addresses.
func anyFrame(r *rand.Rand) (n byte, d Direction, frame []byte) {
	n = byte(1 + r.IntN(4))
	mac, a4 := card(n), netip.AddrFrom4([4]byte{10, 7, 0, byte(r.IntN(24))})
	a6 := netip.AddrFrom16([16]byte{0: 0xfd, 15: byte(r.IntN(24))})
	server, seconds := ip("10.7.0.1"), uint32(r.IntN(3000))
	if r.IntN(3) == 0 {
		server = ip("10.7.0.66")
	}
	switch r.IntN(8) {
	case 0:
		return n, ToGuest, answer4(server, mac, ack, a4, seconds)
	case 1:
		return n, FromGuest, release4(mac, a4)
	case 2:
		return n, ToGuest, answer6(ip("fe80::1"), mac, reply, seconds, a6, ip("fd00::77"))
	case 3:
		return n, FromGuest, release6(mac, a6)
	case 4:
		p := netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0xfd, 7: byte(r.IntN(24))}), 64)
		return n, ToGuest, routerSays(ip("fe80::1"), prefixOf(p, ndAutonomous, seconds))
	case 5:
		return n, FromGuest, unique(mac, a6)
	}
	return n, FromGuest, arp(mac, a4)
}

func TestWhateverIsHeardEveryAddressHasOneHolderAndChangesAreTold(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		ports := []Port{nic(1, Any), nic(2, DHCP), nic(3, Any), nic(4, Any)}
		ports[2].Trusted = []netip.Addr{ip("10.7.0.1"), ip("fe80::1")}
		l := newLab(t, ports...)
		told := map[string]string{}
		for range 1000 {
			var changed []string
			switch r.IntN(40) {
			case 0:
				l.now += int64(r.IntN(700))
				changed = l.tab.Expire(l.now)
			case 1:
				p := ports[r.IntN(len(ports))]
				l.tab.Forget(p.Name)
				changed = append(l.tab.Watch(p, nil, l.now), p.Name)
			default:
				n, d, frame := anyFrame(r)
				var err error
				changed, err = l.tab.Frame(nic(n, Any).Name, d, frame, false, l.now)
				var why packet.Refusal
				if err != nil && !errors.As(err, &why) {
					t.Fatalf("%v is no Refusal", err)
				}
			}
			for _, c := range changed {
				told[c] = fmt.Sprint(l.tab.Addresses(c))
			}
			sound(t, &l.tab, l.now)
			for _, p := range ports {
				if is := fmt.Sprint(l.tab.Addresses(p.Name)); is != told[p.Name] && (is != "[]" || told[p.Name] != "") {
					t.Fatalf("seed %d: %s has %s and was last told to have %s", seed, p.Name, is, told[p.Name])
				}
			}
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(true, true, answer4(ip("10.7.0.1"), card(1), ack, ip("10.7.0.10"), 60))
	f.Add(false, true, release4(card(1), ip("10.7.0.10")))
	f.Add(true, false, answer6(ip("fe80::1"), card(1), reply, 90, ip("fd00::10")))
	f.Add(false, false, release6(card(1), ip("fd00::10")))
	f.Add(false, false, arp(card(1), ip("10.7.0.10")))
	f.Add(false, true, unique(card(1), ip("fd00::1")))
	f.Add(false, true, advertise(card(1), ip("fd00::1"), card(1), ndHops))
	f.Add(true, true, routerSays(ip("fe80::1"), prefixOf(netip.MustParsePrefix("fd00::/64"), ndAutonomous, 10)))
	f.Fuzz(func(t *testing.T, way, partial bool, frame []byte) {
		var tab Table
		tab.Watch(nic(1, Any), []Address{{ip("10.7.0.10"), DHCP4, 2000}, {ip("fd00::10"), DHCP6, 2000}}, 1000)
		before := string(frame)
		_, err := tab.Frame("vnet1", Direction(way), frame, partial, 1000)
		if string(frame) != before {
			t.Fatal("the frame was changed")
		}
		var why packet.Refusal
		if err != nil && !errors.As(err, &why) {
			t.Fatalf("%v is no Refusal", err)
		}
		sound(t, &tab, 1000)
	})
}
