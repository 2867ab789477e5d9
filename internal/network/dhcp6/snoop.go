package dhcp6

import (
	"encoding/binary"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv6"

	"taproom/internal/network/packet"
)

// Snooped is what a message that passed between a client and some server says about the client's addresses.
type Snooped struct {
	Client    packet.MAC // the network card that sends or gets the frame
	Server    netip.Addr // where a reply came from; the zero address when the client spoke
	Addresses []Given    // at most as many as one message is answered about
}

// Given is an address that a client has been given, or gives back.
type Given struct {
	Address netip.Addr
	Seconds uint32 // the valid lifetime (RFC 8415, 21.6), all ones for ever; zero when the address is given back
}

// SnoopServer reads a server's frame to a client. Only a reply (RFC 8415, 16.10) that holds addresses says something; all else
// is a packet.Refusal. Delegated prefixes are no addresses of the client and are passed over. partial says that the sender
// left the UDP checksum to the hardware.
func SnoopServer(frame []byte, partial bool) (Snooped, error) {
	d, err := packet.ParseUDP6(frame, partial)
	if err != nil {
		return Snooped{}, err
	}
	switch {
	case d.Dst.Port() != ClientPort:
		return Snooped{}, packet.RefuseProtocol
	case len(d.Payload) < dhcpv6.MessageHeaderSize:
		return Snooped{}, packet.RefuseMessage
	case dhcpv6.MessageType(d.Payload[0]) != dhcpv6.MessageTypeReply:
		return Snooped{}, packet.RefuseUnknown
	case d.To.IsGroup():
		return Snooped{}, packet.RefuseUnknown // RFC 8415, 18.3.10: a reply goes to one client
	}
	s := Snooped{Client: d.To, Server: d.Src.Addr()}
	options, err := walk(d.Payload[dhcpv6.MessageHeaderSize:])
	if err != nil {
		return Snooped{}, packet.RefuseMessage
	}
	for _, o := range options {
		if err := s.read(o.Code(), o.ToBytes()); err != nil {
			return Snooped{}, err
		}
	}
	if len(s.Addresses) == 0 {
		return Snooped{}, packet.RefuseUnknown
	}
	return s, nil
}

// read takes the addresses out of an identity association; other options hold none.
func (s *Snooped) read(code dhcpv6.OptionCode, b []byte) error {
	header := iaHeader
	switch code {
	case dhcpv6.OptionIANA:
	case dhcpv6.OptionIATA:
		header = iataHeader
	default:
		return nil
	}
	if len(b) < header {
		return packet.RefuseMessage
	}
	options, err := walk(b[header:])
	if err != nil {
		return packet.RefuseMessage
	}
	for _, o := range options {
		v := o.ToBytes()
		switch {
		case o.Code() != dhcpv6.OptionIAAddr:
		case len(v) < iaAddr:
			return packet.RefuseMessage
		case len(s.Addresses) < maxListed:
			valid := binary.BigEndian.Uint32(v[20:]) // behind the address and the preferred lifetime
			s.Addresses = append(s.Addresses, Given{netip.AddrFrom16([16]byte(v)), valid})
		}
	}
	return nil
}

// SnoopClient reads a client's frame to a server. Only a message that gives addresses back, a release or a decline, says
// something; all else is a packet.Refusal.
func SnoopClient(frame []byte, partial bool) (Snooped, error) {
	p, err := ParseFrame(frame, partial)
	if err != nil {
		return Snooped{}, err
	}
	s := Snooped{Client: p.Source}
	if p.Type == dhcpv6.MessageTypeRelease || p.Type == dhcpv6.MessageTypeDecline {
		for _, a := range p.ias {
			for _, addr := range a.addresses {
				s.Addresses = append(s.Addresses, Given{Address: addr})
			}
		}
	}
	if len(s.Addresses) == 0 {
		return Snooped{}, packet.RefuseUnknown
	}
	return s, nil
}
