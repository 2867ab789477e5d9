package nftables

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
)

// version changes whenever the same Program is rendered otherwise than before, so that the chains of an older build are
// not taken for ours.
const version = "3"

// abilities are what the kernel can do for bridges; see probe.
type abilities struct {
	conntrack bool // rules may ask for the state of a connection
	reject    bool // the sender can be told
	limits    bool // connections can be counted
}

// chains is a Program as chains and rules of nf_tables: what all ports that have it share.
type chains struct {
	id     string // what the names of its chains begin with
	chains []nft.Chain
	rules  map[string][]nft.Rule // by chain
	sets   []nft.Set             // in which connections are counted
	uses   []slotUse
	states bool // some rule asks for the state of a connection
}

func root(id string, d nwfilter.Direction) string { return id + "-" + d.String() }

// renderer writes one Program.
type renderer struct {
	table  string
	can    abilities
	port   nwfilter.Port
	out    *chains
	frames map[string]int    // chains of the frame layer by name
	titles map[string]string // names of chains in filters
	jumped map[string]bool   // the jumps to chains that drop packets with cut headers, by the chain that they are in
}

// identify returns the name of the chains of a Program. Values that stand in the rules, not in sets, are part of it; shared reports
// that there are none.
func identify(p nwfilter.Port, can abilities) (id string, shared bool) {
	shared = true
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %v %v\n", version, p.Program.Key, can.conntrack, can.reject)
	for _, s := range p.Program.Slots {
		if written(p.Program, s.Name) {
			shared = false
			fmt.Fprintf(h, "%s %x\n", s.Name, p.Values[s.Name])
		}
	}
	return "p" + hex.EncodeToString(h.Sum(nil))[:20], shared
}

// render makes the chains of a port's Program.
func render(table, id string, can abilities, p nwfilter.Port) (*chains, error) {
	r := &renderer{table: table, can: can, port: p, frames: map[string]int{}, titles: map[string]string{}, jumped: map[string]bool{}}
	r.out = &chains{id: id, rules: map[string][]nft.Rule{}}
	for i := range p.Program.Chains {
		r.frames[p.Program.Chains[i].Name] = i
	}
	for _, d := range []nwfilter.Direction{nwfilter.Out, nwfilter.In} {
		for i := range p.Program.Chains {
			if err := r.frameChain(d, i); err != nil {
				return nil, err
			}
		}
		if err := r.packetChains(d); err != nil {
			return nil, err
		}
	}
	for i := range r.out.chains {
		c := &r.out.chains[i]
		c.Comment = note(p.Program.Key, r.titles[c.Name], can, r.out.rules[c.Name])
	}
	return r.out, nil
}

// note is the comment of a chain: the Program's key, a sum of the chain's rules as a dump shows them, and what the chain
// is called in filters.
func note(key, title string, can abilities, rules []nft.Rule) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %v %v\n", version, can.conntrack, can.reject)
	for _, r := range rules {
		h.Write([]byte(uncounted(r).Text() + "\n"))
	}
	return fmt.Sprintf("%s %s %.29s", key, hex.EncodeToString(h.Sum(nil))[:32], title)
}

// noted undoes note, and reports whether the rules are those that it was made for.
func noted(c nft.Chain, can abilities, rules []nft.Rule) (key, title string, ok bool) {
	key, rest, _ := strings.Cut(c.Comment, " ")
	_, title, ok = strings.Cut(rest, " ")
	return key, title, ok && note(key, title, can, rules) == c.Comment
}

func uncounted(r nft.Rule) nft.Rule {
	x := make([]nft.Expr, len(r.Exprs))
	for i, e := range r.Exprs {
		if _, ok := e.(nft.Counter); ok {
			e = nft.Counter{}
		}
		x[i] = e
	}
	r.Exprs = x
	return r
}

func (r *renderer) name(d nwfilter.Direction, suffix string) string {
	if suffix == "" {
		return root(r.out.id, d)
	}
	return root(r.out.id, d) + "-" + suffix
}

// frameName is the chain of a chain of the frame layer; the first is root.
func (r *renderer) frameName(d nwfilter.Direction, i int) string {
	if i == 0 {
		return r.name(d, "")
	}
	return r.name(d, fmt.Sprintf("c%d", i))
}

func (r *renderer) chain(name string) {
	r.out.chains = append(r.out.chains, nft.Chain{Family: nft.Bridge, Table: r.table, Name: name})
}

func (r *renderer) add(chain, comment string, x ...nft.Expr) {
	r.out.rules[chain] = append(r.out.rules[chain], nft.Rule{Family: nft.Bridge, Table: r.table, Chain: chain, Exprs: x, Comment: comment})
}

