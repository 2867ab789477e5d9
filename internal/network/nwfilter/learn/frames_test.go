package learn

import (
	"encoding/binary"
	"net"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv6"

	"taproom/internal/network/packet"
)

func ip(s string) netip.Addr { return netip.MustParseAddr(s) }

// card is the address of the nth NIC.
func card(n byte) packet.MAC { return packet.MAC{0x52, 0x54, 0, 0, 0, n} }

// router is what servers and routers send from.
func router() packet.MAC { return packet.MAC{0x52, 0x54, 0, 0xff, 0, 1} }

func option32(code dhcpv4.OptionCode, v uint32) dhcpv4.Modifier {
	return dhcpv4.WithOption(dhcpv4.OptGeneric(code, binary.BigEndian.AppendUint32(nil, v)))
}

func message4(mac packet.MAC, kind dhcpv4.MessageType, how ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
	m, err := dhcpv4.New(append([]dhcpv4.Modifier{dhcpv4.WithHwAddr(mac[:]), dhcpv4.WithMessageType(kind)}, how...)...)
	if err != nil {
		panic(err)
	}
	return m
}

// answer4 is a server's message, to everybody.
func answer4(server netip.Addr, mac packet.MAC, kind dhcpv4.MessageType, a netip.Addr, seconds uint32) []byte {
	m := message4(mac, kind, option32(dhcpv4.OptionIPAddressLeaseTime, seconds), dhcpv4.WithYourIP(net.IP(a.AsSlice())))
	m.OpCode = dhcpv4.OpcodeBootReply
	d := packet.Datagram{
		From: router(), To: packet.Broadcast(), Payload: m.ToBytes(),
		Src: netip.AddrPortFrom(server, 67), Dst: netip.MustParseAddrPort("255.255.255.255:68"),
	}
	return d.Frame()
}

// tell4 is a client's message, to everybody.
func tell4(mac packet.MAC, kind dhcpv4.MessageType, how ...dhcpv4.Modifier) []byte {
	d := packet.Datagram{
		From: mac, To: packet.Broadcast(), Payload: message4(mac, kind, how...).ToBytes(),
		Src: netip.MustParseAddrPort("0.0.0.0:68"), Dst: netip.MustParseAddrPort("255.255.255.255:67"),
	}
	return d.Frame()
}

func release4(mac packet.MAC, a netip.Addr) []byte {
	return tell4(mac, dhcpv4.MessageTypeRelease, dhcpv4.WithClientIP(net.IP(a.AsSlice())))
}

func message6(mac packet.MAC, kind dhcpv6.MessageType, seconds uint32, addresses ...netip.Addr) []byte {
	m, err := dhcpv6.NewMessage()
	if err != nil {
		panic(err)
	}
	m.MessageType = kind
	m.AddOption(&dhcpv6.OptionGeneric{OptionCode: dhcpv6.OptionClientID, OptionData: append([]byte{0, 3, 0, 1}, mac[:]...)})
	m.AddOption(&dhcpv6.OptionGeneric{OptionCode: dhcpv6.OptionServerID, OptionData: []byte{0, 3, 0, 1, 2, 2, 2, 2, 2, 2}})
	b := make([]byte, 12) // IAID and times
	for _, a := range addresses {
		b = append(b, 0, 5, 0, 24)
		b = append(b, a.AsSlice()...)
		b = binary.BigEndian.AppendUint32(b, seconds)
		b = binary.BigEndian.AppendUint32(b, seconds)
	}
	m.AddOption(&dhcpv6.OptionGeneric{OptionCode: dhcpv6.OptionIANA, OptionData: b})
	return m.ToBytes()
}

func answer6(server netip.Addr, mac packet.MAC, kind dhcpv6.MessageType, seconds uint32, addresses ...netip.Addr) []byte {
	d := packet.Datagram{
		From: router(), To: mac, Payload: message6(mac, kind, seconds, addresses...),
		Src: netip.AddrPortFrom(server, 547), Dst: netip.AddrPortFrom(mac.LinkLocal(), 546),
	}
	return d.Frame()
}

func release6(mac packet.MAC, addresses ...netip.Addr) []byte {
	to := ip("ff02::1:2")
	d := packet.Datagram{
		From: mac, To: packet.Multicast(to), Payload: message6(mac, dhcpv6.MessageTypeRelease, 0, addresses...),
		Src: netip.AddrPortFrom(mac.LinkLocal(), 546), Dst: netip.AddrPortFrom(to, 547),
	}
	return d.Frame()
}

func arp(mac packet.MAC, sender netip.Addr) []byte {
	a := packet.ARP{From: mac, To: packet.Broadcast(), Op: packet.ARPRequest, SenderMAC: mac, Sender: sender, Target: ip("192.0.2.1")}
	return a.Frame()
}

func linkOption(kind byte, mac packet.MAC) []byte { return append([]byte{kind, 1}, mac[:]...) }

// unique asks whether somebody has an address, as a host does before it takes one.
func unique(mac packet.MAC, a netip.Addr) []byte {
	to := ip("ff02::1:ff00:1")
	m := packet.ICMP6{
		From: mac, To: packet.Multicast(to), Src: netip.IPv6Unspecified(), Dst: to, Type: neighbourSolicit, Hops: ndHops,
		Body: append(make([]byte, 4), a.AsSlice()...),
	}
	return m.Frame()
}

// solicit asks for a neighbour.
func solicit(mac packet.MAC, from netip.Addr, option packet.MAC) []byte {
	to := ip("ff02::1:ff00:1")
	m := packet.ICMP6{
		From: mac, To: packet.Multicast(to), Src: from, Dst: to, Type: neighbourSolicit, Hops: ndHops,
		Body: append(append(make([]byte, 4), ip("fd00::1").AsSlice()...), linkOption(ndSourceLink, option)...),
	}
	return m.Frame()
}

// advertise says what is at an address.
func advertise(mac packet.MAC, a netip.Addr, option packet.MAC, hops byte) []byte {
	to := ip("ff02::1")
	m := packet.ICMP6{
		From: mac, To: packet.Multicast(to), Src: mac.LinkLocal(), Dst: to, Type: neighbourAdvert, Hops: hops,
		Body: append(append(make([]byte, 4), a.AsSlice()...), linkOption(ndTargetLink, option)...),
	}
	return m.Frame()
}

// prefixOf is a router's option for a prefix with a valid lifetime in seconds.
func prefixOf(p netip.Prefix, flags byte, seconds uint32) []byte {
	b := []byte{ndPrefix, 4, byte(p.Bits()), flags}
	b = binary.BigEndian.AppendUint32(b, seconds)
	b = binary.BigEndian.AppendUint32(b, seconds)
	return append(append(b, 0, 0, 0, 0), p.Addr().AsSlice()...)
}

// routerSays is a router's advertisement with options.
func routerSays(from netip.Addr, options ...[]byte) []byte {
	to := ip("ff02::1")
	m := packet.ICMP6{From: router(), To: packet.Multicast(to), Src: from, Dst: to, Type: routerAdvert, Hops: ndHops, Body: make([]byte, raHeader)}
	for _, o := range options {
		m.Body = append(m.Body, o...)
	}
	return m.Frame()
}
