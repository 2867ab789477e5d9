package nwfilter

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// String returns the canonical text of the program: a line for each chain, rule and slot. Programs with the same text do
// the same.
func (p *Program) String() string { return string(p.text()) }

func (p *Program) key() string {
	sum := sha256.Sum256(p.text())
	return hex.EncodeToString(sum[:])
}

func (p *Program) text() []byte {
	b := make([]byte, 0, 4096)
	b = append(append(append(b, "filter "...), p.Root...), '\n')
	for i := range p.Chains {
		c := &p.Chains[i]
		b = append(append(append(b, "chain "...), c.Name...), '\n')
		for j := range c.Rules {
			b = append(c.Rules[j].append(append(b, "  "...), true), '\n')
		}
	}
	b = append(b, "packets\n"...)
	for j := range p.Packet {
		b = append(p.Packet[j].append(append(b, "  "...), true), '\n')
	}
	for _, s := range p.Slots {
		b = append(append(append(b, "slot "...), s.Name...), ' ')
		b = append(strconv.AppendInt(b, int64(s.Width), 10), '\n')
	}
	return b
}

// String returns the rule as one line: its action, direction, protocol and conditions.
func (r *Rule) String() string { return string(r.append(nil, false)) }

func (r *Rule) append(b []byte, origin bool) []byte {
	if origin {
		b = append(strconv.AppendQuote(b, r.Filter), '#')
		b = append(strconv.AppendInt(b, int64(r.Index), 10), ' ')
		b = append(strconv.AppendInt(b, int64(r.Priority), 10), ' ')
	}
	b = append(append(b, r.Action.String()...), ' ')
	if r.Action == Jump {
		b = append(append(b, r.Target...), ' ')
	}
	b = append(b, r.Direction.String()...)
	if r.Mirrored {
		b = append(b, " mirrored"...)
	}
	if r.Protocol != "" {
		b = append(append(b, ' '), r.Protocol...)
	}
	for i := range r.Matches {
		b = r.Matches[i].append(append(b, ' '))
	}
	for _, s := range r.Sets {
		b = append(b, " ipset "...)
		if s.Not {
			b = append(b, "!= "...)
		}
		b = append(append(append(b, s.Name...), ' '), strings.Join(s.Flags, ",")...)
	}
	if r.ConnLimit != nil {
		b = strconv.AppendUint(append(b, " connlimit-above "...), uint64(*r.ConnLimit), 10)
	}
	if r.States != 0 {
		b = append(append(b, " state "...), r.States.String()...)
	}
	if r.CTDir != EitherWay {
		b = append(append(b, " ctdir "...), r.CTDir.String()...)
	}
	if origin && r.Comment != "" {
		b = strconv.AppendQuote(append(b, " comment "...), r.Comment)
	}
	return b
}

// String returns the condition as text, such as "src port 1-1023" or "ip src != $IP".
func (m *Match) String() string { return string(m.append(nil)) }

func (m *Match) append(b []byte) []byte {
	b = append(append(b, m.Field.String()...), ' ')
	if m.Not {
		b = append(b, "!= "...)
	}
	if m.Slot != "" {
		return append(append(b, '$'), m.Slot...)
	}
	b = AppendValue(b, m.Field, m.Value)
	if m.Mask != nil {
		b = AppendValue(append(b, '/'), m.Field, m.Mask)
	}
	if m.High != nil {
		b = AppendValue(append(b, '-'), m.Field, m.High)
	}
	return b
}

// AppendValue appends a field's value as people write it.
func AppendValue(b []byte, f Field, v []byte) []byte {
	switch len(v) {
	case 6:
		return append(b, net.HardwareAddr(v).String()...)
	case 16:
		return netip.AddrFrom16([16]byte(v)).AppendTo(b)
	case 4:
		if f != STPRootCost {
			return netip.AddrFrom4([4]byte(v)).AppendTo(b)
		}
		return strconv.AppendUint(b, uint64(binary.BigEndian.Uint32(v)), 10)
	case 2:
		n := uint64(binary.BigEndian.Uint16(v))
		if f == EtherType || f == VLANEncap || f == ARPProtocol {
			return strconv.AppendUint(append(b, "0x"...), n, 16)
		}
		return strconv.AppendUint(b, n, 10)
	case 1:
		return strconv.AppendUint(b, uint64(v[0]), 10)
	}
	return hex.AppendEncode(b, v)
}

// String returns the states as the language lists them.
func (s State) String() string {
	var words []string
	for i, w := range []string{"NEW", "ESTABLISHED", "RELATED", "INVALID"} {
		if s&(1<<i) != 0 {
			words = append(words, w)
		}
	}
	return strings.Join(words, ",")
}

// String returns the word of conntrack.
func (d CTDir) String() string { return [...]string{"either", "original", "reply"}[d] }
