package ra

import (
	"bytes"
	"errors"
	"net/netip"
	"reflect"
	"testing"

	"taproom/internal/network/packet"
)

// asking is a guest's solicitation as RFC 4861, 4.1 has it.
func asking() *packet.ICMP6 {
	return &packet.ICMP6{
		From: guest, To: packet.Multicast(addr("ff02::2")), Src: addr("fe80::1"), Dst: addr("ff02::2"),
		Type: typeSolicitation, Hops: 255, Body: append([]byte{0, 0, 0, 0, 1, 1}, guest[:]...),
	}
}

func TestASolicitationIsBelievedAsFarAsTheStandardSays(t *testing.T) {
	t.Parallel()
	with := func(change func(m *packet.ICMP6)) *packet.ICMP6 { m := asking(); change(m); return m }
	options := func(b ...byte) *packet.ICMP6 {
		return with(func(m *packet.ICMP6) { m.Body = append([]byte{0, 0, 0, 0}, b...) })
	}
	heard := &Solicitation{From: guest, Src: addr("fe80::1")}
	nobody := netip.IPv6Unspecified()
	for _, c := range []struct {
		name string
		m    *packet.ICMP6
		want *Solicitation
		err  error
	}{
		{name: "nothing wrong", m: asking(), want: heard},
		{name: "no options", m: options(), want: heard},
		{name: "an option that nobody knows", m: options(253, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14), want: heard},
		{name: "a nonce behind", m: options(1, 1, 2, 0, 0, 0, 0, 9, 14, 1, 1, 2, 3, 4, 5, 6), want: heard},
		{name: "from a global address", m: with(func(m *packet.ICMP6) { m.Src = addr("fd07::5") }), want: &Solicitation{From: guest, Src: addr("fd07::5")}},
		{
			name: "from nobody", m: with(func(m *packet.ICMP6) { m.Src, m.Body = nobody, m.Body[:4] }),
			want: &Solicitation{From: guest, Src: nobody},
		},
		{name: "from nobody at a hardware address", m: with(func(m *packet.ICMP6) { m.Src = nobody }), err: packet.RefuseSource},
		{name: "from a group", m: with(func(m *packet.ICMP6) { m.Src = addr("ff02::1") }), err: packet.RefuseSource},
		{name: "from loopback", m: with(func(m *packet.ICMP6) { m.Src = addr("::1") }), err: packet.RefuseSource},
		{name: "from IPv4", m: with(func(m *packet.ICMP6) { m.Src = addr("::ffff:10.0.0.1") }), err: packet.RefuseSource},
		{name: "from a group of stations", m: with(func(m *packet.ICMP6) { m.From[0] |= 1 }), err: packet.RefuseSource},
		{name: "from no station", m: with(func(m *packet.ICMP6) { m.From = packet.MAC{} }), err: packet.RefuseSource},
		{name: "from beyond a router", m: with(func(m *packet.ICMP6) { m.Hops = 254 }), err: packet.RefuseSource},
		{name: "an advertisement", m: with(func(m *packet.ICMP6) { m.Type = typeAdvertisement }), err: packet.RefuseProtocol},
		{name: "a code", m: with(func(m *packet.ICMP6) { m.Code = 1 }), err: packet.RefuseMessage},
		{name: "too short", m: with(func(m *packet.ICMP6) { m.Body = m.Body[:3] }), err: packet.RefuseMessage},
		{name: "an option without length", m: options(1, 0, 2, 0, 0, 0, 0, 9), err: packet.RefuseMessage},
		{name: "a later option without length", m: options(1, 1, 2, 0, 0, 0, 0, 9, 14, 0, 0, 0, 0, 0, 0, 0), err: packet.RefuseMessage},
		{name: "an option past the end", m: options(1, 2, 2, 0, 0, 0, 0, 9), err: packet.RefuseMessage},
		{name: "an option of one byte", m: options(1), err: packet.RefuseMessage},
		{name: "half an option", m: options(1, 1, 2, 0, 0, 0, 0), err: packet.RefuseMessage},
		{name: "a hardware address of another length", m: options(1, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14), err: packet.RefuseHardware},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseSolicitation(c.m.Frame(), false)
			if !reflect.DeepEqual(got, c.want) || !errors.Is(err, c.err) {
				t.Errorf("got %+v, %v, want %+v, %v", got, err, c.want, c.err)
			}
		})
	}
}

