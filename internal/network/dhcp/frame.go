package dhcp

import (
	"encoding/binary"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/iana"
)

// Refusal is why a frame got no answer. It doubles as the name of a counter; there is a fixed, small number of them.
type Refusal string

// Error implements error.
func (r Refusal) Error() string { return "refused: " + string(r) }

// The reasons for which a frame is dropped before its content counts.
const (
	RefuseSize     Refusal = "size"             // shorter than a message or longer than an Ethernet frame
	RefuseProtocol Refusal = "protocol"         // not an unfragmented IPv4 UDP datagram to port 67
	RefuseLength   Refusal = "length"           // the lengths inside disagree
	RefuseChecksum Refusal = "checksum"         // IP header or UDP
	RefuseMessage  Refusal = "malformed"        // not a DHCP message, or its options run over the end
	RefuseHardware Refusal = "hardware"         // not Ethernet, or hlen lies
	RefuseSource   Refusal = "spoofed source"   // chaddr is not the sender, or the sender claims to be us or a group
	RefuseRelay    Refusal = "relayed"          // giaddr is set
	RefuseForeign  Refusal = "foreign server"   // meant for another server, or in a VLAN
	RefuseUnknown  Refusal = "nothing to say"   // a client or an address that is not ours to talk about
	RefuseFull     Refusal = "range exhausted"  // every address is in use
	RefuseRate     Refusal = "rate limit"       // more messages than a network may send
	RefuseStorage  Refusal = "lease not stored" // the lease file does not take any more
)

const (
	ethHeader  = 14
	ipHeader   = 20
	udpHeader  = 8
	maxFrame   = ethHeader + 1500
	serverPort = 67
	clientPort = 68
)

// Packet is a DHCP message with what surrounded it.
type Packet struct {
	Source  MAC
	Target  netip.Addr // the IP destination
	Message *dhcpv4.DHCPv4
}

// ParseFrame takes an Ethernet frame apart. Nothing in it is trusted: every length is checked against the one around it.
// partial says that the sender left the UDP checksum to the hardware, as guests with virtio NICs do.
func ParseFrame(frame []byte, partial bool) (*Packet, error) {
	if len(frame) < ethHeader+ipHeader+udpHeader || len(frame) > maxFrame {
		return nil, RefuseSize
	}
	if binary.BigEndian.Uint16(frame[12:]) != 0x0800 {
		return nil, RefuseProtocol
	}
	p := &Packet{Source: MAC(frame[6:12])}
	payload, err := p.parseIP(frame[ethHeader:], partial)
	if err != nil {
		return nil, err
	}
	p.Message, err = dhcpv4.FromBytes(payload)
	if err != nil {
		return nil, RefuseMessage
	}
	return p, p.check(payload)
}

func (p *Packet) parseIP(ip []byte, partial bool) ([]byte, error) {
	header := int(ip[0]&0xf) * 4
	total := int(binary.BigEndian.Uint16(ip[2:]))
	switch {
	case ip[0]>>4 != 4 || ip[9] != 17 || binary.BigEndian.Uint16(ip[6:])&0x3fff != 0:
		return nil, RefuseProtocol
	case header < ipHeader || total > len(ip) || total < header+udpHeader:
		return nil, RefuseLength
	case fold(sum(ip[:header], 0)) != 0xffff:
		return nil, RefuseChecksum
	}
	udp := ip[header:total] // Ethernet pads short frames, so total may be less than what is there
	length := int(binary.BigEndian.Uint16(udp[4:]))
	switch {
	case binary.BigEndian.Uint16(udp[2:]) != serverPort:
		return nil, RefuseProtocol
	case length < udpHeader || length > len(udp):
		return nil, RefuseLength
	}
	udp = udp[:length]
	if !partial && binary.BigEndian.Uint16(udp[6:]) != 0 && fold(sum(udp, pseudo(ip[12:20], length))) != 0xffff {
		return nil, RefuseChecksum
	}
	p.Target = netip.AddrFrom4([4]byte(ip[16:20]))
	return udp[udpHeader:], nil
}

// check refuses what the library lets pass: it clamps hlen, for one.
func (p *Packet) check(payload []byte) error {
	m := p.Message
	switch {
	case m.OpCode != dhcpv4.OpcodeBootRequest || m.MessageType() == dhcpv4.MessageTypeNone:
		return RefuseMessage
	case m.HWType != iana.HWTypeEthernet || payload[2] != 6:
		return RefuseHardware
	case MAC(m.ClientHWAddr) != p.Source || p.Source.group() || p.Source == MAC{}:
		return RefuseSource
	case !m.GatewayIPAddr.IsUnspecified():
		return RefuseRelay
	case len(m.Options.Get(dhcpv4.OptionClientIdentifier)) > 255:
		return RefuseMessage
	}
	return nil
}

// Reply is a message and where it goes.
type Reply struct {
	To      MAC
	Target  netip.Addr
	Message *dhcpv4.DHCPv4
}

// Frame returns the whole Ethernet frame, both checksums filled in: old clients drop what has a partial one, which hosts
// otherwise repair with a firewall rule.
func (r *Reply) Frame(from MAC, server netip.Addr) []byte {
	payload := r.Message.ToBytes()
	f := make([]byte, ethHeader+ipHeader+udpHeader, ethHeader+ipHeader+udpHeader+len(payload))
	copy(f, r.To[:])
	copy(f[6:], from[:])
	binary.BigEndian.PutUint16(f[12:], 0x0800)

	ip := f[ethHeader:]
	ip[0], ip[1] = 0x45, 0x10 // low delay, as DHCP servers mark it
	binary.BigEndian.PutUint16(ip[2:], uint16(ipHeader+udpHeader+len(payload)))
	ip[8], ip[9] = 64, 17
	src, dst := server.As4(), r.Target.As4()
	copy(ip[12:], src[:])
	copy(ip[16:], dst[:])
	binary.BigEndian.PutUint16(ip[10:], ^fold(sum(ip[:ipHeader], 0)))

	udp := f[ethHeader+ipHeader:]
	length := udpHeader + len(payload)
	binary.BigEndian.PutUint16(udp, serverPort)
	binary.BigEndian.PutUint16(udp[2:], clientPort)
	binary.BigEndian.PutUint16(udp[4:], uint16(length))
	f = append(f, payload...)
	udp = f[ethHeader+ipHeader:]
	check := ^fold(sum(udp, pseudo(ip[12:20], length)))
	if check == 0 {
		check = 0xffff // zero would mean "none" (RFC 768)
	}
	binary.BigEndian.PutUint16(udp[6:], check)
	return f
}

// pseudo starts the UDP checksum with addresses, protocol and length.
func pseudo(addresses []byte, length int) uint32 {
	return sum(addresses, 17+uint32(length))
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
