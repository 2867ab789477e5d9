package nwfilter

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"taproom/internal/spec"
)

// access is a variable where a value could stand: $NAME, $NAME[@1] (an iterator) or $NAME[1] (one element, from 0).
type access struct {
	name     string
	iterator int // of $NAME it is 0
	element  int // or -1
}

// String returns the access as it is written, in its shortest form.
func (a access) String() string {
	switch {
	case a.element >= 0:
		return fmt.Sprintf("$%s[%d]", a.name, a.element)
	case a.iterator > 0:
		return fmt.Sprintf("$%s[@%d]", a.name, a.iterator)
	}
	return "$" + a.name
}

func readAccess(s string) (*access, error) {
	name, index, indexed := strings.Cut(strings.TrimPrefix(s, "$"), "[")
	if !spec.FilterVariable(name) {
		return nil, fmt.Errorf("%q does not begin with the name of a variable (letters, digits and '_')", s)
	}
	a := &access{name: name, element: -1}
	if !indexed {
		return a, nil
	}
	number, closed := strings.CutSuffix(index, "]")
	number, iterator := strings.CutPrefix(number, "@")
	n, err := strconv.ParseUint(number, 10, 16)
	if !closed || err != nil || n > 1000 {
		return nil, fmt.Errorf("%q is neither $%s, $%s[@ITERATOR] nor $%s[ELEMENT] with a number of at most 1000", s, name, name, name)
	}
	if iterator {
		a.iterator = int(n)
	} else {
		a.element = int(n)
	}
	return a, nil
}

// use is one attribute of a rule.
type use struct {
	*attribute
	not    bool
	text   string  // as written
	access *access // or nil
	single bool    // a value that no mask and no range belongs to
}

// parsed is a rule as it was read, with its variables.
type parsed struct {
	filter     string
	index      int
	action     Action
	out, in    bool
	priority   int
	statematch bool
	protocol   Protocol
	uses       []use
	comment    string
	states     State
	hasStates  bool
}

// ruleReader reads the rules of one filter.
type ruleReader struct {
	path  []string
	index int
}

func (r *ruleReader) fail(attribute, format string, args ...any) error {
	return &RuleError{Path: r.path, Rule: r.index, Attribute: attribute, Reason: fmt.Sprintf(format, args...)}
}

func (r *ruleReader) read(filter string, rule *spec.FilterRule) (*parsed, error) {
	p := &parsed{filter: filter, index: r.index, priority: 500, statematch: true}
	switch rule.Action {
	case "accept":
		p.action = Accept
	case "drop":
		p.action = Drop
	case "reject":
		p.action = Reject
	case "return":
		p.action = Return
	case "continue":
		p.action = Continue
	default:
		return nil, r.fail("@action", "it is %q; use accept, drop, reject, return or continue", rule.Action)
	}
	p.out, p.in = rule.Direction == "out" || rule.Direction == "inout", rule.Direction == "in" || rule.Direction == "inout"
	if !p.out && !p.in {
		return nil, r.fail("@direction", "it is %q; use in, out or inout", rule.Direction)
	}
	if rule.Priority != "" {
		n, err := strconv.Atoi(rule.Priority)
		if err != nil || n < -1000 || n > 1000 {
			return nil, r.fail("@priority", "%q is not a number from -1000 to 1000", rule.Priority)
		}
		p.priority = n
	}
	switch strings.ToLower(rule.StateMatch) {
	case "0", "false", "no":
		p.statematch = false
	}
	for i := range rule.Protocols {
		if err := r.element(p, &rule.Protocols[i], i); err != nil {
			return nil, err
		}
	}
	return p, r.whole(p)
}

// element reads one of the elements of a rule; they are all of one protocol.
func (r *ruleReader) element(p *parsed, e *spec.Element, i int) error {
	name := e.XMLName.Local
	known := attributesOf(Protocol(name))
	switch {
	case name == "" || known == nil:
		return r.fail("<"+name+">", "protocol %q is not known", name)
	case i > 0 && p.protocol != Protocol(name):
		return r.fail("<"+name+">", "the rule is about %s as well; write a rule for each", p.protocol)
	}
	p.protocol = Protocol(name)
	not := false
	for _, a := range e.Attrs {
		if a.Name.Local == "match" {
			switch strings.ToLower(a.Value) {
			case "no":
				not = true
			case "yes":
			default:
				return r.fail(name+"/@match", "it is %q; use no or yes", a.Value)
			}
		}
	}
	for _, a := range e.Attrs {
		if a.Name.Local == "match" {
			continue
		}
		if err := r.attribute(p, known, a.Name.Local, a.Value, not); err != nil {
			return err
		}
	}
	return nil
}

