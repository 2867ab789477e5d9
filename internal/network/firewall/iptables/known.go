package iptables

import (
	"strings"

	"taproom/internal/host/xtables"
	"taproom/internal/network/firewall"
)

// known is what the rules and elements of one family came to when they were looked at last. At the next look nearly all are the
// same ones, and each is found here in a fraction of the time that it takes to take it apart. What a look does not meet is
// forgotten with it.
type known struct {
	rules    map[ruleOf]reading
	elements map[firewall.Element]wanted
}

// ruleOf is a rule as it is printed, in a chain by our own name for it.
type ruleOf struct{ chain, text string }

// reading is what such a rule says.
type reading struct {
	form    string // its one form
	element firewall.Element
	is      bool // that it is one of an element
}

// wanted is what an element asks for.
type wanted struct {
	places []place // rules in their one form
	err    error
}

// begin is a look that has met nothing yet.
func (k *known) begin() *known {
	return &known{make(map[ruleOf]reading, len(k.rules)), make(map[firewall.Element]wanted, len(k.elements))}
}

// read takes a rule apart, unless the look before did. What is kept of a listing is a copy: it would keep all of its text.
func (s sight) read(now *known, chain, text string) reading {
	r, ok := s.known.rules[ruleOf{chain, text}]
	if !ok {
		chain, text = strings.Clone(chain), strings.Clone(text)
		rule := xtables.ParseRule(text)
		r.form = rule.String()
		if m, is := s.member(chain, rule); is {
			r.element, r.is = m.Element(), true
		}
	}
	now.rules[ruleOf{chain, text}] = r
	return r
}

// wants returns the rules of an element, which the look before may have known.
func (s sight) wants(now *known, e firewall.Element) wanted {
	w, ok := s.known.elements[e]
	if !ok {
		m, err := s.parse(e)
		if w.err = err; err == nil {
			for _, p := range s.rules(m) {
				p.rule = xtables.ParseRule(p.rule).String()
				w.places = append(w.places, p)
			}
		}
	}
	now.elements[e] = w
	return w
}
