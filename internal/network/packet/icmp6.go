package packet

import (
	"encoding/binary"
	"net/netip"
)

// icmpHeader is type, code and checksum.
const icmpHeader = 4

// ICMP6 is an ICMPv6 message with what surrounded it.
type ICMP6 struct {
	From, To MAC
	Src, Dst netip.Addr
	Type     byte
	Code     byte
	Hops     byte   // neighbour discovery is believed with 255 alone (RFC 4861, 6.1)
	Body     []byte // behind the checksum; part of the frame
}

// ParseICMP6 takes an Ethernet frame with an ICMPv6 message apart, as ParseUDP6 does with a datagram.
func ParseICMP6(frame []byte, partial bool) (*ICMP6, error) {
	if len(frame) < EthHeader+IPv6Header+icmpHeader || len(frame) > MaxFrame {
		return nil, RefuseSize
	}
	ip := frame[EthHeader:]
	length := int(binary.BigEndian.Uint16(ip[4:]))
	switch {
	case Type(frame) != TypeIPv6 || ip[0]>>4 != 6 || ip[6] != protoICMPv6:
		return nil, RefuseProtocol
	case length > len(ip)-IPv6Header || length < icmpHeader:
		return nil, RefuseLength
	}
	m := ip[IPv6Header : IPv6Header+length]
	if !partial && fold(sum(m, pseudo(ip[8:40], protoICMPv6, length))) != 0xffff {
		return nil, RefuseChecksum
	}
	return &ICMP6{
		From: MAC(frame[6:12]), To: MAC(frame[:6]), Src: netip.AddrFrom16([16]byte(ip[8:24])), Dst: netip.AddrFrom16([16]byte(ip[24:40])),
		Type: m[0], Code: m[1], Hops: ip[7], Body: m[icmpHeader:],
	}, nil
}

// Frame returns the whole Ethernet frame of a message.
func (m *ICMP6) Frame() []byte {
	length := icmpHeader + len(m.Body)
	f := make([]byte, EthHeader+IPv6Header, EthHeader+IPv6Header+length)
	copy(f, m.To[:])
	copy(f[6:], m.From[:])
	putIPv6(f, m.Src, m.Dst, protoICMPv6, m.Hops, length)
	f = append(f, m.Type, m.Code, 0, 0)
	f = append(f, m.Body...)
	putSum(f[EthHeader+IPv6Header:], 2, pseudo(f[EthHeader+8:EthHeader+40], protoICMPv6, length))
	return f
}
