package dhcp4

import (
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/iana"

	"taproom/internal/network/packet"
)

// Ports of both ends.
const (
	ServerPort = 67
	ClientPort = 68
)

// Packet is a DHCP message with what surrounded it.
type Packet struct {
	Source  packet.MAC
	Target  netip.Addr // the IP destination
	Message *dhcpv4.DHCPv4
}

// ParseFrame takes an Ethernet frame apart. partial says that the sender left the UDP checksum to the hardware. Errors are
// packet.Refusals.
func ParseFrame(frame []byte, partial bool) (*Packet, error) {
	d, err := packet.ParseUDP4(frame, partial)
	if err != nil {
		return nil, err
	}
	if d.Dst.Port() != ServerPort {
		return nil, packet.RefuseProtocol
	}
	m, err := dhcpv4.FromBytes(d.Payload)
	if err != nil {
		return nil, packet.RefuseMessage
	}
	p := &Packet{Source: d.From, Target: d.Dst.Addr(), Message: m}
	return p, p.check(d.Payload)
}

// check refuses what the library lets pass: it clamps hlen, for one.
func (p *Packet) check(payload []byte) error {
	m := p.Message
	switch {
	case m.OpCode != dhcpv4.OpcodeBootRequest || m.MessageType() == dhcpv4.MessageTypeNone:
		return packet.RefuseMessage
	case m.HWType != iana.HWTypeEthernet || payload[2] != 6:
		return packet.RefuseHardware
	case packet.MAC(m.ClientHWAddr) != p.Source || p.Source.IsGroup() || p.Source == packet.MAC{}:
		return packet.RefuseSource
	case !m.GatewayIPAddr.IsUnspecified():
		return packet.RefuseRelay
	case len(m.Options.Get(dhcpv4.OptionClientIdentifier)) > 255:
		return packet.RefuseMessage
	}
	return nil
}

// Reply is a message and where it goes.
type Reply struct {
	To      packet.MAC
	Server  netip.Addr // our address that it comes from
	Target  netip.Addr
	Message *dhcpv4.DHCPv4
}

// Frame returns the whole Ethernet frame.
func (r *Reply) Frame(from packet.MAC) []byte {
	d := packet.Datagram{
		From: from, To: r.To, Payload: r.Message.ToBytes(),
		Src: netip.AddrPortFrom(r.Server, ServerPort), Dst: netip.AddrPortFrom(r.Target, ClientPort),
	}
	return d.Frame()
}
