package nftables

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
)

// plan is one Apply: a transaction, and what becomes of the tables by it.
type plan struct {
	b  *Backend
	s  *sight
	tx *nft.Transaction
	// ahead makes what no frame meets before tx.
	ahead *nft.Transaction

	known    map[*nwfilter.Program]known
	ports    map[string]*attachedPort // the changed ports after the transaction; nil: detached
	programs map[string]*attachedProgram
	sets     map[string]nft.Set // made
	marking  bool
	cleared  bool // the tables go
}

// known is shared by all ports with the same Program.
type known struct {
	id   string // of its chains; empty where values of ports stand in their rules
	uses []slotUse
}

func newPlan(b *Backend, s *sight) *plan {
	return &plan{
		b: b, s: s, tx: &nft.Transaction{}, ahead: &nft.Transaction{}, known: map[*nwfilter.Program]known{},
		ports: map[string]*attachedPort{}, programs: map[string]*attachedProgram{}, sets: map[string]nft.Set{},
	}
}

// join merges both transactions, unless ports that are filtered are led to other chains.
func (p *plan) join() {
	if p.ahead.Len() > 0 && !p.switching() {
		p.ahead.Append(p.tx)
		p.tx, p.ahead = p.ahead, &nft.Transaction{}
	}
}

// make plans the transaction. The order within it is that of what refers to what.
func (p *plan) make(changes []nwfilter.Port, gone []string) error {
	for _, name := range gone {
		if p.s.ports[name] != nil {
			p.ports[name] = nil
		}
	}
	rendered := map[string]*chains{} // by what identifies a Program
	var fresh []*chains
	for _, port := range changes {
		if port.Program == nil || len(port.Program.Chains) == 0 {
			return fmt.Errorf("filter port %s: it has no program", port.Name)
		}
		want, made, err := p.program(rendered, port)
		if err != nil {
			return fmt.Errorf("filter port %s: %w", port.Name, err)
		}
		if made {
			fresh = append(fresh, want)
		}
		if p.ports[port.Name], err = p.port(port, want); err != nil {
			return err
		}
	}
	users := p.users()
	p.cleared = !p.anybody()
	if p.cleared {
		p.clear()
		return nil
	}
	p.marking = p.needsMarks()
	if err := p.marked(); err != nil {
		return err
	}
	p.structure()
	for _, name := range slices.Sorted(maps.Keys(p.sets)) {
		if have, ok := p.s.sets[name]; !ok || !sameSet(have, p.sets[name]) {
			p.ahead.Add(p.sets[name])
		}
	}
	for _, c := range fresh {
		p.add(c)
	}
	p.elements()
	for _, id := range slices.Sorted(maps.Keys(p.s.programs)) {
		if users[id] == 0 {
			p.remove(p.s.programs[id])
			p.programs[id] = nil
		}
	}
	return nil
}

// program finds the chains of a port's Program, or renders them. Those that somebody has damaged are left to their end, and
// made anew beside.
func (p *plan) program(rendered map[string]*chains, port nwfilter.Port) (c *chains, made bool, err error) {
	k, ok := p.known[port.Program]
	if !ok {
		k.uses = slotUses(port.Program)
	}
	wanted := k.id
	if wanted == "" {
		var shared bool
		if wanted, shared = identify(port, p.b.can); shared {
			k.id = wanted
		}
		p.known[port.Program] = k
	}
	if c := rendered[wanted]; c != nil {
		return c, false, nil
	}
	id := wanted
	for n := 1; ; n++ {
		have := p.s.programs[id]
		if have == nil {
			break
		}
		if have.intact && have.key == port.Program.Key {
			c := &chains{id: id, uses: k.uses, states: have.states}
			rendered[wanted] = c
			return c, false, nil
		}
		id = fmt.Sprintf("%sr%d", wanted, n)
	}
	if c, err = render(p.b.table, id, p.b.can, port); err != nil {
		return nil, false, err
	}
	c.uses = k.uses
	c.states = c.states && !p.b.can.conntrack
	rendered[wanted] = c
	p.programs[id] = &attachedProgram{key: port.Program.Key, intact: true, states: c.states, chains: c.chains, limits: c.sets}
	return c, true, nil
}

// port is what the table shall have of a port.
func (p *plan) port(port nwfilter.Port, c *chains) (*attachedPort, error) {
	a := &attachedPort{
		out: "goto " + root(c.id, nwfilter.Out), in: "goto " + root(c.id, nwfilter.In), listed: everywhere(), tracked: c.states,
	}
	for _, u := range c.uses {
		p.sets[u.name] = u.set(p.b.table)
	}
	var err error
	if a.values, err = elements(port, c.uses); err != nil {
		return nil, err
	}
	for _, v := range a.values {
		slices.Sort(v)
	}
	return a, nil
}

// becomes is what the table will have of a port.
func (p *plan) becomes(name string) *attachedPort {
	if a, ok := p.ports[name]; ok {
		return a
	}
	return p.s.ports[name]
}

