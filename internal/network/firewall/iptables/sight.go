package iptables

import (
	"slices"
	"strings"

	"taproom/internal/host/xtables"
	"taproom/internal/network/firewall"
)

// sight is what one family's tables hold.
type sight struct {
	layout
	all   *xtables.Listing
	known *known // of the look before
}

// own returns our name of a chain, and whether it is one of ours. One that an administrator gave such a name stays his; so a
// version that makes a chain no more has to know its name here all the same.
func (l layout) own(chain string) (string, bool) {
	name, ok := strings.CutPrefix(chain, l.prefix+"-")
	return name, ok && slices.ContainsFunc(l.chains(), func(c chainSpec) bool { return c.name == name })
}

// chains returns our chains in a table, in the order they are listed.
func (s sight) own(table string) []*xtables.Chain {
	var cs []*xtables.Chain
	for _, c := range s.all.Table(table).Chains {
		if _, ok := s.layout.own(c.Name); ok {
			cs = append(cs, c)
		}
	}
	return cs
}

// any reports whether there is anything of ours.
func (s sight) any() bool { return len(s.own(tableMain))+len(s.own(tableNAT)) > 0 }

// jump is a rule in a chain that is not ours and leads to one that is.
type jump struct {
	chain string
	at    int // its number in the chain; the first is 1
	rule  string
}

// jumps returns those of a table, in order.
func (s sight) jumps(table string) []jump {
	var js []jump
	for _, c := range s.all.Table(table).Chains {
		if _, ours := s.layout.own(c.Name); ours {
			continue
		}
		for i, r := range c.Rules {
			if !strings.Contains(r, s.prefix) { // most rules of a large firewall need not be taken apart
				continue
			}
			if _, ours := s.layout.own(xtables.ParseRule(r).Target()); ours {
				js = append(js, jump{c.Name, i + 1, r})
			}
		}
	}
	return js
}

// elements returns every element that a rule of ours speaks of, in order, and whether the rules are those of these
// elements and no others.
func (s sight) elements() (found []firewall.Element, intact bool) {
	now := s.known.begin()
	seen := map[firewall.Element]bool{}
	got := map[string][]string{} // rules by our name of a chain, in their one form
	for _, table := range []string{tableMain, tableNAT} {
		for _, c := range s.own(table) {
			name, _ := s.layout.own(c.Name)
			for _, text := range c.Rules {
				r := s.read(now, name, text)
				got[name] = append(got[name], r.form)
				if r.is && !seen[r.element] {
					seen[r.element] = true
					found = append(found, r.element)
				}
			}
		}
	}
	firewall.Sort(found)
	intact = s.sound(now, found, got)
	*s.known = *now
	return found, intact
}

// sound compares the rules that are there with those of the elements.
func (s sight) sound(now *known, elements []firewall.Element, got map[string][]string) bool {
	want := map[string][]string{}
	for _, e := range elements {
		w := s.wants(now, e)
		if w.err != nil {
			return false
		}
		for _, p := range w.places {
			want[p.chain] = append(want[p.chain], p.rule)
		}
	}
	specs := s.chains()
	if len(s.own(tableMain))+len(s.own(tableNAT)) != len(specs) {
		return false
	}
	for _, c := range specs {
		if s.all.Table(c.table).Chain(s.chain(c.name)) == nil {
			return false
		}
		rules := got[c.name]
		at := len(rules) - len(c.tail)
		if at < 0 {
			return false
		}
		for i, t := range c.tail {
			if rules[at+i] != xtables.ParseRule(t).String() {
				return false
			}
		}
		heads := slices.Sorted(slices.Values(rules[:at]))
		if !slices.Equal(heads, slices.Sorted(slices.Values(want[c.name]))) {
			return false
		}
	}
	return s.entered(specs)
}

// entered reports whether one jump leads to each chain that has one, and nothing else leads to ours. Where in the chain
// is the administrator's matter.
func (s sight) entered(specs []chainSpec) bool {
	var want, got []string
	for _, c := range specs {
		if c.from != "" {
			want = append(want, c.table+" "+c.from+" -j "+s.chain(c.name))
		}
	}
	for _, table := range []string{tableMain, tableNAT} {
		for _, j := range s.jumps(table) {
			got = append(got, table+" "+j.chain+" "+xtables.ParseRule(j.rule).String())
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	return slices.Equal(want, got)
}

// Own reports whether a chain is one of those of a daemon with that table.
func Own(table, chain string) bool {
	_, ours := layout{prefix: table}.own(chain)
	return ours
}
