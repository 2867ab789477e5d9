package nftables

import (
	"fmt"

	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
)

// maxAlternatives bounds how many rules of nf_tables one rule may become.
const maxAlternatives = 4096

// Bits of a packet's mark in which the inet table notes the state of the connection, for the bridge's to read.
const (
	markNew = 1 << (8 + iota)
	markEstablished
	markRelated
	markInvalid
	markReply
	markAsked // a port whose Program asks sent it
	markEqual // an ARP frame whose IP addresses are equal, within the evaluation of a rule

	markBits = markNew | markEstablished | markRelated | markInvalid | markReply
)

// conditions are all that a rule demands of a frame.
func (r *renderer) conditions(rule *nwfilter.Rule) (exprs, error) {
	x := r.ofProtocol(rule)
	needed := map[string]bool{}
	for i := range rule.Matches {
		m := &rule.Matches[i]
		n := needs(m.Field, rule)
		if key := fmt.Sprint(n); !needed[key] {
			needed[key] = true
			x = x.and(n)
		}
		var err error
		if x, err = r.match(x, rule, m); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Field, err)
		}
		if len(x) > maxAlternatives {
			return x, nil
		}
	}
	if len(rule.Sets) > 0 {
		return nil, fmt.Errorf("ipset %s: filters are kept in nf_tables, which cannot look into sets of ip_set; write the addresses as a variable with a list", rule.Sets[0].Name)
	}
	limit, err := r.overLimit(rule)
	return x.and(r.ofConnection(rule)).and(limit), err
}

// ofProtocol are the conditions that the rule's protocol implies.
func (r *renderer) ofProtocol(rule *nwfilter.Rule) exprs {
	x := one()
	if t, ok := rule.Protocol.EtherType(); ok {
		x = x.and(one(etherType(t)))
	}
	if mac, ok := rule.Protocol.EtherDst(); ok {
		x = x.and(one(bytesAt(nft.LinkHeader, 0, string(mac[:]))))
	}
	if n, ok := rule.Protocol.Number(); ok {
		x = x.and(protocolIs(rule.Protocol.IPv6(), n, false))
	}
	return x
}

// ofConnection are the conditions on the connection that the packet belongs to.
func (r *renderer) ofConnection(rule *nwfilter.Rule) exprs {
	if rule.States == 0 && rule.CTDir == nwfilter.EitherWay {
		return one()
	}
	r.out.states = true
	x := one()
	var bits uint32
	var states nft.CTState
	for _, s := range []struct {
		of  nwfilter.State
		ct  nft.CTState
		bit uint32
	}{
		{nwfilter.New, nft.New, markNew},
		{nwfilter.Established, nft.Established, markEstablished},
		{nwfilter.Related, nft.Related, markRelated},
		{nwfilter.Invalid, nft.Invalid, markInvalid},
	} {
		if rule.States&s.of != 0 {
			states |= s.ct
			bits |= s.bit
		}
	}
	direction := nft.Original
	if rule.CTDir == nwfilter.Reply {
		direction = nft.Reply
	}
	if r.can.conntrack {
		if states != 0 {
			x = x.and(one(states))
		}
		if rule.CTDir != nwfilter.EitherWay {
			x = x.and(one(direction))
		}
		return x
	}
	if bits == 0 {
		bits = markNew | markEstablished | markRelated // a direction alone: some connection there must be
	}
	x = x.and(one(nft.Marked{Mask: bits, Not: true}))
	if rule.CTDir != nwfilter.EitherWay {
		m := nft.Marked{Mask: markReply}
		if direction == nft.Reply {
			m.Value = markReply
		}
		x = x.and(one(m))
	}
	return x
}

// inSet reports whether a rule can look a field up in a set, together with the port's name. The fields excluded have types in nft of which
// no set can be declared here.
func inSet(f nwfilter.Field) bool {
	switch f {
	case nwfilter.ARPHardware, nwfilter.ARPProtocol, nwfilter.ARPOpcode, nwfilter.ICMPType, nwfilter.ICMPCode, nwfilter.VLANEncap:
		return false
	}
	_, ok := placeOf(f)
	return ok || f == nwfilter.IPProtocol
}

// lookedUp returns the field of nf_tables for a key that follows these expressions.
func lookedUp(f nwfilter.Field, six bool, before []nft.Expr) (nft.Field, bool) {
	p, ok := placeOf(f)
	if f == nwfilter.IPProtocol {
		if six {
			return nft.L4Proto, true
		}
		p, ok = place{nft.NetworkHeader, 9}, true
	}
	if !ok {
		return "", false
	}
	return nft.FieldAt(before, p.base, p.offset, f.Width())
}

// written reports whether a slot's values stand in the rules, for some rule at least.
func written(p *nwfilter.Program, slot nwfilter.SlotName) bool {
	some := func(rules []nwfilter.Rule) bool {
		for i := range rules {
			for j := range rules[i].Matches {
				if m := &rules[i].Matches[j]; m.Slot == slot && !inSet(m.Field) {
					return true
				}
			}
		}
		return false
	}
	for i := range p.Chains {
		if some(p.Chains[i].Rules) {
			return true
		}
	}
	return some(p.Packet)
}

// match adds a condition of a rule to the conditions before it.
func (r *renderer) match(x exprs, rule *nwfilter.Rule, m *nwfilter.Match) (exprs, error) {
	if m.Slot == "" {
		y, err := literal(rule, m)
		return x.and(y), err
	}
	if inSet(m.Field) {
		return r.lookUp(x, rule, m)
	}
	var out exprs
	for _, v := range r.port.Values[m.Slot] {
		y, err := literal(rule, &nwfilter.Match{Field: m.Field, Not: m.Not, Value: v})
		if err != nil {
			return nil, err
		}
		out = append(out, y...)
	}
	return x.and(out), nil
}

// lookUp has the port's values in the slot's set.
func (r *renderer) lookUp(x exprs, rule *nwfilter.Rule, m *nwfilter.Match) (exprs, error) {
	slot, err := slotOf(r.port.Program, m.Slot)
	if err != nil {
		return nil, err
	}
	port := nft.IIfName
	if rule.Direction == nwfilter.In {
		port = nft.OIfName
	}
	out := make(exprs, 0, len(x))
	for _, before := range x {
		f, ok := lookedUp(m.Field, rule.Protocol.IPv6(), before)
		if !ok {
			return nil, errOther
		}
		in := nft.In{Key: []nft.Term{{Field: port}, {Field: f}}, Not: m.Not, Set: setName(slot, kindOf(rule.Protocol, m.Field))}
		out = append(out, append(append([]nft.Expr(nil), before...), in))
	}
	return out, nil
}

func slotOf(p *nwfilter.Program, name nwfilter.SlotName) (nwfilter.Slot, error) {
	for _, s := range p.Slots {
		if s.Name == name {
			return s, nil
		}
	}
	return nwfilter.Slot{}, fmt.Errorf("the program has no slot %q", name)
}