func (r *ruleReader) attribute(p *parsed, known []attribute, name, value string, not bool) error {
	where := string(p.protocol) + "/@" + name
	var a *attribute
	for i := range known {
		if known[i].name == name {
			a = &known[i]
		}
	}
	if a == nil {
		return r.fail(where, "%s has no such attribute", p.protocol)
	}
	for i := range p.uses {
		if u := &p.uses[i]; u.name == a.name || u.field == a.field && u.role == a.role && a.role <= roleTo {
			return r.fail(where, "it is said twice in one rule (%s='%s')", u.name, u.text)
		}
	}
	switch a.role {
	case roleComment:
		if len(value) > 256 {
			return r.fail(where, "a comment has at most 256 characters, this one %d", len(value))
		}
		p.comment = value
		return nil
	case roleState:
		states, err := readStates(value)
		if err != nil {
			return r.fail(where, "%s", err)
		}
		if not {
			return r.fail(where, "states are not negated; list the others")
		}
		p.states, p.hasStates = states, true
		return nil
	}
	u := use{attribute: a, not: not, text: value}
	if strings.HasPrefix(value, "$") {
		if a.kind == kindTCPFlags || a.kind == kindSetFlags {
			return r.fail(where, "it cannot be a variable")
		}
		v, err := readAccess(value)
		if err != nil {
			return r.fail(where, "%s", err)
		}
		u.access = v
	} else if err := check(a, value); err != nil {
		return r.fail(where, "%s", err)
	}
	p.uses = append(p.uses, u)
	return nil
}

// check reads a literal value for its mistakes.
func check(a *attribute, value string) error {
	switch a.kind {
	case kindSetName:
		return readSetName(value)
	case kindSetFlags:
		_, err := readSetFlags(value)
		return err
	}
	_, err := a.read(value)
	return err
}

// find returns the attribute of a field in a role, or nil.
func (p *parsed) find(f Field, as role) *use {
	for i := range p.uses {
		if p.uses[i].field == f && p.uses[i].role == as {
			return &p.uses[i]
		}
	}
	return nil
}

func (p *parsed) role(as role) *use {
	for i := range p.uses {
		if p.uses[i].role == as {
			return &p.uses[i]
		}
	}
	return nil
}

// whole checks what attributes demand of each other.
func (r *ruleReader) whole(p *parsed) error {
	for i := range p.uses {
		u := &p.uses[i]
		where := string(p.protocol) + "/@" + u.name
		switch u.role {
		case roleValue:
			u.single = p.find(u.field, roleMask) == nil && p.find(u.field, roleHigh) == nil && u.kind != kindTCPFlags && u.kind != kindBool
		case roleFrom:
			u.single = p.find(u.field, roleTo) == nil
		case roleMask, roleHigh, roleTo:
			base := p.find(u.field, map[role]role{roleMask: roleValue, roleHigh: roleValue, roleTo: roleFrom}[u.role])
			if base == nil {
				return r.fail(where, "it needs the attribute before it: %s", r.before(p, u))
			}
			if base.not != u.not && u.role != roleMask {
				return r.fail(where, "it is negated and %s is not, or the other way round; write both into one element", base.name)
			}
		case roleSet:
			if p.role(roleSetFlags) == nil {
				return r.fail(where, "it needs ipsetflags, such as src,src")
			}
		case roleSetFlags:
			if p.role(roleSet) == nil {
				return r.fail(where, "it needs ipset")
			}
		case roleConnLimit:
			if u.not {
				return r.fail(where, "it cannot be negated")
			}
		}
	}
	return r.layers(p)
}

func (r *ruleReader) before(p *parsed, u *use) string {
	names := map[role]string{roleMask: "the address", roleHigh: "the beginning of the range", roleTo: "the beginning of the range"}
	for _, a := range attributesOf(p.protocol) {
		if a.field == u.field && (a.role == roleValue && u.role != roleTo || a.role == roleFrom && u.role == roleTo) {
			return cmp.Or(a.name, names[u.role])
		}
	}
	return names[u.role]
}

// layers checks that ports and types stand beside a protocol that has them.
func (r *ruleReader) layers(p *parsed) error {
	if p.protocol == "stp" && p.in && p.out && p.find(EtherSrc, roleValue) != nil {
		return r.fail("stp/@srcmacaddr", "BPDUs go to one address, so the rule cannot be turned round for direction inout; write one for in and one for out")
	}
	if code := p.find(ICMPCode, roleValue); code != nil && p.find(ICMPType, roleValue) == nil {
		return r.fail(string(p.protocol)+"/@code", "it needs type")
	}
	if p.protocol != "ip" && p.protocol != "ipv6" {
		return nil
	}
	of := p.find(IPProtocol, roleValue)
	for _, need := range []struct {
		f    Field
		what string
		ok   func(n byte) bool
	}{
		{SrcPort, "tcp, udp, udplite, sctp or 33 (DCCP)", hasPorts},
		{DstPort, "tcp, udp, udplite, sctp or 33 (DCCP)", hasPorts},
		{ICMPType, "icmpv6", func(n byte) bool { return n == 58 }},
	} {
		u := p.find(need.f, roleValue)
		if u == nil {
			continue
		}
		where := string(p.protocol) + "/@" + u.name
		if of == nil || of.not || of.access != nil {
			return r.fail(where, "it needs protocol with one of %s, not negated and not a variable", need.what)
		}
		if n, err := of.read(of.text); err != nil || !need.ok(n[0]) {
			return r.fail(where, "protocol %s has none; it needs %s", of.text, need.what)
		}
	}
	return nil
}

func hasPorts(n byte) bool { return n == 6 || n == 17 || n == 33 || n == 132 || n == 136 }
