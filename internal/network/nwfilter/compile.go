package nwfilter

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Compile makes the Program of a filter for a NIC with these variables, and the values that the NIC has for the slots of
// it. Errors are *MissingError, *LoopError, *RuleFrameError, *RuleError, *VariableError and *SizeError, each with the path
// of references that leads to what is wrong.
func Compile(set Set, root string, params Params) (*Program, Values, error) {
	c, err := compileAll(set, root, params)
	if err != nil {
		return nil, nil, err
	}
	return c.program(), c.values, nil
}

// compileAll compiles all rules.
func compileAll(set Set, root string, params Params) (*compiler, error) {
	t := &tree{set: set, root: root, parsed: map[string][]*parsed{}}
	if err := t.walk([]string{root}, params.variables()); err != nil {
		return nil, err
	}
	if err := t.unknown(); err != nil {
		return nil, err
	}
	c := &compiler{root: root, values: Values{}, chains: map[string]*Chain{}}
	slices.SortStableFunc(t.all, func(a, b instance) int { return cmp.Compare(a.priority, b.priority) })
	for i := range t.all {
		if err := c.add(&t.all[i]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// unknown reports the variables without a value.
func (t *tree) unknown() error {
	var e *VariableError
	for i := range t.all {
		in := &t.all[i]
		for _, u := range in.uses {
			if u.access == nil {
				continue
			}
			if _, ok := in.vars[u.access.name]; ok {
				continue
			}
			if e == nil {
				e = &VariableError{Where: RuleError{Path: in.path, Rule: in.index, Attribute: string(in.protocol) + "/@" + u.name}}
			}
			if !slices.Contains(e.Names, u.access.name) {
				e.Names = append(e.Names, u.access.name)
			}
		}
	}
	if e == nil {
		return nil
	}
	slices.Sort(e.Names)
	return e
}

type compiler struct {
	root   string
	values Values
	chains map[string]*Chain
	packet []Rule
	rules  int

	opened  []open // the uses of variables that became slots
	written bool   // a value that the NIC gives stands in a rule
}

// add compiles one rule in one place, for every combination of values that has to be written out.
func (c *compiler) add(in *instance) error {
	x, err := c.expansion(in)
	if err != nil {
		return err
	}
	for {
		b, err := in.build(func(u *use) (string, SlotName) { return x.of(u) })
		if err != nil {
			return err
		}
		if in.protocol.Layer() == FrameLayer {
			c.frame(in, b)
		} else {
			c.packets(in, b)
		}
		if c.rules > maxRules {
			return &SizeError{Root: c.root, What: "rules", Most: maxRules}
		}
		if !x.next() {
			return nil
		}
	}
}

// frame adds a rule of the frame layer. One for both directions is as written to the guest, and turned round from it.
func (c *compiler) frame(in *instance, b body) {
	chain := c.chains[in.chain]
	if chain == nil {
		p, _ := chainProtocol(in.chain)
		chain = &Chain{Name: in.chain, Protocol: p, Priority: in.chainPriority}
		if p == "mac" {
			chain.Protocol = ""
		}
		c.chains[in.chain] = chain
	}
	chain.Priority = min(chain.Priority, in.chainPriority)
	if in.out {
		from := b
		if in.in {
			from = b.mirrored()
		}
		chain.Rules = append(chain.Rules, c.rule(in, from, Out, in.in))
	}
	if in.in {
		chain.Rules = append(chain.Rules, c.rule(in, b, In, false))
	}
}

func (c *compiler) rule(in *instance, b body, d Direction, mirrored bool) Rule {
	c.rules++
	return Rule{
		Filter: in.filter, Index: in.index, Priority: in.priority, Action: in.action, Direction: d, Mirrored: mirrored,
		Protocol: in.protocol, Matches: b.matches, ConnLimit: b.limit, Sets: b.sets, Comment: in.comment,
	}
}

// packets adds the rules of the packet layer that one rule stands for. An accepted connection is accepted both ways, so a
// rule for one direction implies a rule for the answers; see docs/filters.md.
func (c *compiler) packets(in *instance, b body) {
	typed := in.find(ICMPType, roleValue) != nil
	for _, d := range []Direction{Out, In} {
		written := d == Out && in.out || d == In && in.in
		mirrored := !written || d == Out && in.in
		if in.out && in.in && typed {
			mirrored = false // a type means the same in both directions
		}
		if !written && (typed || in.statematch && in.hasStates) || mirrored && b.limit != nil {
			continue
		}
		own := b
		if mirrored {
			own = b.mirrored()
			own.matches = slices.DeleteFunc(own.matches, func(m Match) bool { return m.Field == EtherDst })
			if len(own.matches) < len(b.matches) && len(own.matches)+len(own.sets) == 0 {
				continue // it was about the sender's MAC address alone, which answers do not have
			}
		}
		r := c.rule(in, own, d, mirrored)
		r.States, r.CTDir = states(in, b, written, typed)
		c.packet = append(c.packet, r)
	}
}

// states says what a rule of the packet layer demands of the connection that a packet belongs to.
func states(in *instance, b body, written, typed bool) (State, CTDir) {
	switch {
	case !in.statematch || b.limit != nil:
		return 0, EitherWay
	case in.hasStates:
		return in.states, EitherWay
	case in.action != Accept || in.out && in.in:
		return 0, EitherWay
	case typed:
		return New | Established, EitherWay
	case written:
		return New | Established, Original
	}
	return Established, Reply
}

// program puts the chains together: root leads to the others between its own rules, by priority.
func (c *compiler) program() *Program {
	p := &Program{Root: c.root, Packet: c.packet}
	root := Chain{Name: "root"}
	var own []Rule
	if r := c.chains["root"]; r != nil {
		own = r.Rules
		delete(c.chains, "root")
	}
	others := slices.SortedFunc(maps.Values(c.chains), func(a, b *Chain) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Name, b.Name))
	})
	p.Chains = append(p.Chains, root)
	next := 0
	for _, chain := range others {
		for next < len(own) && own[next].Priority < chain.Priority {
			root.Rules = append(root.Rules, own[next])
			next++
		}
		for _, d := range []Direction{Out, In} {
			if slices.ContainsFunc(chain.Rules, func(r Rule) bool { return r.Direction == d }) {
				root.Rules = append(root.Rules, Rule{
					Filter: c.root, Priority: chain.Priority, Action: Jump, Target: chain.Name, Direction: d, Protocol: chain.Protocol,
				})
			}
		}
		p.Chains = append(p.Chains, *chain)
	}
	root.Rules = append(root.Rules, own[next:]...)
	p.Chains[0] = root
	for name, values := range c.values {
		p.Slots = append(p.Slots, Slot{Name: name, Width: len(values[0])})
	}
	slices.SortFunc(p.Slots, func(a, b Slot) int { return cmp.Compare(a.Name, b.Name) })
	p.Key = p.key()
	return p
}

// slot leaves the values of a variable open.
func (c *compiler) slot(in *instance, u *use, values []string) (SlotName, error) {
	kinds := map[kind]string{kindMAC: "mac", kindIPv4: "ipv4", kindIPv6: "ipv6"}
	what := kinds[u.kind]
	if what == "" {
		what = fmt.Sprintf("u%d", 8*u.field.Width())
		if u.words != nil {
			what = u.name
		}
	}
	name := u.access.name
	if u.access.element >= 0 {
		name = fmt.Sprintf("%s[%d]", name, u.access.element)
	}
	slot := SlotName(name + "/" + what)
	var all [][]byte
	for _, v := range values {
		b, err := u.read(v)
		if err != nil {
			return "", in.fail(u, err)
		}
		all = append(all, b)
	}
	slices.SortFunc(all, bytes.Compare)
	c.values[slot] = slices.CompactFunc(all, bytes.Equal)
	return slot, nil
}
