package packet

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"
)

var (
	alice = MAC{0x52, 0x54, 0, 0, 0, 1}
	bob   = MAC{0x52, 0x54, 0, 0, 0, 2}
)

func datagram4() *Datagram {
	return &Datagram{
		From: alice, To: bob,
		Src: netip.MustParseAddrPort("10.7.0.9:68"), Dst: netip.MustParseAddrPort("10.7.0.1:67"), Payload: []byte("a datagram"),
	}
}

func datagram6() *Datagram {
	return &Datagram{
		From: alice, To: bob,
		Src: netip.MustParseAddrPort("[fe80::1]:546"), Dst: netip.MustParseAddrPort("[ff02::1:2]:547"), Payload: []byte("a datagram"),
	}
}

func message6() *ICMP6 {
	return &ICMP6{
		From: alice, To: bob, Src: netip.MustParseAddr("fe80::1"), Dst: netip.MustParseAddr("ff02::2"),
		Type: 133, Hops: 255, Body: []byte{0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7},
	}
}

func question() *ARP {
	return &ARP{
		From: alice, To: Broadcast(), Op: ARPRequest, SenderMAC: alice,
		Sender: netip.MustParseAddr("10.7.0.9"), Target: netip.MustParseAddr("10.7.0.1"),
	}
}

// spoiled is a good frame with something done to it, and the parser's verdict.
type spoiled struct {
	name    string
	spoil   func([]byte) []byte
	partial bool
	want    error
}

func check[T any](t *testing.T, good []byte, parse func([]byte, bool) (*T, error), cases []spoiled) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			frame := c.spoil(append([]byte(nil), good...))
			got, err := parse(frame, c.partial)
			if !errors.Is(err, c.want) || (got == nil) != (c.want != nil) {
				t.Errorf("got %+v, %v, want %v for % x", got, err, c.want, frame)
			}
		})
	}
}

func same(f []byte) []byte { return f }

// set overwrites bytes and leaves the checksums as they were.
func set(at int, b ...byte) func([]byte) []byte {
	return func(f []byte) []byte { copy(f[at:], b); return f }
}

func flip(at int) func([]byte) []byte {
	return func(f []byte) []byte { f[at] ^= 0x55; return f }
}

func cut(n int) func([]byte) []byte { return func(f []byte) []byte { return f[:n] } }

func pad(n int) func([]byte) []byte {
	return func(f []byte) []byte { return append(f, make([]byte, n)...) }
}

