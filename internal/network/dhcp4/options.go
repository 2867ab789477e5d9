package dhcp4

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"taproom/internal/network/packet"
)

// minMessage is what every client must be able to receive, IP header included (RFC 2131, 2).
const minMessage = 576

// shortestLease is the least a client can ask for: below two minutes it would do little but ask.
const shortestLease = 120

// bare is a reply without anything but who talks to whom.
func bare(m *dhcpv4.DHCPv4, kind dhcpv4.MessageType, server netip.Addr) *dhcpv4.DHCPv4 {
	r := &dhcpv4.DHCPv4{
		OpCode: dhcpv4.OpcodeBootReply, HWType: m.HWType, TransactionID: m.TransactionID, Flags: m.Flags & 0x8000,
		ClientIPAddr: net.IPv4zero, YourIPAddr: net.IPv4zero, ServerIPAddr: net.IPv4zero, GatewayIPAddr: net.IPv4zero,
		ClientHWAddr: m.ClientHWAddr, Options: dhcpv4.Options{},
	}
	r.UpdateOption(dhcpv4.OptMessageType(kind))
	r.UpdateOption(dhcpv4.OptServerIdentifier(server.AsSlice()))
	if id := m.Options.Get(dhcpv4.OptionClientIdentifier); len(id) > 0 {
		r.Options[dhcpv4.OptionClientIdentifier.Code()] = id // RFC 6842
	}
	return r
}

// ownOptions are those that make the lease or the message; nobody sets them otherwise.
var ownOptions = []uint8{0, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 61, 82, 255}

// reply is a reply with everything the client asked for and the network has, a lease excepted. The address is the one
// that it is about: its subnet's mask and router belong to it.
func (s *Server) reply(m *dhcpv4.DHCPv4, c client, kind dhcpv4.MessageType, about netip.Addr) *Reply {
	sub, ok := s.net.subnet(about)
	if !ok {
		sub = s.net.Subnets[0]
	}
	r := bare(m, kind, sub.Server)
	r.ClientIPAddr = m.ClientIPAddr
	if kind == dhcpv4.MessageTypeOffer {
		r.ClientIPAddr = net.IPv4zero
	}
	o := optionList{
		to: r, list: m.Options.Get(dhcpv4.OptionParameterRequestList),
		limit: max(minMessage, int(number16(m.Options.Get(dhcpv4.OptionMaximumDHCPMessageSize)))),
	}
	o.limit = min(o.limit, packet.MaxFrame-packet.EthHeader) - packet.IPv4Header - packet.UDPHeader - leaseRoom
	s.boot(r, &o, c, sub)
	o.put(dhcpv4.OptionSubnetMask.Code(), net.CIDRMask(sub.Prefix.Bits(), 32))
	o.put(dhcpv4.OptionRouter.Code(), sub.Gateway.AsSlice())
	var dns []byte
	for _, a := range s.net.DNS {
		dns = append(dns, a.AsSlice()...)
	}
	o.put(dhcpv4.OptionDomainNameServer.Code(), dns)
	o.put(dhcpv4.OptionBroadcastAddress.Code(), broadcast(sub.Prefix).AsSlice())
	if s.net.MTU != 0 {
		o.put(dhcpv4.OptionInterfaceMTU.Code(), binary.BigEndian.AppendUint16(nil, s.net.MTU))
	}
	if h := s.pool.host(c); h != nil {
		o.put(dhcpv4.OptionHostName.Code(), []byte(h.Name))
	}
	o.put(dhcpv4.OptionDomainName.Code(), []byte(s.net.Domain))
	for _, extra := range s.net.Options {
		if len(extra.Arch) > 0 && !anyOf(extra.Arch, c.arch) {
			continue
		}
		if len(extra.Value) == 0 {
			r.Options.Del(dhcpv4.GenericOptionCode(extra.Code))
		} else {
			o.set(extra.Code, extra.Value, extra.Force || len(o.list) == 0)
		}
	}
	return &Reply{Server: sub.Server, Message: r}
}

// boot names what the client loads (RFC 2131, 2 and RFC 2132, 9.4 and 9.5): the entry for its architecture, or the one for
// all others.
func (s *Server) boot(r *dhcpv4.DHCPv4, o *optionList, c client, sub Subnet) {
	var found *Boot
	for i := range s.net.Boot {
		b := &s.net.Boot[i]
		if anyOf(b.Arch, c.arch) {
			found = b
			break
		}
		if len(b.Arch) == 0 && found == nil {
			found = b
		}
	}
	if found == nil {
		return
	}
	server := found.Server
	if !server.IsValid() {
		server = sub.Server
	}
	r.ServerIPAddr, r.BootFileName, r.ServerHostName = server.AsSlice(), found.File, found.ServerName
	name := found.ServerName
	if name == "" {
		name = server.String()
	}
	o.asked(dhcpv4.OptionTFTPServerName.Code(), []byte(name))
	o.asked(dhcpv4.OptionBootfileName.Code(), []byte(found.File))
	if strings.HasPrefix(found.File, "http") {
		// UEFI's HTTP boot believes only who says that he means it (UEFI specification, 24.7.3.4).
		o.set(dhcpv4.OptionClassIdentifier.Code(), []byte("HTTPClient"), true)
	}
}

// optionList adds options as long as they fit: the least important come last and are left out.
type optionList struct {
	to    *dhcpv4.DHCPv4
	list  []byte // what the client asked for
	limit int    // of the message, in bytes
}

// put adds an option for a client that asks for it, or for nothing in particular.
func (o *optionList) put(code uint8, value []byte) { o.set(code, value, len(o.list) == 0) }

// asked adds an option for a client that asks for it.
func (o *optionList) asked(code uint8, value []byte) { o.set(code, value, false) }

func (o *optionList) set(code uint8, value []byte, force bool) {
	if !force && bytes.IndexByte(o.list, code) < 0 || len(value) == 0 {
		return
	}
	old := o.to.Options[code]
	o.to.Options[code] = value
	if len(o.to.ToBytes()) > o.limit {
		delete(o.to.Options, code)
		if old != nil {
			o.to.Options[code] = old
		}
	}
}

func anyOf(want, have []uint16) bool {
	for _, w := range want {
		if slices.Contains(have, w) {
			return true
		}
	}
	return false
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