func TestAnAdvertisementIsReadAsAGuestDoes(t *testing.T) {
	t.Parallel()
	good, err := packet.ParseICMP6(full().Advertisement(bridge, addr("fe80::fe"), nil, false), false)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(m *packet.ICMP6)) *packet.ICMP6 {
		m := *good
		m.Body = bytes.Clone(m.Body)
		change(&m)
		return &m
	}
	options := func(b ...byte) *packet.ICMP6 {
		return with(func(m *packet.ICMP6) { m.Body = append(m.Body[:12], b...) })
	}
	for _, c := range []struct {
		name string
		m    *packet.ICMP6
		want error
	}{
		{name: "nothing wrong", m: good},
		{name: "no options", m: options()},
		{name: "an unknown option", m: options(200, 1, 0, 0, 0, 0, 0, 0)},
		{name: "a solicitation", m: asking(), want: packet.RefuseProtocol},
		{name: "from beyond a router", m: with(func(m *packet.ICMP6) { m.Hops = 64 }), want: packet.RefuseSource},
		{name: "from a global address", m: with(func(m *packet.ICMP6) { m.Src = addr("fd07::1") }), want: packet.RefuseSource},
		{name: "a code", m: with(func(m *packet.ICMP6) { m.Code = 1 }), want: packet.RefuseMessage},
		{name: "too short", m: with(func(m *packet.ICMP6) { m.Body = m.Body[:11] }), want: packet.RefuseMessage},
		{name: "an option without length", m: options(5, 0, 0, 0, 0, 0, 5, 0), want: packet.RefuseMessage},
		{name: "an option past the end", m: options(5, 2, 0, 0, 0, 0, 5, 0), want: packet.RefuseMessage},
		{name: "a prefix that is too short", m: options(3, 1, 64, 0, 0, 0, 0, 0), want: packet.RefuseMessage},
		{name: "a prefix of 129 bits", m: options(append([]byte{3, 4, 129}, make([]byte, 29)...)...), want: packet.RefuseMessage},
		{name: "half a resolver", m: options(append([]byte{25, 2}, make([]byte, 14)...)...), want: packet.RefuseMessage},
		{name: "a domain past the end", m: options(append([]byte{31, 2, 0, 0, 0, 0, 0, 9, 8}, make([]byte, 7)...)...), want: packet.RefuseMessage},
		{name: "a domain without end", m: options(31, 2, 0, 0, 0, 0, 0, 9, 7, 'a', 'a', 'a', 'a', 'a', 'a', 'a'), want: packet.RefuseMessage},
		{name: "no domain", m: options(append([]byte{31, 2, 0, 0, 0, 0, 0, 9}, make([]byte, 8)...)...), want: packet.RefuseMessage},
		{name: "a dot inside a label", m: options(append([]byte{31, 2, 0, 0, 0, 0, 0, 9, 2, 'a', '.', 0}, make([]byte, 4)...)...), want: packet.RefuseMessage},
		{name: "a compressed domain", m: options(append([]byte{31, 2, 0, 0, 0, 0, 0, 9, 0xc0, 9}, make([]byte, 6)...)...), want: packet.RefuseMessage},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got, err := ParseAdvertisement(c.m.Frame(), false); !errors.Is(err, c.want) || (got == nil) != (c.want != nil) {
				t.Errorf("got %+v, %v, want %v", got, err, c.want)
			}
		})
	}
}

func FuzzSolicitation(f *testing.F) {
	f.Add(asking().Frame(), false)
	f.Add(asking().Frame(), true)
	f.Fuzz(func(t *testing.T, frame []byte, partial bool) {
		s, err := ParseSolicitation(frame, partial)
		if err != nil {
			var why packet.Refusal
			if !errors.As(err, &why) {
				t.Fatalf("%v is no Refusal", err)
			}
			return
		}
		a, err := ParseAdvertisement(full().Advertisement(bridge, addr("fe80::fe"), s, false), false)
		if err != nil || a.To.IsGroup() != s.Src.IsUnspecified() || !a.To.IsGroup() && (a.To != s.From || a.Dst != s.Src) {
			t.Errorf("%+v was answered with %+v, %v", s, a, err)
		}
	})
}

func FuzzAdvertisement(f *testing.F) {
	f.Add(full().Advertisement(bridge, addr("fe80::fe"), nil, false), true)
	f.Add(full().Advertisement(bridge, addr("fe80::fe"), nil, true), false)
	f.Fuzz(func(t *testing.T, frame []byte, partial bool) {
		a, err := ParseAdvertisement(frame, partial)
		if err != nil {
			var why packet.Refusal
			if !errors.As(err, &why) {
				t.Fatalf("%v is no Refusal", err)
			}
			return
		}
		if again, err := ParseAdvertisement(a.Frame(), false); err != nil || !reflect.DeepEqual(again, a) {
			t.Errorf("%+v came back as %+v, %v", a, again, err)
		}
	})
}