// pass is the verdict that passes the frame layer.
func (r *renderer) pass(d nwfilter.Direction) nft.Verdict {
	if len(nwfilter.Of(r.port.Program.Packet, d)) == 0 {
		return nft.Accept()
	}
	return nft.Verdict{Kind: "goto", Chain: r.name(d, "packets")}
}

func (r *renderer) frameChain(d nwfilter.Direction, i int) error {
	c := &r.port.Program.Chains[i]
	name := r.frameName(d, i)
	r.chain(name)
	r.titles[name] = printable(c.Name)
	for n := range c.Rules {
		rule := &c.Rules[n]
		if rule.Direction != d {
			continue
		}
		var end []nft.Expr
		switch rule.Action {
		case nwfilter.Accept:
			end = []nft.Expr{r.pass(d)}
		case nwfilter.Drop, nwfilter.Reject:
			end = []nft.Expr{nft.Drop()}
		case nwfilter.Return:
			end = []nft.Expr{nft.Return()}
			if i == 0 {
				end = []nft.Expr{r.pass(d)}
			}
		case nwfilter.Jump:
			to, ok := r.frames[rule.Target]
			if !ok {
				return fmt.Errorf("filter %s leads to chain %q, which its program has not", rule.Filter, rule.Target)
			}
			end = []nft.Expr{nft.Jump(r.frameName(d, to))}
		}
		if err := r.rule(name, rule, end); err != nil {
			return err
		}
	}
	if v := r.pass(d); i == 0 && v.Chain != "" {
		r.add(name, "", v)
	}
	return nil
}

// packetChains are the packet layer: a chain that parts IPv4 from IPv6, and one of each. None ends without a verdict, since
// a chain that leads here may have been reached by a jump.
func (r *renderer) packetChains(d nwfilter.Direction) error {
	if r.pass(d).Chain == "" {
		return nil
	}
	four, six, both := r.name(d, "ip"), r.name(d, "ip6"), r.name(d, "packets")
	for _, c := range []string{both, four, six} {
		r.chain(c)
	}
	r.add(both, "", etherType(0x0800), nft.Verdict{Kind: "goto", Chain: four})
	r.add(both, "", etherType(0x86dd), nft.Verdict{Kind: "goto", Chain: six})
	r.add(both, "", nft.Accept())
	for i := range r.port.Program.Packet {
		rule := &r.port.Program.Packet[i]
		if rule.Direction != d {
			continue
		}
		var end []nft.Expr
		switch rule.Action {
		case nwfilter.Accept, nwfilter.Return:
			end = []nft.Expr{nft.Accept()}
		case nwfilter.Drop:
			end = []nft.Expr{nft.Drop()}
		case nwfilter.Reject:
			end = []nft.Expr{nft.Drop()}
			if r.can.reject && d == nwfilter.Out {
				end = []nft.Expr{nft.Reject{}}
			}
		}
		name := four
		if rule.Protocol.IPv6() {
			name = six
		}
		if err := r.rule(name, rule, end); err != nil {
			return err
		}
	}
	r.add(four, "", nft.Accept())
	r.add(six, "", nft.Accept())
	return nil
}

// rule writes one rule, once for each alternative of its conditions.
func (r *renderer) rule(chain string, rule *nwfilter.Rule, end []nft.Expr) error {
	conditions, err := r.conditions(rule)
	if err != nil {
		return fmt.Errorf("filter %s, rule %d (%s): %w", rule.Filter, rule.Index, rule.Protocol, err)
	}
	if len(conditions) > maxAlternatives {
		return fmt.Errorf("filter %s, rule %d (%s): %d rules of nf_tables for its values, at most %d", rule.Filter, rule.Index, rule.Protocol, len(conditions), maxAlternatives)
	}
	marks := asksGratuitous(rule)
	if marks {
		r.compareAddresses(chain, rule)
		end = append([]nft.Expr{clearEqual()}, end...)
	}
	for _, x := range conditions {
		r.add(chain, label(rule), append(append(append([]nft.Expr(nil), x...), nft.Counter{}), end...)...)
	}
	if marks {
		r.add(chain, "", nft.Marked{Mask: markEqual, Value: markEqual}, clearEqual())
	}
	return r.cuts(chain, rule)
}

// label is a rule's comment, by which its counter is found again: filter and number, as far as nf_tables can keep the name.
func label(rule *nwfilter.Rule) string {
	return fmt.Sprintf("%.100s %d", printable(rule.Filter), rule.Index)
}

func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return '?'
		}
		return c
	}, s)
}