// users counts the ports of each id after the transaction.
func (p *plan) users() map[string]int {
	out := map[string]int{}
	for id, x := range p.s.programs {
		out[id] = x.users
	}
	for name, a := range p.ports {
		if old := p.s.ports[name]; old != nil && out[old.id()] > 0 {
			out[old.id()]--
		}
		if a != nil {
			out[a.id()]++
		}
	}
	// A port of which one map alone leads to a Program keeps that Program's chains in use.
	for name, a := range p.s.ports {
		if _, changed := p.ports[name]; changed || a.id() != "" {
			continue
		}
		for _, verdict := range []string{a.out, a.in} {
			chain := strings.TrimPrefix(strings.TrimPrefix(verdict, "goto "), "jump ")
			id, _, _ := strings.Cut(chain, "-")
			out[id]++
		}
	}
	return out
}

func (p *plan) anybody() bool {
	for name := range p.s.ports {
		if p.becomes(name) != nil {
			return true
		}
	}
	return slices.ContainsFunc(slices.Collect(maps.Values(p.ports)), func(a *attachedPort) bool { return a != nil })
}

func (p *plan) needsMarks() bool {
	for _, a := range p.ports {
		if a != nil && a.tracked {
			return true
		}
	}
	for name, a := range p.s.ports {
		if _, changed := p.ports[name]; !changed && a.tracked {
			return true
		}
	}
	return false
}

// marked holds that bridged packets have a state to be asked for, before a port's filter is made to ask.
func (p *plan) marked() error {
	if !p.marking || p.s.marking || p.b.kernel == nil {
		return nil
	}
	for _, name := range []string{"bridge-nf-call-iptables", "bridge-nf-call-ip6tables"} {
		v, err := p.b.kernel.Sysctl("net/bridge/" + name)
		if err != nil {
			return fmt.Errorf("a filter asks for the state of connections, which bridged packets have through br_netfilter: %w; modprobe br_netfilter", err)
		}
		if strings.TrimSpace(v) == "0" {
			return errors.New("a filter asks for the state of connections, which bridged packets have not: run `sysctl net.bridge." + name + "=1`, or give the rules statematch='no'")
		}
	}
	return nil
}

// clear removes all.
func (p *plan) clear() {
	for _, l := range p.s.listings {
		if l != nil {
			p.tx.Delete(l.Table)
		}
	}
}

// structure makes the constant part of the tables, or makes it good.
func (p *plan) structure() {
	if p.s.intact && p.s.there() && p.s.marking == p.marking {
		return
	}
	for i, l := range p.s.listings {
		layout(i, p.b.table, p.marking).into(p.ahead, l)
	}
}

// into makes what a table lacks of the structure, and replaces what is otherwise.
func (s *structure) into(tx *nft.Transaction, l *nft.Listing) {
	tx.Add(s.table)
	if l == nil {
		l = &nft.Listing{}
	}
	for _, want := range s.sets {
		if got, ok := l.Set(want.Name); !ok || !sameSet(got, want) {
			tx.Add(want)
		}
	}
	for _, c := range l.Chains {
		if s.foreign(c) {
			tx.Delete(c)
		}
	}
	for _, want := range s.chains {
		got, ok := l.Chain(want.Name)
		switch {
		case ok && !sameChain(got, want):
			tx.Delete(got)
			tx.Add(want)
		case !ok:
			tx.Add(want)
		case s.sameRules(l, want.Name):
			continue
		default:
			tx.Flush(want)
		}
	}
	for _, r := range s.rules {
		got, ok := l.Chain(r.Chain)
		want := s.chains[slices.IndexFunc(s.chains, func(c nft.Chain) bool { return c.Name == r.Chain })]
		if !ok || !sameChain(got, want) || !s.sameRules(l, r.Chain) {
			tx.Add(r)
		}
	}
}

// add makes the chains of a Program, and then their rules, which lead from one to another.
func (p *plan) add(c *chains) {
	for _, x := range c.sets {
		p.ahead.Create(x)
	}
	for _, x := range c.chains {
		p.ahead.Create(x)
	}
	for _, x := range c.chains {
		for _, r := range c.rules[x.Name] {
			p.ahead.Add(r)
		}
	}
}

// switching reports whether a port that is filtered is led to other chains.
func (p *plan) switching() bool {
	for name, a := range p.ports {
		if old := p.s.ports[name]; a != nil && old != nil && old.out != "" && old.out != a.out {
			return true
		}
	}
	return false
}

// remove removes chains that nothing leads to any more but each other.
func (p *plan) remove(x *attachedProgram) {
	for _, c := range x.chains {
		p.tx.Flush(c)
	}
	for _, c := range x.chains {
		p.tx.Delete(c)
	}
	for _, s := range x.limits {
		p.tx.Delete(s)
	}
}
