package dhcp4

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

// requestFrame is a message of a client as it comes off the bridge.
func requestFrame(m *dhcpv4.DHCPv4) []byte {
	d := packet.Datagram{
		From: packet.MAC(m.ClientHWAddr), To: packet.Broadcast(), Payload: m.ToBytes(),
		Src: netip.MustParseAddrPort("0.0.0.0:68"), Dst: netip.MustParseAddrPort("255.255.255.255:67"),
	}
	return d.Frame()
}

func TestMessagesThatLieAreRefused(t *testing.T) {
	t.Parallel()
	const udp, bootp = 34, 42
	noSum := func(f []byte) []byte { f[udp+6], f[udp+7] = 0, 0; return f }
	set := func(at int, b ...byte) func([]byte) []byte {
		return func(f []byte) []byte { copy(f[at:], b); return noSum(f) }
	}
	for _, c := range []struct {
		name    string
		spoil   func([]byte) []byte
		partial bool
		want    error
	}{
		{name: "nothing wrong", spoil: func(f []byte) []byte { return f }},
		{name: "no UDP checksum", spoil: noSum},
		{name: "padding behind", spoil: func(f []byte) []byte { return append(f, make([]byte, 100)...) }},
		{name: "checksum left to hardware", spoil: func(f []byte) []byte { f[udp+6] ^= 0x55; return f }, partial: true},
		{name: "wrong UDP checksum", spoil: func(f []byte) []byte { f[udp+6] ^= 0x55; return f }, want: packet.RefuseChecksum},
		{name: "other port", spoil: set(udp+2, 0, 68), want: packet.RefuseProtocol},
		{name: "UDP length within the message", spoil: set(udp+4, 0, 100), want: packet.RefuseMessage},
		{name: "a reply", spoil: set(bootp, 2), want: packet.RefuseMessage},
		{name: "no cookie", spoil: set(bootp+236, 0), want: packet.RefuseMessage},
		{name: "option past the end", spoil: set(bootp+240, 61, 255), want: packet.RefuseMessage},
		{name: "no message type", spoil: set(bootp+240, 255), want: packet.RefuseMessage},
		{name: "no end", spoil: func(f []byte) []byte { clear(f[bootp+243:]); return noSum(f) }, want: packet.RefuseMessage},
		{name: "token ring", spoil: set(bootp+1, 6), want: packet.RefuseHardware},
		{name: "hlen 5", spoil: set(bootp+2, 5), want: packet.RefuseHardware},
		{name: "hlen 16", spoil: set(bootp+2, 16), want: packet.RefuseHardware},
		{name: "hlen 255", spoil: set(bootp+2, 255), want: packet.RefuseHardware},
		{name: "chaddr of another", spoil: set(bootp+28+5, 99), want: packet.RefuseSource},
		{name: "sender is a group", spoil: func(f []byte) []byte { f[6] |= 1; f[bootp+28] |= 1; return noSum(f) }, want: packet.RefuseSource},
		{name: "sender is nobody", spoil: func(f []byte) []byte { clear(f[6:12]); clear(f[bootp+28 : bootp+34]); return noSum(f) }, want: packet.RefuseSource},
		{name: "relayed", spoil: set(bootp+24, 10, 7, 0, 9), want: packet.RefuseRelay},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := c.spoil(requestFrame(message(1, discover)))
			if _, err := ParseFrame(f, c.partial); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestAClientIDLongerThanAnOptionIsRefused(t *testing.T) {
	t.Parallel()
	f := requestFrame(message(1, discover, clientID(make([]byte, 256)...)))
	if _, err := ParseFrame(f, false); !errors.Is(err, packet.RefuseMessage) {
		t.Errorf("got %v, want %v", err, packet.RefuseMessage)
	}
}

func TestMessagesForAnotherServerAreNotOurs(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.send(1, discover, server("10.9.0.1"))
	p := &Packet{Source: nic(1), Target: netip.MustParseAddr("10.9.0.1"), Message: message(1, discover)}
	if r, _, err := l.s.Handle(p, 0); r != nil || !errors.Is(err, packet.RefuseForeign) {
		t.Errorf("a message to 10.9.0.1 got %v, %v", r, err)
	}
	l.want(`1 DISCOVER: (foreign server)`)
}

// TestRepliesGoWhereTheClientCanHearThem is the table of RFC 2131, 4.1, and holds the frames to their checksums.
func TestRepliesGoWhereTheClientCanHearThem(t *testing.T) {
	t.Parallel()
	everybody := packet.Broadcast()
	for _, c := range []struct {
		name   string
		kind   dhcpv4.MessageType
		how    []dhcpv4.Modifier
		to     packet.MAC
		target string
	}{
		{"to the address being given", discover, nil, nic(1), "10.7.0.10"},
		{"to everybody if asked", discover, []dhcpv4.Modifier{dhcpv4.WithBroadcast(true)}, everybody, "255.255.255.255"},
		{"to the address it has", request, []dhcpv4.Modifier{has("10.7.0.11"), dhcpv4.WithBroadcast(true)}, nic(1), "10.7.0.11"},
		{"a no to everybody", request, []dhcpv4.Modifier{has("10.7.0.99")}, everybody, "255.255.255.255"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, small())
			f := l.send(1, c.kind, c.how...).Frame(packet.MAC{2, 0, 0, 0, 0, 1})
			d, err := packet.ParseUDP4(f, false)
			if err != nil {
				t.Fatal(err)
			}
			target := netip.MustParseAddrPort(c.target + ":68")
			if d.To != c.to || d.Dst != target || d.From != (packet.MAC{2, 0, 0, 0, 0, 1}) || d.Src.String() != "10.7.0.1:67" {
				t.Errorf("went from %s at %s to %s at %s, want %s at %s", d.Src, d.From, d.Dst, d.To, target, c.to)
			}
			if binary.BigEndian.Uint16(f[40:]) == 0 {
				t.Error("there is no UDP checksum")
			}
		})
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(requestFrame(message(1, discover)), false)
	f.Add(requestFrame(message(1, request, wish("10.7.0.10"), server("10.7.0.1"))), true)
	f.Add(requestFrame(message(1, inform, has("10.7.0.10"), clientID(1, 2, 3))), true)
	f.Fuzz(func(t *testing.T, frame []byte, partial bool) {
		p, err := ParseFrame(frame, partial)
		if err != nil {
			var why packet.Refusal
			if !errors.As(err, &why) {
				t.Fatalf("%v is no Refusal", err)
			}
			return
		}
		s, err := NewServer(small(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		r, changes, _ := s.Handle(p, 1000)
		if r != nil {
			out := r.Frame(packet.MAC{2})
			if len(out) > packet.MaxFrame {
				t.Errorf("%d bytes were answered with %d", len(frame), len(out))
			}
		}
		for _, c := range changes {
			clock := lease.Clock{Boot: "one", Steady: func() int64 { return 1000 }, Wall: func() int64 { return 1000 }}
			if leases, damaged := clock.Parse(clock.Append(nil, c.Lease)); damaged != 0 || len(leases) != 1 || leases[0] != c.Lease {
				t.Errorf("%+v came back from its file as %+v", c.Lease, leases)
			}
		}
	})
}
