package dhcp

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// requestFrame is a DISCOVER of client n as it comes off the bridge.
func requestFrame(m *dhcpv4.DHCPv4) []byte {
	r := &Reply{To: MAC{255, 255, 255, 255, 255, 255}, Target: netip.MustParseAddr("255.255.255.255"), Message: m}
	f := r.Frame(MAC(m.ClientHWAddr), netip.MustParseAddr("0.0.0.0"))
	binary.BigEndian.PutUint16(f[34:], clientPort)
	binary.BigEndian.PutUint16(f[36:], serverPort) // the sum stays the same: the two changed places
	return f
}

func TestPacketsThatLieAreRefused(t *testing.T) {
	t.Parallel()
	const ip, udp, bootp = 14, 34, 42
	fixIP := func(f []byte) []byte {
		f[ip+10], f[ip+11] = 0, 0
		binary.BigEndian.PutUint16(f[ip+10:], ^fold(sum(f[ip:udp], 0)))
		return f
	}
	noSum := func(f []byte) []byte { f[udp+6], f[udp+7] = 0, 0; return f }
	set := func(at int, b ...byte) func([]byte) []byte {
		return func(f []byte) []byte { copy(f[at:], b); return noSum(fixIP(f)) }
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
		{name: "wrong UDP checksum", spoil: func(f []byte) []byte { f[udp+6] ^= 0x55; return f }, want: RefuseChecksum},
		{name: "wrong IP checksum", spoil: func(f []byte) []byte { f[ip+10] ^= 1; return f }, want: RefuseChecksum},
		{name: "cut off", spoil: func(f []byte) []byte { return f[:100] }, want: RefuseLength},
		{name: "empty", spoil: func([]byte) []byte { return nil }, want: RefuseSize},
		{name: "longer than Ethernet", spoil: func(f []byte) []byte { return append(f, make([]byte, 1500)...) }, want: RefuseSize},
		{name: "ARP", spoil: set(12, 8, 6), want: RefuseProtocol},
		{name: "IPv6 inside", spoil: set(ip, 0x65), want: RefuseProtocol},
		{name: "fragment", spoil: set(ip+6, 0x20), want: RefuseProtocol},
		{name: "later fragment", spoil: set(ip+7, 1), want: RefuseProtocol},
		{name: "TCP", spoil: set(ip+9, 6), want: RefuseProtocol},
		{name: "other port", spoil: set(udp+2, 0, 68), want: RefuseProtocol},
		{name: "IP header shorter than itself", spoil: set(ip, 0x44), want: RefuseLength},
		{name: "IP header longer than the packet", spoil: set(ip+2, 0, 20), want: RefuseLength},
		{name: "IP length past the end", spoil: set(ip+2, 5, 220), want: RefuseLength},
		{name: "UDP length past the end", spoil: set(udp+4, 5, 0), want: RefuseLength},
		{name: "UDP length below its header", spoil: set(udp+4, 0, 7), want: RefuseLength},
		{name: "UDP length within the message", spoil: set(udp+4, 0, 100), want: RefuseMessage},
		{name: "a reply", spoil: set(bootp, 2), want: RefuseMessage},
		{name: "no cookie", spoil: set(bootp+236, 0), want: RefuseMessage},
		{name: "option past the end", spoil: set(bootp+240, 61, 255), want: RefuseMessage},
		{name: "no message type", spoil: set(bootp+240, 255), want: RefuseMessage},
		{name: "no end", spoil: func(f []byte) []byte { clear(f[bootp+243:]); return noSum(f) }, want: RefuseMessage},
		{name: "token ring", spoil: set(bootp+1, 6), want: RefuseHardware},
		{name: "hlen 5", spoil: set(bootp+2, 5), want: RefuseHardware},
		{name: "hlen 16", spoil: set(bootp+2, 16), want: RefuseHardware},
		{name: "hlen 255", spoil: set(bootp+2, 255), want: RefuseHardware},
		{name: "chaddr of another", spoil: set(bootp+28+5, 99), want: RefuseSource},
		{name: "sender is a group", spoil: func(f []byte) []byte { f[6] |= 1; f[bootp+28] |= 1; return noSum(f) }, want: RefuseSource},
		{name: "sender is nobody", spoil: func(f []byte) []byte { clear(f[6:12]); clear(f[bootp+28 : bootp+34]); return noSum(f) }, want: RefuseSource},
		{name: "relayed", spoil: set(bootp+24, 10, 7, 0, 9), want: RefuseRelay},
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
	if _, err := ParseFrame(f, false); !errors.Is(err, RefuseMessage) {
		t.Errorf("got %v, want %v", err, RefuseMessage)
	}
}

func TestMessagesForAnotherServerAreNotOurs(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.send(1, discover, server("10.9.0.1"))
	p := &Packet{Source: nic(1), Target: netip.MustParseAddr("10.9.0.1"), Message: message(1, discover)}
	if r, _, err := l.s.Handle(p, 0); r != nil || !errors.Is(err, RefuseForeign) {
		t.Errorf("a message to 10.9.0.1 got %v, %v", r, err)
	}
	l.want(`1 DISCOVER: (foreign server)`)
}

// TestRepliesGoWhereTheClientCanHearThem is the table of RFC 2131, 4.1, and holds the frames to their checksums.
func TestRepliesGoWhereTheClientCanHearThem(t *testing.T) {
	t.Parallel()
	everybody := MAC{255, 255, 255, 255, 255, 255}
	for _, c := range []struct {
		name   string
		kind   dhcpv4.MessageType
		how    []dhcpv4.Modifier
		to     MAC
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
			f := l.send(1, c.kind, c.how...).Frame(MAC{2, 0, 0, 0, 0, 1}, netip.MustParseAddr("10.7.0.1"))
			target := netip.AddrFrom4([4]byte(f[30:34])).String()
			if MAC(f[:6]) != c.to || target != c.target || MAC(f[6:12]) != (MAC{2, 0, 0, 0, 0, 1}) {
				t.Errorf("went to %s at %s, want %s at %s", target, MAC(f[:6]), c.target, c.to)
			}
			if fold(sum(f[14:34], 0)) != 0xffff || fold(sum(f[34:], pseudo(f[26:34], len(f)-34))) != 0xffff {
				t.Errorf("a checksum is wrong in % x", f)
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
			var why Refusal
			if !errors.As(err, &why) {
				t.Fatalf("%v is no Refusal", err)
			}
			return
		}
		s, err := NewServer(small(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r, changes, _ := s.Handle(p, 1000)
		if r != nil {
			out := r.Frame(MAC{2}, small().Server)
			if len(out) > maxFrame {
				t.Errorf("%d bytes were answered with %d", len(frame), len(out))
			}
		}
		for _, c := range changes {
			if leases, damaged := ParseLog(AppendLease(nil, c.Lease)); damaged != 0 || len(leases) != 1 || leases[0] != c.Lease {
				t.Errorf("%+v came back from its file as %+v", c.Lease, leases)
			}
		}
	})
}
