package dhcp4

import (
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/iana"

	"taproom/internal/network/packet"
)

// Snooped is what a message that passed between a client and some server says about the client's address.
type Snooped struct {
	Client  packet.MAC // the network card that the message is about
	Server  netip.Addr // where an acknowledgement came from; the zero address when the client spoke
	Address netip.Addr
	Seconds uint32 // how long the client may use the address, or Forever; zero when it gives the address back
}

// SnoopServer reads a server's frame to a client. Only an acknowledgement (RFC 2131, 4.3.2) that gives an address for a time
// says something; all else is a packet.Refusal. partial says that the sender left the UDP checksum to the hardware.
func SnoopServer(frame []byte, partial bool) (Snooped, error) {
	d, err := packet.ParseUDP4(frame, partial)
	if err != nil {
		return Snooped{}, err
	}
	if d.Dst.Port() != ClientPort || d.Src.Port() != ServerPort {
		return Snooped{}, packet.RefuseProtocol
	}
	m, err := dhcpv4.FromBytes(d.Payload)
	if err != nil || m.OpCode != dhcpv4.OpcodeBootReply {
		return Snooped{}, packet.RefuseMessage
	}
	if m.HWType != iana.HWTypeEthernet || d.Payload[2] != 6 {
		return Snooped{}, packet.RefuseHardware
	}
	a, ok := netip.AddrFromSlice(m.YourIPAddr.To4())
	seconds := number32(m.Options.Get(dhcpv4.OptionIPAddressLeaseTime))
	if m.MessageType() != dhcpv4.MessageTypeAck || !ok || a.IsUnspecified() || seconds == 0 {
		return Snooped{}, packet.RefuseUnknown
	}
	return Snooped{Client: packet.MAC(m.ClientHWAddr), Server: d.Src.Addr(), Address: a, Seconds: seconds}, nil
}

// SnoopClient reads a client's frame to a server. Only a message that gives an address back, a release or a decline, says
// something; all else is a packet.Refusal.
func SnoopClient(frame []byte, partial bool) (Snooped, error) {
	p, err := ParseFrame(frame, partial)
	if err != nil {
		return Snooped{}, err
	}
	var a netip.Addr
	var ok bool
	switch p.Message.MessageType() {
	case dhcpv4.MessageTypeRelease:
		a, ok = netip.AddrFromSlice(p.Message.ClientIPAddr.To4())
	case dhcpv4.MessageTypeDecline:
		a, ok = netip.AddrFromSlice(p.Message.Options.Get(dhcpv4.OptionRequestedIPAddress))
	}
	if !ok || !a.Is4() || a.IsUnspecified() {
		return Snooped{}, packet.RefuseUnknown
	}
	return Snooped{Client: p.Source, Address: a}, nil
}
