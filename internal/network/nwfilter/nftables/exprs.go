package nftables

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
)

// errOther ends what nf_tables cannot say.
var errOther = errors.New("filters are kept in nf_tables, which cannot match that; leave it out")

// exprs are alternatives: a condition is met if all expressions of one of them are.
type exprs [][]nft.Expr

// and is met where both are.
func (a exprs) and(b exprs) exprs {
	if len(a) == 1 && len(b) == 1 {
		return exprs{append(append([]nft.Expr(nil), a[0]...), b[0]...)}
	}
	var out exprs
	for _, x := range a {
		for _, y := range b {
			out = append(out, append(append([]nft.Expr(nil), x...), y...))
		}
	}
	return out
}

func one(x ...nft.Expr) exprs { return exprs{x} }

func bytesAt(base nft.Base, offset int, value string) nft.Bytes {
	return nft.Bytes{Base: base, Offset: offset, Value: value}
}

func etherType(t uint16) nft.Expr {
	names := map[uint16]string{0x0800: "ip", 0x0806: "arp", 0x8100: "vlan", 0x86dd: "ip6"}
	name, ok := names[t]
	if !ok {
		name = fmt.Sprintf("0x%04x", t)
	}
	return nft.Match{Field: nft.EtherType, Value: name}
}

func l4proto(n byte, not bool) nft.Expr {
	names := map[byte]string{1: "icmp", 6: "tcp", 17: "udp", 58: "ipv6-icmp"}
	name, ok := names[n]
	if !ok {
		name = strconv.Itoa(int(n))
	}
	return nft.Match{Field: nft.L4Proto, Not: not, Value: name}
}

// place is where a field's octets are.
type place struct {
	base   nft.Base
	offset int
}

// placeOf knows the fields that are whole octets in a place of their own.
func placeOf(f nwfilter.Field) (place, bool) {
	const ll, nh, th = nft.LinkHeader, nft.NetworkHeader, nft.TransportHeader
	p, ok := map[nwfilter.Field]place{
		nwfilter.EtherDst: {ll, 0}, nwfilter.EtherSrc: {ll, 6}, nwfilter.EtherType: {ll, 12}, nwfilter.VLANEncap: {ll, 16},
		nwfilter.STPType: {ll, 20}, nwfilter.STPFlags: {ll, 21}, nwfilter.STPRootPriority: {ll, 22}, nwfilter.STPRootAddress: {ll, 24},
		nwfilter.STPRootCost: {ll, 30}, nwfilter.STPSenderPriority: {ll, 34}, nwfilter.STPSenderAddress: {ll, 36}, nwfilter.STPPort: {ll, 42},
		nwfilter.STPMessageAge: {ll, 44}, nwfilter.STPMaxAge: {ll, 46}, nwfilter.STPHelloTime: {ll, 48}, nwfilter.STPForwardDelay: {ll, 50},
		nwfilter.ARPHardware: {nh, 0}, nwfilter.ARPProtocol: {nh, 2}, nwfilter.ARPOpcode: {nh, 6}, nwfilter.ARPSrcMAC: {nh, 8},
		nwfilter.ARPSrcIP: {nh, 14}, nwfilter.ARPDstMAC: {nh, 18}, nwfilter.ARPDstIP: {nh, 24},
		nwfilter.IPv4Src: {nh, 12}, nwfilter.IPv4Dst: {nh, 16}, nwfilter.IPv6Src: {nh, 8}, nwfilter.IPv6Dst: {nh, 24},
		nwfilter.SrcPort: {th, 0}, nwfilter.DstPort: {th, 2}, nwfilter.ICMPType: {th, 0}, nwfilter.ICMPCode: {th, 1},
	}[f]
	return p, ok
}

// needs are the conditions under which a frame has the field at all, beyond those of the rule's protocol.
func needs(f nwfilter.Field, r *nwfilter.Rule) exprs {
	switch f {
	case nwfilter.VLANID, nwfilter.VLANEncap:
		return one(etherType(0x8100))
	case nwfilter.STPType, nwfilter.STPFlags, nwfilter.STPRootPriority, nwfilter.STPRootAddress, nwfilter.STPRootCost, nwfilter.STPSenderPriority,
		nwfilter.STPSenderAddress, nwfilter.STPPort, nwfilter.STPMessageAge, nwfilter.STPMaxAge, nwfilter.STPHelloTime, nwfilter.STPForwardDelay:
		return one(bytesAt(nft.LinkHeader, 14, "\x42\x42\x03"))
	case nwfilter.ARPSrcMAC, nwfilter.ARPDstMAC:
		return one(nft.Bytes{Base: nft.NetworkHeader, Mask: "\xff\xff\x00\x00\xff\xff", Value: "\x00\x01\x00\x00\x06\x04"})
	case nwfilter.ARPSrcIP, nwfilter.ARPDstIP:
		return one(bytesAt(nft.NetworkHeader, 0, "\x00\x01\x08\x00\x06\x04"))
	case nwfilter.ARPGratuitous: // a frame that ends within the target address does not meet it
		whole := nft.Bytes{Base: nft.NetworkHeader, Offset: 24, Mask: "\x00\x00\x00\x00", Value: "\x00\x00\x00\x00"}
		return needs(nwfilter.ARPSrcIP, r).and(one(whole))
	case nwfilter.SrcPort, nwfilter.DstPort:
		return oneOf(r, 6, 17, 33, 132, 136).and(reaches(4))
	case nwfilter.ICMPType, nwfilter.ICMPCode:
		if r.Protocol.IPv6() {
			return oneOf(r, 58).and(reaches(4))
		}
		return oneOf(r, 1).and(reaches(4))
	case nwfilter.TCPFlags, nwfilter.TCPOption:
		return oneOf(r, 6).and(reaches(20))
	}
	return one()
}

