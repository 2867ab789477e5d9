package packet

import (
	"encoding/binary"
	"net/netip"
)

// Sizes of headers and frames.
const (
	EthHeader  = 14
	IPv4Header = 20
	IPv6Header = 40
	UDPHeader  = 8
	MaxFrame   = EthHeader + 1500 // without a VLAN tag
)

// The Ethernet types that are understood.
const (
	TypeIPv4 = 0x0800
	TypeARP  = 0x0806
	TypeIPv6 = 0x86dd
)

// Protocol numbers.
const (
	protoUDP    = 17
	protoICMPv6 = 58
)

// Datagram is a UDP message with what surrounded it.
type Datagram struct {
	From, To MAC
	Src, Dst netip.AddrPort
	Payload  []byte // part of the frame
}

// Type returns the Ethernet type of a frame, or zero.
func Type(frame []byte) uint16 {
	if len(frame) < EthHeader {
		return 0
	}
	return binary.BigEndian.Uint16(frame[12:])
}

// ParseUDP4 takes an Ethernet frame with an unfragmented IPv4 UDP datagram apart. partial says that the sender left the
// UDP checksum to the hardware, as guests with virtio NICs do. Errors are Refusals.
func ParseUDP4(frame []byte, partial bool) (*Datagram, error) {
	if len(frame) < EthHeader+IPv4Header+UDPHeader || len(frame) > MaxFrame {
		return nil, RefuseSize
	}
	ip := frame[EthHeader:]
	header := int(ip[0]&0xf) * 4
	total := int(binary.BigEndian.Uint16(ip[2:]))
	switch {
	case Type(frame) != TypeIPv4 || ip[0]>>4 != 4 || ip[9] != protoUDP || binary.BigEndian.Uint16(ip[6:])&0x3fff != 0:
		return nil, RefuseProtocol
	case header < IPv4Header || total > len(ip) || total < header+UDPHeader:
		return nil, RefuseLength
	case fold(sum(ip[:header], 0)) != 0xffff:
		return nil, RefuseChecksum
	}
	// Ethernet pads short frames, so total may be less than what is there.
	d, err := parseUDP(ip[header:total], ip[12:20], partial)
	if err != nil {
		return nil, err
	}
	d.From, d.To = MAC(frame[6:12]), MAC(frame[:6])
	return d, nil
}

// ParseUDP6 is ParseUDP4 for IPv6. A datagram behind extension headers is refused: no client sends one.
func ParseUDP6(frame []byte, partial bool) (*Datagram, error) {
	if len(frame) < EthHeader+IPv6Header+UDPHeader || len(frame) > MaxFrame {
		return nil, RefuseSize
	}
	ip := frame[EthHeader:]
	payload := int(binary.BigEndian.Uint16(ip[4:]))
	switch {
	case Type(frame) != TypeIPv6 || ip[0]>>4 != 6 || ip[6] != protoUDP:
		return nil, RefuseProtocol
	case payload > len(ip)-IPv6Header || payload < UDPHeader:
		return nil, RefuseLength
	case !partial && binary.BigEndian.Uint16(ip[IPv6Header+6:]) == 0: // RFC 8200, 8.1
		return nil, RefuseChecksum
	}
	d, err := parseUDP(ip[IPv6Header:IPv6Header+payload], ip[8:40], partial)
	if err != nil {
		return nil, err
	}
	d.From, d.To = MAC(frame[6:12]), MAC(frame[:6])
	return d, nil
}

func parseUDP(udp, addresses []byte, partial bool) (*Datagram, error) {
	length := int(binary.BigEndian.Uint16(udp[4:]))
	if length < UDPHeader || length > len(udp) {
		return nil, RefuseLength
	}
	udp = udp[:length]
	if !partial && binary.BigEndian.Uint16(udp[6:]) != 0 && fold(sum(udp, pseudo(addresses, protoUDP, length))) != 0xffff {
		return nil, RefuseChecksum
	}
	half := len(addresses) / 2
	src, _ := netip.AddrFromSlice(addresses[:half])
	dst, _ := netip.AddrFromSlice(addresses[half:])
	return &Datagram{
		Src:     netip.AddrPortFrom(src, binary.BigEndian.Uint16(udp)),
		Dst:     netip.AddrPortFrom(dst, binary.BigEndian.Uint16(udp[2:])),
		Payload: udp[UDPHeader:],
	}, nil
}

// Frame returns the whole Ethernet frame of a datagram, checksums filled in: old clients drop what has a partial one,
// which hosts otherwise repair with a firewall rule. Both addresses are of one family.
func (d *Datagram) Frame() []byte {
	header := IPv4Header
	if d.Src.Addr().Is6() {
		header = IPv6Header
	}
	length := UDPHeader + len(d.Payload)
	f := make([]byte, EthHeader+header, EthHeader+header+length)
	copy(f, d.To[:])
	copy(f[6:], d.From[:])
	ip := f[EthHeader:]
	if header == IPv4Header {
		putIPv4(f, d.Src.Addr(), d.Dst.Addr(), length)
	} else {
		putIPv6(f, d.Src.Addr(), d.Dst.Addr(), protoUDP, 64, length)
	}
	f = binary.BigEndian.AppendUint16(f, d.Src.Port())
	f = binary.BigEndian.AppendUint16(f, d.Dst.Port())
	f = binary.BigEndian.AppendUint16(f, uint16(length))
	f = append(f, 0, 0)
	f = append(f, d.Payload...)
	addresses := ip[12:20]
	if header == IPv6Header {
		addresses = ip[8:40]
	}
	putSum(f[EthHeader+header:], 6, pseudo(addresses, protoUDP, length))
	return f
}

func putIPv4(f []byte, src, dst netip.Addr, length int) {
	binary.BigEndian.PutUint16(f[12:], TypeIPv4)
	ip := f[EthHeader:]
	ip[0], ip[1] = 0x45, 0x10 // low delay, as DHCP servers mark it
	binary.BigEndian.PutUint16(ip[2:], uint16(IPv4Header+length))
	ip[8], ip[9] = 64, protoUDP
	copy(ip[12:], src.AsSlice())
	copy(ip[16:], dst.AsSlice())
	binary.BigEndian.PutUint16(ip[10:], ^fold(sum(ip[:IPv4Header], 0)))
}

func putIPv6(f []byte, src, dst netip.Addr, proto, hops byte, length int) {
	binary.BigEndian.PutUint16(f[12:], TypeIPv6)
	ip := f[EthHeader:]
	ip[0] = 0x60
	binary.BigEndian.PutUint16(ip[4:], uint16(length))
	ip[6], ip[7] = proto, hops
	copy(ip[8:], src.AsSlice())
	copy(ip[24:], dst.AsSlice())
}

// putSum fills in the checksum of a message at an offset. Zero would mean "none" (RFC 768).
func putSum(message []byte, at int, start uint32) {
	check := ^fold(sum(message, start))
	if check == 0 {
		check = 0xffff
	}
	binary.BigEndian.PutUint16(message[at:], check)
}

// pseudo starts a checksum with addresses, protocol and length.
func pseudo(addresses []byte, proto uint32, length int) uint32 {
	return sum(addresses, proto+uint32(length))
}

func sum(b []byte, s uint32) uint32 {
	for ; len(b) > 1; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	return s
}

func fold(s uint32) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}
