package nft

import (
	"fmt"
	"strings"
)

// Expr is one condition or statement of a rule: Match, In, CTState, DNATted, Local, Counter, Verdict, Reject,
// Masquerade, NAT,
// Count, OverLimit, Bytes, Marked, Mark, CTDirection, TCPOption, LaterFragment, VerdictMap or Opaque.
// They are comparable with ==, except In, NAT, OverLimit and VerdictMap, whose key is a list.
type Expr interface {
	// String is the expression in nft's language.
	String() string
	// encode appends the kernel's expressions for it.
	encode(*ruleEncoder) error
}

// Match compares one field with one value: `iifname "virbr0"`, `ip daddr 224.0.0.0/24`, `udp dport 67`. Ports match
// their protocol too, as in nft's language.
type Match struct {
	Field Field
	Not   bool
	Value string
}

// In looks a key up in a named set: `iifname . ip saddr & 255.255.255.0 @net24`.
type In struct {
	Key []Term
	Not bool
	Set string
}

// CTState matches a packet whose connection is in one of the states.
type CTState uint32

// The states of a connection, to be combined with |.
const (
	Invalid     CTState = 1
	Established CTState = 2
	Related     CTState = 4
	New         CTState = 8
	Untracked   CTState = 64
)

// Counter counts packets and bytes. The numbers are read, and sent when a rule is added.
type Counter struct {
	Packets, Bytes uint64
}

// Verdict ends the rule: "accept", "drop", "return", or "jump"/"goto" with a chain.
type Verdict struct {
	Kind  string
	Chain string
}

// Reject drops the packet and tells the sender. With is nft's word for how; empty means port unreachable.
type Reject struct {
	With string
}

// Masquerade rewrites the source address to that of the interface the packet leaves by, and the source port to one from
// Min to Max when those are set.
type Masquerade struct {
	Min, Max uint16
}

// Opaque is an expression of somebody else's rule that is outside the subset. It is shown, never sent.
type Opaque struct {
	Name string
	Info string // what the kernel keeps of a match of iptables, as it is in memory
}

// Accept is the verdict accept.
func Accept() Verdict { return Verdict{Kind: "accept"} }

// Drop is the verdict drop.
func Drop() Verdict { return Verdict{Kind: "drop"} }

// Return is the verdict return: go on in the calling chain.
func Return() Verdict { return Verdict{Kind: "return"} }

// Jump continues in a chain and comes back.
func Jump(chain string) Verdict { return Verdict{Kind: "jump", Chain: chain} }

// String is the expression in nft's language.
func (m Match) String() string {
	v := m.Value
	if i, err := m.Field.info(); err == nil {
		v = i.kind.quote(v)
	}
	if m.Not {
		return fmt.Sprintf("%s != %s", m.Field, v)
	}
	return fmt.Sprintf("%s %s", m.Field, v)
}

// String is the expression in nft's language, with the quirk of `nft list`, which writes == after a single masked term.
func (m In) String() string {
	terms := make([]string, len(m.Key))
	for i, t := range m.Key {
		terms[i] = t.String()
	}
	op := " "
	switch {
	case m.Not:
		op = " != "
	case len(m.Key) == 1 && m.Key[0].Bits != 0:
		op = " == "
	}
	return strings.Join(terms, " . ") + op + "@" + m.Set
}

type ctName struct {
	bit  CTState
	name string
}

func ctNames() []ctName {
	return []ctName{{Invalid, "invalid"}, {Established, "established"}, {Related, "related"}, {New, "new"}, {Untracked, "untracked"}}
}

// String is the expression in nft's language.
func (s CTState) String() string {
	var names []string
	rest := s
	for _, n := range ctNames() {
		if s&n.bit != 0 {
			names = append(names, n.name)
			rest &^= n.bit
		}
	}
	if rest != 0 {
		names = append(names, fmt.Sprintf("%#x", uint32(rest)))
	}
	return "ct state " + strings.Join(names, ",")
}

func (s CTState) check() error {
	rest := s
	for _, n := range ctNames() {
		rest &^= n.bit
	}
	if s == 0 || rest != 0 {
		return fmt.Errorf("connection state %#x is none of nft's", uint32(s))
	}
	return nil
}

// String is the expression in nft's language.
func (c Counter) String() string {
	return fmt.Sprintf("counter packets %d bytes %d", c.Packets, c.Bytes)
}

// String is the expression in nft's language.
func (v Verdict) String() string {
	if v.Chain != "" {
		return v.Kind + " " + v.Chain
	}
	return v.Kind
}

// String is the expression in nft's language.
func (r Reject) String() string {
	if r.With != "" {
		return "reject with " + r.With
	}
	return "reject"
}

// String is the expression in nft's language.
func (m Masquerade) String() string {
	switch {
	case m.Min == 0:
		return "masquerade"
	case m.Max == 0 || m.Max == m.Min:
		return fmt.Sprintf("masquerade to :%d", m.Min)
	}
	return fmt.Sprintf("masquerade to :%d-%d", m.Min, m.Max)
}

// String shows what it is in brackets, which nft's language has not.
func (o Opaque) String() string { return "[" + o.Name + "]" }
