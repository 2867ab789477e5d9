package filtertest

import (
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"strings"
)

// Addresses of the frames, where a case says nothing else.
const (
	macA = "52:54:00:00:00:0a"
	macB = "52:54:00:00:00:0b"
	ipA  = "10.0.0.10"
	ipB  = "10.0.0.11"
	ip6A = "2001:db8::a"
	ip6B = "2001:db8::b"
)

// frame is one, with the name that failures have.
type frame struct {
	name string
	b    []byte
}

func mac(s string) []byte {
	a, err := net.ParseMAC(s)
	if err != nil {
		panic(err)
	}
	return a
}

func ip(s string) []byte { return netip.MustParseAddr(s).AsSlice() }

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

func join(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func u16(n int) []byte { return binary.BigEndian.AppendUint16(nil, uint16(n)) }
func u32(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// ether is a frame of Ethernet.
func ether(src, dst string, kind int, payload ...[]byte) []byte {
	return join(mac(dst), mac(src), u16(kind), join(payload...))
}

// tagged is a frame with a tag of IEEE 802.1Q.
func tagged(id, kind int, payload ...[]byte) []byte {
	return ether(macA, macB, 0x8100, u16(id), u16(kind), join(payload...))
}

// arpFor is a frame of ARP or RARP.
func arpFor(kind, op int, smac, sip, tmac, tip string) []byte {
	return ether(smac, "ff:ff:ff:ff:ff:ff", kind, unhex("0001 0800 06 04"), u16(op), mac(smac), ip(sip), mac(tmac), ip(tip))
}

// ip4 is a packet of IPv4 in a frame. tos is the octet, fragment the field of flags and offset.
type ip4 struct {
	src, dst      string
	proto         int
	tos, fragment int
	payload       []byte
	smac, dmac    string
}

func (p ip4) frame() []byte {
	p.src, p.dst = either(p.src, ipA), either(p.dst, ipB)
	h := join([]byte{0x45, byte(p.tos)}, u16(20+len(p.payload)), u16(7), u16(p.fragment), []byte{64, byte(p.proto)}, u16(0), ip(p.src), ip(p.dst))
	binary.BigEndian.PutUint16(h[10:], checksum(h))
	return ether(either(p.smac, macA), either(p.dmac, macB), 0x0800, h, p.payload)
}

// ip6 is a packet of IPv6 in a frame. next is the protocol of the payload, which may begin with more headers.
type ip6 struct {
	src, dst      string
	next, traffic int
	payload       []byte
	smac, dmac    string
}

func (p ip6) frame() []byte {
	h := join(u32(6<<28|p.traffic<<20), u16(len(p.payload)), []byte{byte(p.next), 64}, ip(either(p.src, ip6A)), ip(either(p.dst, ip6B)))
	return ether(either(p.smac, macA), either(p.dmac, macB), 0x86dd, h, p.payload)
}

func either(s, or string) string {
	if s == "" {
		return or
	}
	return s
}

func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// udp is a datagram, which serves for UDP-Lite and, as far as its ports go, for SCTP; its checksum is none.
func udp(sport, dport int) []byte {
	return join(u16(sport), u16(dport), u16(12), u16(0), []byte("data"))
}

// tcp is a segment with flags and options, which must be of whole words.
func tcp(sport, dport, flags int, options ...byte) []byte {
	return join(u16(sport), u16(dport), u32(1), u32(0), []byte{byte(5+len(options)/4) << 4, byte(flags)}, u16(1000), u32(0), options)
}

func icmp(kind, code int) []byte { return []byte{byte(kind), byte(code), 0, 0, 0, 1, 0, 1} }

// bpdu is one of IEEE 802.1D 9.3.1, in a frame to the bridges' group address.
type bpdu struct {
	kind, flags, rootPriority, rootCost, senderPriority, port, age, maxAge, hello, delay int
	root, sender                                                                         string
}

func (b bpdu) frame() []byte {
	body := join(unhex("42 42 03 0000 00"), []byte{byte(b.kind), byte(b.flags)}, u16(b.rootPriority), mac(either(b.root, macA)), u32(b.rootCost),
		u16(b.senderPriority), mac(either(b.sender, macB)), u16(b.port), u16(b.age), u16(b.maxAge), u16(b.hello), u16(b.delay))
	return ether(macA, "01:80:c2:00:00:00", len(body), body)
}

// SYN is the frame that begins a connection of TCP, of the guest with its peer. Its checksum is right: connection tracking looks at it.
func SYN(sport, dport int) []byte {
	segment := tcp(sport, dport, 2)
	pseudo := join(ip(ipA), ip(ipB), u16(6), u16(len(segment)), segment) // RFC 9293 3.1
	copy(segment[16:], u16(int(checksum(pseudo))))
	return ip4{proto: 6, payload: segment}.frame()
}