// reaches is met by packets whose transport's header has that many octets, which later fragments have not. It reads three: the
// kernel reads one, two or four bytes behind the header of a later fragment as if they were the transport's
// (net/netfilter/nf_tables_core.c, nft_payload_fast_eval, 6.18); when it reads three, it looks.
func reaches(octets int) exprs {
	return one(nft.Bytes{Base: nft.TransportHeader, Offset: octets - 3, Mask: "\x00\x00\x00", Value: "\x00\x00\x00"})
}

// wholeTCP is met by packets that have all of TCP's header, whose data offset says how long it is: one alternative for each.
func wholeTCP() exprs {
	var out exprs
	for words := 5; words < 16; words++ {
		length := nft.Bytes{Base: nft.TransportHeader, Offset: 12, Mask: "\xf0", Value: string([]byte{byte(words << 4)})}
		out = append(out, reaches(4*words).and(one(length))...)
	}
	return out
}

// oneOf is met by packets of one of the protocols; it asks nothing where the rule does.
func oneOf(r *nwfilter.Rule, numbers ...byte) exprs {
	if n, ok := protocolOf(r); ok {
		for _, x := range numbers {
			if x == n {
				return one()
			}
		}
	}
	var out exprs
	for _, n := range numbers {
		out = append(out, protocolIs(r.Protocol.IPv6(), n, false)...)
	}
	return out
}

// protocolOf is the one protocol of a packet that a rule demands.
func protocolOf(r *nwfilter.Rule) (byte, bool) {
	if n, ok := r.Protocol.Number(); ok {
		return n, true
	}
	for i := range r.Matches {
		m := &r.Matches[i]
		if m.Field == nwfilter.IPProtocol && !m.Not && m.Slot == "" && len(m.Value) == 1 && m.Mask == nil && m.High == nil {
			return m.Value[0], true
		}
	}
	return 0, false
}

// protocolIs is met by packets of a protocol, and where not is true by those of another. What follows the extension headers of IPv6 is its
// protocol; AH is none of these headers.
func protocolIs(six bool, n byte, not bool) exprs {
	if six {
		return one(l4proto(n, not))
	}
	x := bytesAt(nft.NetworkHeader, 9, string([]byte{n}))
	x.Not = not
	return one(x)
}

// literal compares a field with what the rule says.
func literal(r *nwfilter.Rule, m *nwfilter.Match) (exprs, error) {
	x := nft.Bytes{Not: m.Not, Value: string(m.Value), Mask: string(m.Mask), Last: string(m.High)}
	if x.Last == x.Value {
		x.Last = ""
	}
	plain := x.Mask == "" && x.Last == ""
	switch m.Field {
	case nwfilter.EtherType:
		if plain {
			t := etherType(binary.BigEndian.Uint16(m.Value)).(nft.Match)
			t.Not = m.Not
			return one(t), nil
		}
	case nwfilter.IPProtocol:
		return protocolMatch(r, m, x, plain)
	case nwfilter.VLANID:
		if x.Last != "" {
			return nil, errOther
		}
		x.Base, x.Offset = nft.LinkHeader, 14
		if x.Mask == "" {
			x.Mask = "\x0f\xff"
		}
		return one(x), nil
	case nwfilter.DSCP:
		return one(dscp(r.Protocol.IPv6(), m)), nil
	case nwfilter.ARPGratuitous:
		return gratuitous(m)
	case nwfilter.TCPFlags:
		if x.Last != "" {
			return nil, errOther
		}
		x.Base, x.Offset = nft.TransportHeader, 13
		if x.Mask == "" {
			x.Mask = "\x3f"
		}
		return one(x), nil
	case nwfilter.TCPOption:
		if !plain {
			return nil, errOther
		}
		x := one(nft.TCPOption{Kind: m.Value[0], Missing: m.Not})
		if m.Not && !r.Drops() {
			x = wholeTCP().and(x) // a header that is cut short lacks every option, for the kernel
		}
		return x, nil
	}
	p, ok := placeOf(m.Field)
	if !ok {
		return nil, errOther
	}
	x.Base, x.Offset = p.base, p.offset
	return one(x), nil
}

func protocolMatch(r *nwfilter.Rule, m *nwfilter.Match, x nft.Bytes, plain bool) (exprs, error) {
	six := r.Protocol.IPv6()
	switch {
	case plain:
		return protocolIs(six, m.Value[0], m.Not), nil
	case six:
		return nil, errOther
	}
	x.Base, x.Offset = nft.NetworkHeader, 9
	return one(x), nil
}

// dscp compares the upper six bits of the octet of TOS, or of the traffic class of IPv6, which begins in the middle of the
// first octet, after the version.
func dscp(six bool, m *nwfilter.Match) nft.Bytes {
	at := func(b byte, rest uint16) string {
		if !six {
			return string([]byte{b<<2 | byte(rest&3)})
		}
		return string(binary.BigEndian.AppendUint16(nil, uint16(b)<<6|rest))
	}
	mask := byte(0x3f)
	if m.Mask != nil {
		mask = m.Mask[0]
	}
	x := nft.Bytes{Base: nft.NetworkHeader, Offset: 1, Not: m.Not, Value: at(m.Value[0], 0)}
	if six {
		x.Offset = 0
	}
	if m.High == nil {
		x.Mask = at(mask, 0)
		return x
	}
	if !six {
		x.Last = at(m.High[0], 3)
		return x
	}
	x.Value, x.Last = at(m.Value[0], 0x6000), at(m.High[0], 0x603f)
	return x
}
