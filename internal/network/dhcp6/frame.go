package dhcp6

import (
	"bytes"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv6"

	"taproom/internal/network/packet"
)

// Ports of both ends (RFC 8415, 7.2).
const (
	ServerPort = 547
	ClientPort = 546
)

// maxMessage is what an Ethernet frame holds: a fragment would be lost in many firewalls.
const maxMessage = packet.MaxFrame - packet.EthHeader - packet.IPv6Header - packet.UDPHeader

// servers is where clients send (RFC 8415, 7.1).
func servers() netip.Addr { return netip.AddrFrom16([16]byte{0: 0xff, 1: 2, 13: 1, 15: 2}) }

// Packet is a client's message with what surrounded it.
type Packet struct {
	Source packet.MAC
	From   netip.Addr // the client's link-local address
	Target netip.Addr // where it sent the message
	Type   dhcpv6.MessageType

	message
}

// ParseFrame takes an Ethernet frame apart. partial says that the sender left the UDP checksum to the hardware. Errors are
// packet.Refusals. The packet does not refer to the frame.
func ParseFrame(frame []byte, partial bool) (*Packet, error) {
	d, err := packet.ParseUDP6(frame, partial)
	if err != nil {
		return nil, err
	}
	p := &Packet{Source: d.From, From: d.Src.Addr(), Target: d.Dst.Addr()}
	switch {
	case d.Dst.Port() != ServerPort:
		return nil, packet.RefuseProtocol
	case !p.From.IsLinkLocalUnicast() || p.Source.IsGroup() || p.Source == packet.MAC{}:
		return nil, packet.RefuseSource // RFC 8415, 7.1: clients send from a link-local address
	case len(d.Payload) < dhcpv6.MessageHeaderSize:
		return nil, packet.RefuseMessage
	}
	p.Type = dhcpv6.MessageType(d.Payload[0])
	switch p.Type {
	case dhcpv6.MessageTypeRelayForward, dhcpv6.MessageTypeRelayReply:
		return nil, packet.RefuseRelay
	case dhcpv6.MessageTypeSolicit, dhcpv6.MessageTypeRequest, dhcpv6.MessageTypeConfirm, dhcpv6.MessageTypeRenew,
		dhcpv6.MessageTypeRebind, dhcpv6.MessageTypeRelease, dhcpv6.MessageTypeDecline, dhcpv6.MessageTypeInformationRequest:
	default:
		return nil, packet.RefuseMessage // for clients, or of protocols beside this one
	}
	if p.message, err = parseMessage(bytes.Clone(d.Payload)); err != nil {
		return nil, packet.RefuseMessage
	}
	return p, nil
}

// Reply is a message and where it goes.
type Reply struct {
	To      packet.MAC
	Target  netip.Addr
	Message *dhcpv6.Message
}

// Frame returns the whole Ethernet frame from the bridge and its link-local address.
func (r *Reply) Frame(from packet.MAC, source netip.Addr) []byte {
	d := packet.Datagram{
		From: from, To: r.To, Payload: r.Message.ToBytes(),
		Src: netip.AddrPortFrom(source, ServerPort), Dst: netip.AddrPortFrom(r.Target, ClientPort),
	}
	return d.Frame()
}
