package nwfilter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"taproom/internal/spec"
)

// Set holds filters by name. Shipped returns those that are there from the beginning.
type Set map[string]*spec.Filter

// Params are the values of the variables of one NIC, as text: MAC, IP, and what <parameter> says. A variable has at least
// one value.
type Params map[string][]string

// Direction is the way of a frame as the guest sees it.
type Direction uint8

// The directions.
const (
	Out Direction = iota // from the guest
	In                   // to the guest
)

// String returns the word of the language.
func (d Direction) String() string {
	if d == In {
		return "in"
	}
	return "out"
}

// Action is what a rule does with what it matches.
type Action uint8

// The actions. Jump, which the language has no word for, leads from root to another chain.
const (
	Accept   Action = iota // the layer is passed
	Drop                   // the frame is gone
	Reject                 // the frame is gone and its sender is told, where the back end can; in the frame layer it is a Drop
	Return                 // back to the chain before; from root and in the packet layer, the layer is passed
	Continue               // the next rule is looked at: such a rule only counts
	Jump                   // to the chain named by Target
)

// String returns the word of the language.
func (a Action) String() string {
	return [...]string{"accept", "drop", "reject", "return", "continue", "jump"}[a]
}

// State is a set of the states that the kernel's connection tracking gives a packet (nf_conntrack, as xt_conntrack's
// --ctstate). Zero means that the state is not looked at.
type State uint8

// The states.
const (
	New State = 1 << iota
	Established
	Related
	Invalid
)

// CTDir says in which direction of its connection a packet must go: that of the connection's first packet, or the other.
type CTDir uint8

// The directions of a connection.
const (
	EitherWay CTDir = iota
	Original
	Reply
)

// IPSet is a condition on a set of the kernel's ip_set that somebody else keeps. Flags are "src" and "dst", one for each
// dimension of the set, already exchanged where the rule is mirrored.
type IPSet struct {
	Name  string
	Flags []string
	Not   bool
}

// SlotName names a value of a port that a Program leaves open. It is made of the variable and the kind of the value, such
// as "IP/ipv4".
type SlotName string

// Slot is a value, or a list of values, that each port has of its own. Width is that of one value in octets.
type Slot struct {
	Name  SlotName
	Width int
}

// Match is a condition on one field. There is either a Slot, which is met by equality with any of the port's values, or a
// literal: Value alone, Value under Mask (Value has no bit outside of it), or the range from Value to High, both included.
// All are in network byte order and have the field's width. With Not the condition is negated; a slot that is negated has
// exactly one value.
type Match struct {
	Field Field
	Not   bool
	Slot  SlotName
	Value []byte
	Mask  []byte
	High  []byte
}

// Rule is one compiled rule. Its Protocol implies conditions that do not stand in Matches; see Protocol.
type Rule struct {
	Filter    string // where it was written
	Index     int    // which rule of that filter, from 1; for a Jump 0
	Priority  int
	Action    Action
	Target    string // of a Jump
	Direction Direction
	Mirrored  bool // source and destination are exchanged against the document
	Protocol  Protocol
	Matches   []Match
	States    State
	CTDir     CTDir
	ConnLimit *uint32 // the rule matches only while the guest's side has more connections than this
	Sets      []IPSet
	Comment   string
}

// Chain is a chain of the frame layer. Rules of both directions stand in one list; those of the other direction are
// passed over.
type Chain struct {
	Name     string
	Protocol Protocol // what enters it: none for root and mac
	Priority int
	Rules    []Rule
}

// Program is what a filter and the shape of a NIC's parameters compile to. It names no port: NICs whose filters differ
// only in the values of slots have the same Program. Key is the SHA-256 of its canonical text (String) in hexadecimal.
type Program struct {
	Key    string
	Root   string  // the filter it was compiled from
	Chains []Chain // the first is root, the others are in the order in which root leads to them
	Packet []Rule  // the packet layer, for IPv4 and IPv6
	Slots  []Slot  // sorted by name
}

// Values are what one port has for each slot of its program: sorted, without duplicates, never empty.
type Values map[SlotName][][]byte

// Hash returns the SHA-256 of the values in hexadecimal: what tells a port that has these values from one that has others.
func (v Values) Hash() string {
	names := make([]SlotName, 0, len(v))
	for n := range v {
		names = append(names, n)
	}
	slices.Sort(names)
	h := sha256.New()
	for _, n := range names {
		h.Write(append([]byte(n), 0))
		for _, value := range v[n] {
			h.Write([]byte{byte(len(value))})
			h.Write(value)
		}
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Of returns the rules of one direction.
func Of(rules []Rule, d Direction) []Rule {
	var out []Rule
	for i := range rules {
		if rules[i].Direction == d {
			out = append(out, rules[i])
		}
	}
	return out
}

// Port is a link of the host whose frames a Program judges.
type Port struct {
	Name    string
	Program *Program
	Values  Values
}

// Attached is what a back end has for a port.
type Attached struct {
	Key  string // of the Program
	Hash string // of the Values
}

// Counter is how often a rule was met, by all ports that share its Program.
type Counter struct {
	Program string // its Key
	Chain   string // empty for the packet layer
	Rule    Rule
	Packets uint64
	Bytes   uint64
}

// Backend carries Programs out.
type Backend interface {
	// Apply attaches and changes ports, and detaches those of gone, in one transaction; a Program that no port uses any
	// more goes with it. A port need not exist yet, and one of gone need not be attached. After an error, Observe tells.
	Apply(ctx context.Context, changes []Port, gone []string) error
	// Observe returns what is attached, by port. What is damaged or was flushed by somebody else is missing.
	Observe(ctx context.Context) (map[string]Attached, error)
	// Counters returns the counters of all rules of all Programs. A packet that a rule drops because its header is cut short may be
	// in none of them.
	Counters(ctx context.Context) ([]Counter, error)
}
