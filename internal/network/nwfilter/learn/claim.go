package learn

import (
	"encoding/binary"
	"errors"
	"math"
	"net/netip"

	"taproom/internal/network/dhcp4"
	"taproom/internal/network/dhcp6"
	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

// Direction is which way a frame passes a NIC.
type Direction bool

// The directions.
const (
	FromGuest Direction = false
	ToGuest   Direction = true
)

// claim is what one frame says of one address of the NIC that it passed.
type claim struct {
	addr    netip.Addr
	by      Source
	ends    int64      // lease.Never: no end
	dropped bool       // the NIC has it no longer
	server  netip.Addr // who gives it, when somebody does
}

// read returns what a frame says of a NIC's addresses. Errors are packet.Refusals.
func (p *Port) read(d Direction, frame []byte, partial bool, now int64) ([]claim, error) {
	switch kind := packet.Type(frame); {
	case d == ToGuest && kind == packet.TypeIPv4:
		return p.server4(frame, partial, now)
	case d == ToGuest && kind == packet.TypeIPv6:
		if c, err := p.server6(frame, partial, now); !errors.Is(err, packet.RefuseProtocol) {
			return c, err
		}
		return p.advertised(frame, partial, now)
	case d == ToGuest:
		return nil, packet.RefuseProtocol
	case packet.MAC(frame[6:12]) != p.MAC:
		return nil, packet.RefuseSource
	case kind == packet.TypeIPv4:
		return p.client4(frame, partial)
	case kind == packet.TypeARP:
		return p.arp(frame)
	case kind == packet.TypeIPv6:
		if c, err := p.client6(frame, partial); !errors.Is(err, packet.RefuseProtocol) {
			return c, err
		}
		return p.neighbour(frame, partial)
	}
	return nil, packet.RefuseProtocol
}

// until is when a lifetime ends that is all ones for ever, in all these protocols.
func until(now int64, seconds uint32) int64 {
	if seconds == math.MaxUint32 {
		return lease.Never
	}
	return now + int64(seconds)
}

func (p *Port) server4(frame []byte, partial bool, now int64) ([]claim, error) {
	s, err := dhcp4.SnoopServer(frame, partial)
	switch {
	case err != nil:
		return nil, err
	case s.Client != p.MAC:
		return nil, packet.RefuseUnknown
	case !p.trusts(s.Server):
		return nil, RefuseServer
	}
	return []claim{{addr: s.Address, by: DHCP4, ends: until(now, s.Seconds), server: s.Server}}, nil
}

func (p *Port) server6(frame []byte, partial bool, now int64) ([]claim, error) {
	s, err := dhcp6.SnoopServer(frame, partial)
	switch {
	case err != nil:
		return nil, err
	case s.Client != p.MAC:
		return nil, packet.RefuseUnknown
	case !p.trusts(s.Server):
		return nil, RefuseServer
	}
	out := make([]claim, len(s.Addresses))
	for i, g := range s.Addresses {
		out[i] = claim{addr: g.Address, by: DHCP6, ends: until(now, g.Seconds), dropped: g.Seconds == 0, server: s.Server}
	}
	return out, nil
}

func (p *Port) client4(frame []byte, partial bool) ([]claim, error) {
	s, err := dhcp4.SnoopClient(frame, partial)
	if err != nil {
		return nil, err
	}
	return []claim{{addr: s.Address, by: DHCP4, dropped: true}}, nil
}

func (p *Port) client6(frame []byte, partial bool) ([]claim, error) {
	s, err := dhcp6.SnoopClient(frame, partial)
	if err != nil {
		return nil, err
	}
	out := make([]claim, len(s.Addresses))
	for i, g := range s.Addresses {
		out[i] = claim{addr: g.Address, by: DHCP6, dropped: true}
	}
	return out, nil
}

// arp reads the sender of a request or a reply. A probe (RFC 5227, 2.1.1) has none: its sender does not know yet whether it
// may have the address.
func (p *Port) arp(frame []byte) ([]claim, error) {
	a, err := packet.ParseARP(frame)
	switch {
	case err != nil:
		return nil, err
	case a.Sender.IsUnspecified():
		return nil, packet.RefuseUnknown
	case a.Op != packet.ARPRequest && a.Op != packet.ARPReply:
		return nil, packet.RefuseMessage
	}
	return []claim{{addr: a.Sender, by: ARP, ends: lease.Never}}, nil
}

// Of neighbour discovery (RFC 4861).
const (
	neighbourSolicit = 135
	neighbourAdvert  = 136
	routerAdvert     = 134
	ndHops           = 255 // no router was in between
	ndTarget         = 20  // reserved or flags, and the address
	ndSourceLink     = 1   // the options
	ndTargetLink     = 2
	ndPrefix         = 3
	ndPrefixLength   = 32 // of the option, in bytes
	ndAutonomous     = 0x40
	raHeader         = 12 // behind the checksum
	interfaceBits    = 64 // RFC 2464, 4
)

// neighbour reads whose address a guest says is its own: the target of an advertisement, the source of a solicitation, or
// the target of one without a source, which asks whether somebody else has it (RFC 4862, 5.4, and RFC 6620, 3.2.3).
func (p *Port) neighbour(frame []byte, partial bool) ([]claim, error) {
	m, err := packet.ParseICMP6(frame, partial)
	switch {
	case err != nil:
		return nil, err
	case m.Type != neighbourSolicit && m.Type != neighbourAdvert:
		return nil, packet.RefuseProtocol
	case m.Hops != ndHops || m.Code != 0 || len(m.Body) < ndTarget:
		return nil, packet.RefuseMessage
	}
	a, option := netip.AddrFrom16([16]byte(m.Body[4:ndTarget])), byte(ndTargetLink)
	if m.Type == neighbourSolicit {
		option = ndSourceLink
		if !m.Src.IsUnspecified() {
			a = m.Src
		}
	}
	ok := eachOption(m.Body[ndTarget:], func(kind byte, v []byte) bool {
		return kind != option || packet.MAC(v[2:8]) == p.MAC // of Ethernet: the option is 8 bytes or more
	})
	if !ok {
		return nil, packet.RefuseSource
	}
	return []claim{{addr: a, by: ND, ends: lease.Never}}, nil
}

// advertised reads a router's prefixes and returns the addresses that the NIC forms of them by its MAC (RFC 4862, 5.5.3).
func (p *Port) advertised(frame []byte, partial bool, now int64) ([]claim, error) {
	m, err := packet.ParseICMP6(frame, partial)
	switch {
	case err != nil:
		return nil, err
	case m.Type != routerAdvert:
		return nil, packet.RefuseProtocol
	case m.Hops != ndHops || m.Code != 0 || len(m.Body) < raHeader || !m.Src.IsLinkLocalUnicast():
		return nil, packet.RefuseMessage
	case !m.To.IsGroup() && m.To != p.MAC:
		return nil, packet.RefuseUnknown
	case !p.trusts(m.Src):
		return nil, RefuseServer
	}
	own := p.MAC.LinkLocal().As16()
	var out []claim
	ok := eachOption(m.Body[raHeader:], func(kind byte, v []byte) bool {
		if kind != ndPrefix {
			return true
		}
		if len(v) != ndPrefixLength {
			return false
		}
		prefix := netip.AddrFrom16([16]byte(v[16:32]))
		if v[2] != interfaceBits || v[3]&ndAutonomous == 0 || prefix.IsLinkLocalUnicast() || len(out) == perFamily {
			return true
		}
		copy(own[:8], v[16:24])
		out = append(out, claim{addr: netip.AddrFrom16(own), by: RA, ends: until(now, binary.BigEndian.Uint32(v[4:])), server: m.Src})
		return true
	})
	if !ok {
		return nil, packet.RefuseMessage
	}
	if out == nil {
		return nil, packet.RefuseUnknown
	}
	return out, nil
}

// eachOption calls each with the options of neighbour discovery (RFC 4861, 4.6) until it returns false. It returns false then,
// and when an option has no length or runs over the end.
func eachOption(b []byte, each func(kind byte, v []byte) bool) bool {
	for len(b) > 0 {
		if len(b) < 8 || b[1] == 0 || int(b[1])*8 > len(b) {
			return false
		}
		n := int(b[1]) * 8
		if !each(b[0], b[:n]) {
			return false
		}
		b = b[n:]
	}
	return true
}
