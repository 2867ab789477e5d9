package why

import (
	"cmp"
	"slices"
)

// The programs whose tables there are.
const (
	ToolNFT    = "nft"
	ToolNew    = "iptables-nft"    // tables that iptables keeps in nf_tables
	ToolLegacy = "iptables-legacy" // tables of the old interface, which nf_tables does not show
)

// Table is one table of rules, of one address family.
type Table struct {
	Tool   string
	Family string // ip, ip6, inet, bridge, netdev or arp
	Name   string
	Chains []Chain
}

// Chain is a list of rules; with a Hook the kernel calls it by itself.
type Chain struct {
	Name     string
	Hook     string // prerouting, input, forward, output, postrouting
	Type     string // filter, nat or route
	Priority int
	Policy   string // accept or drop
	Packets  uint64 // that met the policy, where somebody counts
	Rules    []Rule
}

// Rule is one line of a chain.
type Rule struct {
	Text    string // as its tool prints it
	Handle  uint64 // of nf_tables; 0 elsewhere
	Conds   []Cond
	Verdict string // accept, drop, return, jump, goto, masquerade (a source is rewritten) or "" when it goes on
	To      string // of jump and goto
	Unsure  bool   // its verdict is not known
	Packets uint64 // that met it, where somebody counts
}

// Chain finds a chain by name.
func (t *Table) Chain(name string) (*Chain, bool) {
	for i := range t.Chains {
		if t.Chains[i].Name == name {
			return &t.Chains[i], true
		}
	}
	return nil, false
}

// has reports whether there is a chain of that name.
func (t *Table) has(name string) bool {
	_, ok := t.Chain(name)
	return ok
}

// carries reports whether packets of a family pass the table.
func (t *Table) carries(v6 bool) bool {
	return t.Family == "inet" || t.Family == "ip" && !v6 || t.Family == "ip6" && v6
}

// Place is where in a table something happened. Rule counts from 0; -1 is the chain's policy.
type Place struct {
	Table *Table
	Chain string
	Rule  int
}

// rule is the one at the place, if it is one.
func (p Place) rule() (Rule, bool) {
	c, ok := p.Table.Chain(p.Chain)
	if !ok || p.Rule < 0 || p.Rule >= len(c.Rules) {
		return Rule{}, false
	}
	return c.Rules[p.Rule], true
}

// Way is what a chain does with a packet.
type Way struct {
	Verdict string // accept, drop or masquerade
	Sure    bool
	At      Place
}

// maxJumps is the depth at which the kernel refuses chains that call each other (NFT_JUMP_STACK_SIZE).
const maxJumps = 16

// maxRules bounds how many rules one prediction looks at, so that chains that call each other end.
const maxRules = 1 << 18

// Walk predicts what a base chain does with a packet.
func (t *Table) Walk(chain string, p Packet) Way {
	w := walker{table: t, packet: p}
	end, ok := w.chain(chain, 0)
	if !ok {
		policy := "accept"
		if c, found := t.Chain(chain); found {
			policy = cmp.Or(c.Policy, policy)
		}
		end = Way{Verdict: policy, At: Place{Table: t, Chain: chain, Rule: -1}}
	}
	end.Sure = !w.lost && !slices.ContainsFunc(w.maybe, func(v string) bool { return v != end.Verdict })
	return end
}

type walker struct {
	table  *Table
	packet Packet
	maybe  []string // verdicts that a rule may have given
	lost   bool     // something was not understood at all
	seen   int      // rules
}

// chain follows a packet; ok is false when it comes out at the chain's end.
func (w *walker) chain(name string, depth int) (Way, bool) {
	c, found := w.table.Chain(name)
	if !found || depth >= maxJumps || w.seen >= maxRules {
		w.lost = true
		return Way{}, false
	}
	mayReturn := false
	for i, r := range c.Rules {
		w.seen++
		fits := Yes
		for _, cond := range r.Conds {
			fits = min(fits, cond.holds(w.packet))
		}
		if fits == No {
			continue
		}
		w.lost = w.lost || r.Unsure
		switch r.Verdict {
		case "accept", "drop", "masquerade":
			if fits == Maybe {
				w.maybe = append(w.maybe, r.Verdict)
				continue
			}
			w.lost = w.lost || mayReturn
			return Way{Verdict: r.Verdict, At: Place{Table: w.table, Chain: name, Rule: i}}, true
		case "return":
			if fits == Maybe {
				mayReturn = true // which is nothing new when nothing below ends the chain otherwise
				continue
			}
			return Way{}, false
		case "jump", "goto":
			end, ok := w.chain(r.To, depth+1)
			switch {
			case fits == Maybe && ok:
				w.maybe = append(w.maybe, end.Verdict)
			case ok:
				w.lost = w.lost || mayReturn
				return end, true
			case r.Verdict == "goto" && fits == Yes:
				return Way{}, false
			}
		}
	}
	return Way{}, false
}

// Mentions reports whether any rule of the table looks for a link's name.
func (t *Table) Mentions(link string) bool {
	for _, c := range t.Chains {
		for _, r := range c.Rules {
			for _, cond := range r.Conds {
				if (cond.Key == "in" || cond.Key == "out") && !cond.Not && cond.Value == link {
					return true
				}
			}
		}
	}
	return false
}