func TestAUDP4FrameThatLiesIsRefused(t *testing.T) {
	t.Parallel()
	const ip, udp = 14, 34
	// repaired makes the IP header's checksum right again and takes UDP's away, so that only the lie itself is left.
	repaired := func(spoil func([]byte) []byte) func([]byte) []byte {
		return func(f []byte) []byte {
			f = spoil(f)
			f[ip+10], f[ip+11], f[udp+6], f[udp+7] = 0, 0, 0, 0
			header := min(int(f[ip]&0xf)*4, len(f)-ip)
			binary.BigEndian.PutUint16(f[ip+10:], ^fold(sum(f[ip:ip+header], 0)))
			return f
		}
	}
	withOptions := func(f []byte) []byte { // a header of 24 bytes
		f = append(f[:udp:udp], append([]byte{1, 1, 1, 0}, f[udp:]...)...)
		f[ip] = 0x46
		f[ip+3] += 4
		f[ip+10], f[ip+11] = 0, 0
		binary.BigEndian.PutUint16(f[ip+10:], ^fold(sum(f[ip:udp+4], 0)))
		return f
	}
	check(t, datagram4().Frame(), ParseUDP4, []spoiled{
		{name: "nothing wrong", spoil: same},
		{name: "no UDP checksum", spoil: set(udp+6, 0, 0)},
		{name: "padding behind", spoil: pad(100)},
		{name: "padding up to the longest frame", spoil: func(f []byte) []byte { return pad(MaxFrame - len(f))(f) }},
		{name: "IP options", spoil: withOptions},
		{name: "don't fragment", spoil: repaired(set(ip+6, 0x40))},
		{name: "checksum left to hardware", spoil: flip(udp + 6), partial: true},
		{name: "wrong UDP checksum", spoil: flip(udp + 6), want: RefuseChecksum},
		{name: "another payload than the checksum's", spoil: flip(udp + 9), want: RefuseChecksum},
		{name: "another port than the checksum's", spoil: flip(udp + 3), want: RefuseChecksum},
		{name: "wrong IP checksum", spoil: flip(ip + 10), want: RefuseChecksum},
		{name: "wrong IP checksum, UDP's left to hardware", spoil: flip(ip + 10), partial: true, want: RefuseChecksum},
		{name: "another address than the IP checksum's", spoil: flip(ip + 15), want: RefuseChecksum},
		{name: "nothing", spoil: cut(0), want: RefuseSize},
		{name: "half an Ethernet header", spoil: cut(7), want: RefuseSize},
		{name: "no room for UDP", spoil: cut(udp + 7), want: RefuseSize},
		{name: "cut off in the payload", spoil: cut(udp + 10), want: RefuseLength},
		{name: "longer than Ethernet", spoil: func(f []byte) []byte { return pad(MaxFrame + 1 - len(f))(f) }, want: RefuseSize},
		{name: "ARP", spoil: set(12, 8, 6), want: RefuseProtocol},
		{name: "a VLAN's tag", spoil: set(12, 0x81, 0), want: RefuseProtocol},
		{name: "version 6", spoil: repaired(set(ip, 0x65)), want: RefuseProtocol},
		{name: "first fragment", spoil: repaired(set(ip+6, 0x20)), want: RefuseProtocol},
		{name: "later fragment", spoil: repaired(set(ip+7, 1)), want: RefuseProtocol},
		{name: "TCP", spoil: repaired(set(ip+9, 6)), want: RefuseProtocol},
		{name: "IP header shorter than itself", spoil: repaired(set(ip, 0x44)), want: RefuseLength},
		{name: "IP header without length", spoil: repaired(set(ip, 0x40)), want: RefuseLength},
		{name: "IP header past the end", spoil: repaired(set(ip, 0x4f)), want: RefuseLength},
		{name: "IP length below its header", spoil: repaired(set(ip+2, 0, 19)), want: RefuseLength},
		{name: "IP length without room for UDP", spoil: repaired(set(ip+2, 0, 27)), want: RefuseLength},
		{name: "IP length past the end", spoil: repaired(set(ip+2, 0, 39)), want: RefuseLength},
		{name: "IP length of 65535", spoil: repaired(set(ip+2, 255, 255)), want: RefuseLength},
		{name: "UDP length past IP's", spoil: repaired(set(udp+4, 0, 19)), want: RefuseLength},
		{name: "UDP length below its header", spoil: repaired(set(udp+4, 0, 7)), want: RefuseLength},
		{name: "UDP length of zero", spoil: repaired(set(udp+4, 0, 0)), want: RefuseLength},
		{name: "UDP length within IP's", spoil: repaired(set(udp+4, 0, 9))}, // the rest is not the datagram's
	})
}

func TestAUDP6FrameThatLiesIsRefused(t *testing.T) {
	t.Parallel()
	const ip, udp = 14, 54
	check(t, datagram6().Frame(), ParseUDP6, []spoiled{
		{name: "nothing wrong", spoil: same},
		{name: "padding behind", spoil: pad(100)},
		{name: "checksum left to hardware", spoil: flip(udp + 6), partial: true},
		{name: "checksum of zero left to hardware", spoil: set(udp+6, 0, 0), partial: true},
		{name: "no checksum", spoil: set(udp+6, 0, 0), want: RefuseChecksum},
		{name: "wrong checksum", spoil: flip(udp + 6), want: RefuseChecksum},
		{name: "another source than the checksum's", spoil: flip(ip + 8), want: RefuseChecksum},
		{name: "another target than the checksum's", spoil: flip(ip + 39), want: RefuseChecksum},
		{name: "another payload than the checksum's", spoil: flip(udp + 9), want: RefuseChecksum},
		{name: "nothing", spoil: cut(0), want: RefuseSize},
		{name: "no room for UDP", spoil: cut(udp + 7), want: RefuseSize},
		{name: "cut off in the payload", spoil: cut(udp + 10), want: RefuseLength},
		{name: "longer than Ethernet", spoil: pad(MaxFrame), want: RefuseSize},
		{name: "IPv4's type", spoil: set(12, 8, 0), want: RefuseProtocol},
		{name: "version 4", spoil: set(ip, 0x45), want: RefuseProtocol},
		{name: "hop-by-hop header", spoil: set(ip+6, 0), want: RefuseProtocol},
		{name: "fragment", spoil: set(ip+6, 44), want: RefuseProtocol},
		{name: "ICMPv6", spoil: set(ip+6, 58), want: RefuseProtocol},
		{name: "payload past the end", spoil: set(ip+4, 0, 19), want: RefuseLength},
		{name: "payload of a jumbogram", spoil: set(ip+4, 0, 0), want: RefuseLength},
		{name: "payload without room for UDP", spoil: set(ip+4, 0, 7), want: RefuseLength},
		{name: "UDP length past IP's", spoil: set(udp+4, 0, 19), want: RefuseLength},
		{name: "UDP length of zero", spoil: set(udp+4, 0, 0), want: RefuseLength},
	})
}

