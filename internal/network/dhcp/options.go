package dhcp

import (
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"strings"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// minMessage is what every client must be able to receive, IP header included (RFC 2131, 2).
const minMessage = 576

// shortestLease is the least a client can ask for: below two minutes it would do little but ask.
const shortestLease = 120

// bare is a reply without anything but who talks to whom.
func (s *Server) bare(m *dhcpv4.DHCPv4, kind dhcpv4.MessageType) *dhcpv4.DHCPv4 {
	r := &dhcpv4.DHCPv4{
		OpCode: dhcpv4.OpcodeBootReply, HWType: m.HWType, TransactionID: m.TransactionID, Flags: m.Flags & 0x8000,
		ClientIPAddr: net.IPv4zero, YourIPAddr: net.IPv4zero, ServerIPAddr: net.IPv4zero, GatewayIPAddr: net.IPv4zero,
		ClientHWAddr: m.ClientHWAddr, Options: dhcpv4.Options{},
	}
	r.UpdateOption(dhcpv4.OptMessageType(kind))
	r.UpdateOption(dhcpv4.OptServerIdentifier(s.net.Server.AsSlice()))
	if id := m.Options.Get(dhcpv4.OptionClientIdentifier); len(id) > 0 {
		r.Options[dhcpv4.OptionClientIdentifier.Code()] = id // RFC 6842
	}
	return r
}

// reply is a reply with everything the client asked for and the network has, a lease excepted.
func (s *Server) reply(m *dhcpv4.DHCPv4, c client, kind dhcpv4.MessageType) *Reply {
	r := s.bare(m, kind)
	r.ClientIPAddr = m.ClientIPAddr
	if kind == dhcpv4.MessageTypeOffer {
		r.ClientIPAddr = net.IPv4zero
	}
	if s.net.NextServer.IsValid() {
		r.ServerIPAddr = s.net.NextServer.AsSlice()
	}
	r.BootFileName = s.net.BootFile

	list := m.Options.Get(dhcpv4.OptionParameterRequestList)
	limit := max(minMessage, int(number16(m.Options.Get(dhcpv4.OptionMaximumDHCPMessageSize)))) - ipHeader - udpHeader
	limit = min(limit, maxFrame-ethHeader-ipHeader-udpHeader)
	put := func(code dhcpv4.OptionCode, value []byte) {
		asked := len(list) == 0 || strings.IndexByte(string(list), code.Code()) >= 0
		if !asked || len(value) == 0 {
			return
		}
		r.Options[code.Code()] = value
		if len(r.ToBytes()) > limit-leaseRoom { // the least important come last and are left out
			r.Options.Del(code)
		}
	}
	put(dhcpv4.OptionSubnetMask, net.CIDRMask(s.net.Prefix.Bits(), 32))
	put(dhcpv4.OptionRouter, s.net.Gateway.AsSlice())
	var dns []byte
	for _, a := range s.net.DNS {
		dns = append(dns, a.AsSlice()...)
	}
	put(dhcpv4.OptionDomainNameServer, dns)
	put(dhcpv4.OptionBroadcastAddress, broadcast(s.net.Prefix).AsSlice())
	if s.net.MTU != 0 {
		put(dhcpv4.OptionInterfaceMTU, binary.BigEndian.AppendUint16(nil, s.net.MTU))
	}
	if h := s.pool.host(c); h != nil {
		put(dhcpv4.OptionHostName, []byte(h.Name))
	}
	put(dhcpv4.OptionDomainName, []byte(s.net.Domain))
	return &Reply{Message: r}
}

// leaseRoom is what grant adds: three times of four bytes with their headers.
const leaseRoom = 18

// grant writes a lease into a reply and returns its length.
func (s *Server) grant(r, m *dhcpv4.DHCPv4, c client, a netip.Addr) uint32 {
	r.YourIPAddr = a.AsSlice()
	seconds := s.pool.seconds(a, c)
	if wish := number32(m.Options.Get(dhcpv4.OptionIPAddressLeaseTime)); wish != 0 {
		seconds = min(seconds, max(wish, shortestLease))
	}
	set := func(code dhcpv4.OptionCode, v uint32) {
		r.Options[code.Code()] = binary.BigEndian.AppendUint32(nil, v)
	}
	set(dhcpv4.OptionIPAddressLeaseTime, seconds)
	if seconds != Forever {
		set(dhcpv4.OptionRenewTimeValue, seconds/2)
		set(dhcpv4.OptionRebindingTimeValue, uint32(uint64(seconds)*7/8))
	}
	return seconds
}

// hostname is the fixed name of a client, or the one it gives itself.
func (s *Server) hostname(c client) string {
	if h := s.pool.host(c); h != nil && h.Name != "" {
		return h.Name
	}
	return c.name
}

func number16(b []byte) uint16 {
	if len(b) != 2 {
		return 0
	}
	return binary.BigEndian.Uint16(b)
}

func number32(b []byte) uint32 {
	if len(b) != 4 {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}

// idText returns a client id as the text it may have been.
func idText(sent string) string {
	b, err := hex.DecodeString(strings.ReplaceAll(sent, ":", ""))
	if err != nil {
		return ""
	}
	return strings.ToLower(string(b))
}
