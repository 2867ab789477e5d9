package ra

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"taproom/internal/network/packet"
)

const (
	typeSolicitation  = 133
	typeAdvertisement = 134
	trustedHops       = 255  // no router between sender and receiver (RFC 4861, 6.1)
	hops              = 64   // what guests start their own packets with
	minMTU            = 1280 // every IPv6 link has it (RFC 8200, 5); an advertisement larger than that may not arrive
)

// Options (RFC 4861, 4.6; RFC 8106, 5).
const (
	optionSource = 1
	optionPrefix = 3
	optionMTU    = 5
	optionRDNSS  = 25
	optionSearch = 31
)

// RDNSS is resolvers and for how long they serve.
type RDNSS struct {
	Seconds uint32
	Servers []netip.Addr
}

// Search is search domains and for how long they are used.
type Search struct {
	Seconds uint32
	Domains []string
}

// Advertisement is a router advertisement with its frame's addresses. A lifetime of zero in it is zero: it withdraws.
type Advertisement struct {
	From, To       packet.MAC
	Src, Dst       netip.Addr
	Hops           byte
	Managed, Other bool
	Preference     Preference
	RouterSeconds  uint16
	Source         packet.MAC // of the router, as the option says
	MTU            uint32
	Prefixes       []Prefix
	RDNSS          []RDNSS
	Search         []Search
}

// end makes it the last one of a router. Addresses stay valid, so that connections within the host survive a restart of
// the network.
func (a *Advertisement) end() {
	a.RouterSeconds, a.Preference = 0, Medium
	for i := range a.Prefixes {
		a.Prefixes[i].PreferredSeconds = 0
	}
	for i := range a.RDNSS {
		a.RDNSS[i].Seconds = 0
	}
	for i := range a.Search {
		a.Search[i].Seconds = 0
	}
}

func (a *Advertisement) addressed(from packet.MAC, source netip.Addr, to *Solicitation) *Advertisement {
	a.From, a.Source, a.Src = from, from, source
	a.Dst = netip.IPv6LinkLocalAllNodes()
	a.To = packet.Multicast(a.Dst)
	if to != nil && !to.Src.IsUnspecified() {
		a.To, a.Dst = to.From, to.Src
	}
	return a
}

// Frame returns the whole Ethernet frame.
func (a *Advertisement) Frame() []byte {
	return (&packet.ICMP6{
		From: a.From, To: a.To, Src: a.Src, Dst: a.Dst, Type: typeAdvertisement, Hops: trustedHops, Body: a.body(),
	}).Frame()
}

// size is the length of the IPv6 packet.
func (a *Advertisement) size() int { return packet.IPv6Header + 4 + len(a.body()) }

func (a *Advertisement) body() []byte {
	var flags byte
	if a.Managed {
		flags |= 0x80
	}
	if a.Other {
		flags |= 0x40
	}
	flags |= byte(a.Preference) & 3 << 3
	b := []byte{a.Hops, flags}
	b = binary.BigEndian.AppendUint16(b, a.RouterSeconds)
	b = append(b, make([]byte, 8)...) // reachable and retransmission time: the guest's own
	b = append(append(b, optionSource, 1), a.Source[:]...)
	if a.MTU != 0 {
		b = binary.BigEndian.AppendUint32(append(b, optionMTU, 1, 0, 0), a.MTU)
	}
	for _, p := range a.Prefixes {
		b = p.append(b)
	}
	for _, r := range a.RDNSS {
		b = append(b, optionRDNSS, byte(1+2*len(r.Servers)), 0, 0)
		b = binary.BigEndian.AppendUint32(b, r.Seconds)
		for _, s := range r.Servers {
			b = append(b, s.AsSlice()...)
		}
	}
	for _, s := range a.Search {
		b = s.append(b)
	}
	return b
}

func (p Prefix) append(b []byte) []byte {
	var flags byte
	if p.OnLink {
		flags |= 0x80
	}
	if p.Autonomous {
		flags |= 0x40
	}
	b = append(b, optionPrefix, 4, byte(p.Prefix.Bits()), flags)
	b = binary.BigEndian.AppendUint32(b, p.ValidSeconds)
	b = binary.BigEndian.AppendUint32(b, p.PreferredSeconds)
	b = append(b, 0, 0, 0, 0)
	return append(b, p.Prefix.Masked().Addr().AsSlice()...)
}

func (s Search) append(b []byte) []byte {
	at := len(b)
	b = append(b, optionSearch, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, s.Seconds)
	for _, d := range s.Domains {
		b, _ = appendName(b, d) // Validate has seen it
	}
	b = append(b, make([]byte, (8-(len(b)-at)%8)%8)...)
	b[at+1] = byte((len(b) - at) / 8)
	return b
}