func TestAnICMP6FrameThatLiesIsRefused(t *testing.T) {
	t.Parallel()
	const ip, icmp = 14, 54
	check(t, message6().Frame(), ParseICMP6, []spoiled{
		{name: "nothing wrong", spoil: same},
		{name: "padding behind", spoil: pad(20)},
		{name: "a hop limit that routers have lowered", spoil: set(ip+7, 254)}, // for the protocol above to refuse
		{name: "checksum left to hardware", spoil: flip(icmp + 2), partial: true},
		{name: "wrong checksum", spoil: flip(icmp + 2), want: RefuseChecksum},
		{name: "no checksum", spoil: set(icmp+2, 0, 0), want: RefuseChecksum},
		{name: "another type than the checksum's", spoil: flip(icmp), want: RefuseChecksum},
		{name: "another source than the checksum's", spoil: flip(ip + 20), want: RefuseChecksum},
		{name: "another option than the checksum's", spoil: flip(icmp + 8), want: RefuseChecksum},
		{name: "nothing", spoil: cut(0), want: RefuseSize},
		{name: "no room for a checksum", spoil: cut(icmp + 3), want: RefuseSize},
		{name: "cut off in the body", spoil: cut(icmp + 10), want: RefuseLength},
		{name: "longer than Ethernet", spoil: pad(MaxFrame), want: RefuseSize},
		{name: "IPv4's type", spoil: set(12, 8, 0), want: RefuseProtocol},
		{name: "version 4", spoil: set(ip, 0x45), want: RefuseProtocol},
		{name: "UDP", spoil: set(ip+6, 17), want: RefuseProtocol},
		{name: "hop-by-hop header", spoil: set(ip+6, 0), want: RefuseProtocol}, // as MLD has; neighbour discovery has none (RFC 6980)
		{name: "fragment", spoil: set(ip+6, 44), want: RefuseProtocol},
		{name: "length past the end", spoil: set(ip+4, 0, 17), want: RefuseLength},
		{name: "length without room for a checksum", spoil: set(ip+4, 0, 3), want: RefuseLength},
	})
}

func TestAnARPFrameThatLiesIsRefused(t *testing.T) {
	t.Parallel()
	parse := func(f []byte, _ bool) (*ARP, error) { return ParseARP(f) }
	check(t, question().Frame(), parse, []spoiled{
		{name: "nothing wrong", spoil: same},
		{name: "padding behind", spoil: pad(18)},
		{name: "nothing", spoil: cut(0), want: RefuseSize},
		{name: "cut off", spoil: cut(41), want: RefuseSize},
		{name: "longer than Ethernet", spoil: pad(MaxFrame), want: RefuseSize},
		{name: "IPv4's type", spoil: set(12, 8, 0), want: RefuseProtocol},
		{name: "about IPv6", spoil: set(16, 0x86, 0xdd), want: RefuseProtocol},
		{name: "about Token Ring", spoil: set(15, 6), want: RefuseHardware},
		{name: "hardware addresses of 8 bytes", spoil: set(18, 8), want: RefuseHardware},
		{name: "protocol addresses of 16 bytes", spoil: set(19, 16), want: RefuseHardware},
		{name: "another sender than the frame's", spoil: flip(22), want: RefuseSource},
		{name: "a group as sender", spoil: func(f []byte) []byte { f[6] |= 1; f[22] |= 1; return f }, want: RefuseSource},
	})
}
