package dhcp6

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/insomniacslk/dhcp/dhcpv6"

	"taproom/internal/network/packet"
)

// optionHeader is the code and the length of an option.
const optionHeader = 4

// Limits on what one message is answered about. The reply to everything within them fits a frame.
const (
	maxIAs     = 8
	maxListed  = 12 // addresses in all IAs
	maxRunOut  = 2  // addresses that an IA is losing
	iaHeader   = 12 // IAID, T1, T2
	iataHeader = 4  // IAID
	iaAddr     = 24 // address and lifetimes
)

// message is what counts in a DHCPv6 message. Only its frame comes from the library, which takes the options themselves
// apart at a price: names with compression cost the square of their length, and an unusual DUID is an error or changes.
type message struct {
	transaction    dhcpv6.TransactionID
	client, server []byte // DUIDs, nil if missing
	ias            []ia
	asked          []uint16 // the option request
	lists          bool     // there was one
	rapid          bool
	arch           []uint16 // of the firmware, when it boots from the network
	fqdn           []byte   // the option, nil if missing
}

// ia is an identity association of any kind.
type ia struct {
	kind      dhcpv6.OptionCode
	id        [4]byte
	addresses []netip.Addr
	empty     bool // it lists nothing at all
}

func parseMessage(b []byte) (message, error) {
	m := message{transaction: dhcpv6.TransactionID(b[1:4])}
	options, err := walk(b[dhcpv6.MessageHeaderSize:])
	if err != nil {
		return m, err
	}
	listed := 0
	for _, o := range options {
		v := o.ToBytes()
		switch o.Code() {
		case dhcpv6.OptionClientID:
			if m.client != nil || len(v) < minDUID || len(v) > maxDUID {
				return m, packet.RefuseMessage
			}
			m.client = v
		case dhcpv6.OptionServerID:
			if m.server != nil || len(v) == 0 {
				return m, packet.RefuseMessage
			}
			m.server = v
		case dhcpv6.OptionIANA, dhcpv6.OptionIATA, dhcpv6.OptionIAPD:
			a, err := parseIA(o.Code(), v, maxListed-listed)
			if err != nil {
				return m, err
			}
			same := func(b ia) bool { return b.kind == a.kind && b.id == a.id }
			if len(m.ias) < maxIAs && !slices.ContainsFunc(m.ias, same) {
				m.ias = append(m.ias, a)
				listed += len(a.addresses)
			}
		case dhcpv6.OptionORO:
			m.asked, m.lists = append(m.asked, numbers(v)...), true
		case dhcpv6.OptionRapidCommit:
			m.rapid = true
		case dhcpv6.OptionClientArchType:
			m.arch = numbers(v)
		case dhcpv6.OptionFQDN:
			m.fqdn = v
		}
	}
	return m, nil
}

// parseIA reads an identity association and up to so many of its addresses. Those of a prefix delegation do not matter.
func parseIA(kind dhcpv6.OptionCode, b []byte, room int) (ia, error) {
	header := iaHeader
	if kind == dhcpv6.OptionIATA {
		header = iataHeader
	}
	if len(b) < header {
		return ia{}, packet.RefuseMessage
	}
	a := ia{kind: kind, id: [4]byte(b)}
	options, err := walk(b[header:])
	if err != nil {
		return a, err
	}
	a.empty = len(options) == 0
	for _, o := range options {
		if o.Code() != dhcpv6.OptionIAAddr {
			continue
		}
		v := o.ToBytes()
		if len(v) < iaAddr {
			return a, packet.RefuseMessage
		}
		if _, err := walk(v[iaAddr:]); err != nil {
			return a, err
		}
		if addr := netip.AddrFrom16([16]byte(v)); len(a.addresses) < room && !slices.Contains(a.addresses, addr) {
			a.addresses = append(a.addresses, addr)
		}
	}
	return a, nil
}

// walk splits options. Their values are part of what it is given.
func walk(b []byte) (dhcpv6.Options, error) {
	var o dhcpv6.Options
	err := o.FromBytesWithParser(b, func(code dhcpv6.OptionCode, value []byte) (dhcpv6.Option, error) {
		return &dhcpv6.OptionGeneric{OptionCode: code, OptionData: value}, nil
	})
	return o, err
}

func numbers(b []byte) []uint16 {
	var n []uint16
	for ; len(b) > 1; b = b[2:] {
		n = append(n, binary.BigEndian.Uint16(b))
	}
	return n
}

// wants reports whether an option was asked for: a client that asks for none in particular gets what there is.
func (m *message) wants(code dhcpv6.OptionCode) bool {
	return !m.lists || slices.Contains(m.asked, uint16(code))
}

// name returns the host name that the client gives itself.
func (m *message) name() string {
	if len(m.fqdn) < 2 {
		return ""
	}
	return decodeLabel(m.fqdn[1:])
}

// check applies RFC 8415, 16: which messages a server discards.
func (p *Packet) check(duid []byte) error {
	var client, server bool // must be there
	switch p.Type {
	case dhcpv6.MessageTypeSolicit, dhcpv6.MessageTypeConfirm, dhcpv6.MessageTypeRebind:
		client = true
		if p.server != nil {
			return packet.RefuseMessage
		}
	case dhcpv6.MessageTypeInformationRequest:
		if len(p.ias) > 0 {
			return packet.RefuseMessage
		}
	default:
		client, server = true, true
	}
	switch {
	case client && p.client == nil || server && p.server == nil:
		return packet.RefuseMessage
	case p.server != nil && !bytes.Equal(p.server, duid):
		return packet.RefuseForeign
	case p.Target != servers() && (!server || p.Target.IsMulticast()):
		return packet.RefuseForeign // by unicast, or for relays
	}
	return nil
}
