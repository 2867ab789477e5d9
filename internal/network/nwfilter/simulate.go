package nwfilter

import (
	"bytes"
	"fmt"
	"slices"
)

// Flow is what Simulate cannot see in a frame: the connection that its packet belongs to, and sets. The zero value is the
// first packet of a connection, the only one there is.
type Flow struct {
	State       State           // one of New, Established, Related, Invalid; zero is New
	Reply       bool            // it goes against the direction of the connection's first packet
	Connections uint32          // how many connections connlimit-above counts, this one included
	Sets        map[string]bool // whether the packet is in an ipset
}

// Step is a rule that was met on the way, or without a rule the end of a chain.
type Step struct {
	Layer Layer
	Chain string // empty in the packet layer
	Rule  *Rule
}

// Decision is what becomes of a frame. Rule is the one that decided, nil where no rule did; then the frame passes. Path is
// every rule that was met, in order, and every chain's end that was reached; the last of it is Rule or the last end.
type Decision struct {
	Verdict Action // Accept, Drop, or in the packet layer Reject
	Layer   Layer  // where it was decided
	Chain   string
	Rule    *Rule
	Path    []Step
}

// SetError says that a rule asks for a set which the Flow does not know.
type SetError struct{ Name string }

// Error implements error.
func (e *SetError) Error() string {
	return fmt.Sprintf("it depends on whether the packet is in ipset %s; say which", e.Name)
}

// FrameError says that a frame has no Ethernet header.
type FrameError struct{ Length int }

// Error implements error.
func (e *FrameError) Error() string {
	return fmt.Sprintf("a frame has at least 14 octets, this one %d", e.Length)
}

// Simulate says what becomes of a frame. It does what the kernel is asked to do, no more: packets that the kernel would
// drop as malformed before any rule are judged as well. Packets in frames with a VLAN tag do not enter the packet layer, as
// they do not where net.bridge.bridge-nf-filter-vlan-tagged is 0. Errors are *FrameError and *SetError.
func Simulate(p *Program, v Values, d Direction, octets []byte, flow Flow) (Decision, error) {
	if len(octets) < 14 {
		return Decision{}, &FrameError{Length: len(octets)}
	}
	if flow.State == 0 {
		flow.State = New
	}
	s := &simulation{p: p, values: v, direction: d, frame: newFrame(octets), flow: flow}
	s.decision.Verdict = Accept
	if err := s.chain(&p.Chains[0]); err != nil || s.decision.Verdict != Accept {
		return s.decision, err
	}
	if t := s.frame.etherType(); t == 0x0800 || t == 0x86dd {
		s.done = false
		if err := s.packets(); err != nil {
			return s.decision, err
		}
	}
	return s.decision, nil
}

type simulation struct {
	p         *Program
	values    Values
	direction Direction
	frame     *frame
	flow      Flow
	done      bool // the layer is left
	decision  Decision
}

// chain goes through a chain of the frame layer.
func (s *simulation) chain(c *Chain) error {
	for i := range c.Rules {
		r := &c.Rules[i]
		met, err := s.met(r)
		if err != nil {
			return err
		}
		if !met {
			continue
		}
		s.step(FrameLayer, c.Name, r)
		switch r.Action {
		case Continue:
			continue
		case Return:
			if c.Name == "root" {
				s.decide(Accept, FrameLayer, c.Name, r)
			}
			return nil
		case Jump:
			for j := range s.p.Chains {
				if s.p.Chains[j].Name == r.Target {
					if err := s.chain(&s.p.Chains[j]); err != nil || s.done {
						return err
					}
				}
			}
			continue
		case Accept:
			s.decide(Accept, FrameLayer, c.Name, r)
		default:
			s.decide(Drop, FrameLayer, c.Name, r)
		}
		return nil
	}
	s.step(FrameLayer, c.Name, nil)
	return nil
}

// packets goes through the packet layer.
func (s *simulation) packets() error {
	for i := range s.p.Packet {
		r := &s.p.Packet[i]
		met, err := s.met(r)
		if err != nil {
			return err
		}
		if !met {
			continue
		}
		s.step(PacketLayer, "", r)
		switch r.Action {
		case Continue:
			continue
		case Accept, Return:
			s.decide(Accept, PacketLayer, "", r)
		default:
			s.decide(r.Action, PacketLayer, "", r)
		}
		return nil
	}
	s.step(PacketLayer, "", nil)
	return nil
}

func (s *simulation) step(l Layer, chain string, r *Rule) {
	s.decision.Path = append(s.decision.Path, Step{Layer: l, Chain: chain, Rule: r})
}

func (s *simulation) decide(verdict Action, l Layer, chain string, r *Rule) {
	s.done = true
	s.decision.Verdict, s.decision.Layer, s.decision.Chain, s.decision.Rule = verdict, l, chain, r
}

// met reports whether all conditions of a rule are.
func (s *simulation) met(r *Rule) (bool, error) {
	if r.Direction != s.direction || !s.about(r.Protocol) {
		return false, nil
	}
	for i := range r.Matches {
		if m := &r.Matches[i]; !s.match(m) && (!r.Drops() || !s.frame.cut(m.Field.Header())) {
			return false, nil
		}
	}
	if r.States != 0 && r.States&s.flow.State == 0 || r.CTDir == Original && s.flow.Reply || r.CTDir == Reply && !s.flow.Reply {
		return false, nil
	}
	for _, set := range r.Sets {
		in, ok := s.flow.Sets[set.Name]
		if !ok {
			return false, &SetError{Name: set.Name}
		}
		if in == set.Not {
			return false, nil
		}
	}
	return r.ConnLimit == nil || max(1, s.flow.Connections) > *r.ConnLimit, nil
}

// about reports whether the frame is of a protocol.
func (s *simulation) about(p Protocol) bool {
	if t, ok := p.EtherType(); ok && s.frame.etherType() != t {
		return false
	}
	if mac, ok := p.EtherDst(); ok && !bytes.Equal(mac[:], s.frame.b[:6]) {
		return false
	}
	n, ok := p.Number()
	return !ok || s.frame.transport.ok && s.frame.transport.protocol == n
}

func (s *simulation) match(m *Match) bool {
	v, ok := s.frame.field(m.Field)
	if !ok {
		return false
	}
	if m.Field == TCPOption {
		return slices.ContainsFunc(v, func(kind byte) bool { return s.equals(m, []byte{kind}) }) != m.Not
	}
	return s.equals(m, v) != m.Not
}

func (s *simulation) equals(m *Match, v []byte) bool {
	switch {
	case m.Slot != "":
		return slices.ContainsFunc(s.values[m.Slot], func(own []byte) bool { return bytes.Equal(own, v) })
	case m.High != nil:
		return bytes.Compare(m.Value, v) <= 0 && bytes.Compare(v, m.High) <= 0
	case m.Mask != nil:
		masked := slices.Clone(v)
		for i := range masked {
			masked[i] &= m.Mask[i]
		}
		return bytes.Equal(masked, m.Value)
	}
	return bytes.Equal(m.Value, v)
}