// appendName appends a domain name in DNS's form, never compressed (RFC 8106, 5.2).
func appendName(b []byte, name string) ([]byte, error) {
	short := strings.TrimSuffix(name, ".")
	if short == "" || len(short) > 253 {
		return b, fmt.Errorf("%q is not a domain name", name)
	}
	for label := range strings.SplitSeq(short, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return b, fmt.Errorf("%q is not a domain name: a part has 1 to 63 characters of ASCII", name)
		}
		b = append(append(b, byte(len(label))), label...)
	}
	return append(b, 0), nil
}

// ParseAdvertisement takes a frame with a router advertisement apart, as a guest does (RFC 4861, 6.1.2). Errors are
// packet.Refusals.
func ParseAdvertisement(frame []byte, partial bool) (*Advertisement, error) {
	m, err := packet.ParseICMP6(frame, partial)
	if err != nil {
		return nil, err
	}
	switch {
	case m.Type != typeAdvertisement:
		return nil, packet.RefuseProtocol
	case m.Hops != trustedHops || !m.Src.IsLinkLocalUnicast():
		return nil, packet.RefuseSource
	case m.Code != 0 || len(m.Body) < 12:
		return nil, packet.RefuseMessage
	}
	b := m.Body
	a := &Advertisement{
		From: m.From, To: m.To, Src: m.Src, Dst: m.Dst,
		Hops: b[0], Managed: b[1]&0x80 != 0, Other: b[1]&0x40 != 0, RouterSeconds: binary.BigEndian.Uint16(b[2:]),
	}
	switch b[1] >> 3 & 3 {
	case 1:
		a.Preference = High
	case 3:
		a.Preference = Low
	}
	if err := eachOption(b[12:], a.option); err != nil {
		return nil, packet.RefuseMessage
	}
	return a, nil
}

// errOption is an option that does not hold what it says.
var errOption = errors.New("malformed option")

// eachOption visits options: kind and value, which is a multiple of eight bytes less two.
func eachOption(b []byte, visit func(kind byte, value []byte) error) error {
	for len(b) > 0 {
		if len(b) < 8 || b[1] == 0 || int(b[1])*8 > len(b) {
			return errOption
		}
		length := int(b[1]) * 8
		if err := visit(b[0], b[2:length]); err != nil {
			return err
		}
		b = b[length:]
	}
	return nil
}

func (a *Advertisement) option(kind byte, v []byte) error {
	switch {
	case kind == optionSource && len(v) == 6:
		a.Source = packet.MAC(v)
	case kind == optionMTU && len(v) == 6:
		a.MTU = binary.BigEndian.Uint32(v[2:])
	case kind == optionPrefix && len(v) == 30:
		if v[0] > 128 {
			return errOption
		}
		a.Prefixes = append(a.Prefixes, Prefix{
			Prefix: netip.PrefixFrom(netip.AddrFrom16([16]byte(v[14:])), int(v[0])).Masked(),
			OnLink: v[1]&0x80 != 0, Autonomous: v[1]&0x40 != 0,
			ValidSeconds: binary.BigEndian.Uint32(v[2:]), PreferredSeconds: binary.BigEndian.Uint32(v[6:]),
		})
	case kind == optionRDNSS && len(v) >= 22 && len(v)%16 == 6:
		r := RDNSS{Seconds: binary.BigEndian.Uint32(v[2:])}
		for s := range slices.Chunk(v[6:], 16) {
			r.Servers = append(r.Servers, netip.AddrFrom16([16]byte(s)))
		}
		a.RDNSS = append(a.RDNSS, r)
	case kind == optionSearch && len(v) >= 14:
		domains, err := names(v[6:])
		if err != nil || len(domains) == 0 {
			return errOption
		}
		a.Search = append(a.Search, Search{Seconds: binary.BigEndian.Uint32(v[2:]), Domains: domains})
	case kind == optionSource, kind == optionMTU, kind == optionPrefix, kind == optionRDNSS, kind == optionSearch:
		return errOption
	}
	return nil // an option we do not know is skipped (RFC 4861, 6.1.2)
}

// names reads domain names up to the padding; only such as could have been configured.
func names(b []byte) ([]string, error) {
	var out []string
	for len(b) > 0 && b[0] != 0 {
		var labels []string
		for len(b) > 0 && b[0] != 0 {
			n := int(b[0])
			if n > 63 || n >= len(b) {
				return nil, errOption
			}
			labels = append(labels, string(b[1:n+1]))
			b = b[n+1:]
		}
		if len(b) == 0 {
			return nil, errOption
		}
		name := strings.Join(labels, ".")
		if _, err := appendName(nil, name); err != nil || strings.Count(name, ".") != len(labels)-1 {
			return nil, errOption
		}
		out = append(out, name)
		b = b[1:]
	}
	return out, nil
}
