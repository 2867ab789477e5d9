package packet

import (
	"encoding/binary"
	"net/netip"
)

// Probe is a packet that only asks to be let through: the first of a TCP connection to Port, or with Port 0 an echo. It is
// known again by ID, which is the identification of IPv4 and the low half of the flow label of IPv6.
type Probe struct {
	From, To MAC
	Src, Dst netip.Addr // of one family
	Sport    uint16
	Port     uint16
	ID       uint16
}

const (
	protoICMP     = 1
	protoTCP      = 6
	tcpHeader     = 20
	tcpSYN        = 2
	icmpEcho      = 8
	icmp6Echo     = 128
	echoHeader    = 8
	checksumOfTCP = 16
)

// Frame is the probe as an Ethernet frame with full checksums.
func (p Probe) Frame() []byte {
	v6 := p.Dst.Is6()
	payload, proto, at := p.tcp(), byte(protoTCP), checksumOfTCP
	if p.Port == 0 {
		payload, proto, at = p.echo(v6), protoICMP, 2
		if v6 {
			proto = protoICMPv6
		}
	}
	header := IPv4Header
	if v6 {
		header = IPv6Header
	}
	f := make([]byte, EthHeader+header+len(payload))
	copy(f, p.To[:])
	copy(f[6:], p.From[:])
	message := f[EthHeader+header:]
	copy(message, payload)
	if v6 {
		binary.BigEndian.PutUint16(f[12:], TypeIPv6)
		putIPv6(f, p.Src, p.Dst, proto, 64, len(payload))
		binary.BigEndian.PutUint16(f[EthHeader+2:], p.ID)
	} else {
		p.ipv4(f, proto, len(payload))
	}
	start := uint32(0)
	if v6 || proto == protoTCP {
		start = pseudo(append(p.Src.AsSlice(), p.Dst.AsSlice()...), uint32(proto), len(payload))
	}
	putSum(message, at, start)
	return f
}

func (p Probe) ipv4(f []byte, proto byte, length int) {
	putIPv4(f, p.Src, p.Dst, length)
	ip := f[EthHeader:]
	ip[1], ip[9] = 0, proto
	binary.BigEndian.PutUint16(ip[4:], p.ID)
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint16(ip[10:], ^fold(sum(ip[:IPv4Header], 0)))
}

func (p Probe) tcp() []byte {
	b := make([]byte, tcpHeader)
	binary.BigEndian.PutUint16(b, p.Sport)
	binary.BigEndian.PutUint16(b[2:], p.Port)
	binary.BigEndian.PutUint32(b[4:], uint32(p.ID)) // the sequence number begins anywhere
	b[12], b[13] = tcpHeader/4<<4, tcpSYN
	binary.BigEndian.PutUint16(b[14:], 64240)
	return b
}

func (p Probe) echo(v6 bool) []byte {
	b := make([]byte, echoHeader)
	b[0] = icmpEcho
	if v6 {
		b[0] = icmp6Echo
	}
	binary.BigEndian.PutUint16(b[4:], p.Sport)
	binary.BigEndian.PutUint16(b[6:], 1)
	return b
}
