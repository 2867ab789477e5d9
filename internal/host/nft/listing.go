package nft

import (
	"fmt"
	"sort"
	"strings"
)

// Listing is one table as it was read. Sets and chains are in the kernel's order, elements sorted.
type Listing struct {
	Table    Table
	Sets     []Set
	Chains   []Chain
	Rules    []Rule              // of all chains, each chain's in its order
	Elements map[string][]string // by set; nil after Layout
	// Generation is the state of all of nf_tables that this was read from, for Transaction.IfGeneration.
	Generation uint32
}

// Set finds a set by name.
func (l *Listing) Set(name string) (Set, bool) {
	for _, s := range l.Sets {
		if s.Name == name {
			return s, true
		}
	}
	return Set{}, false
}

// Chain finds a chain by name.
func (l *Listing) Chain(name string) (Chain, bool) {
	for _, c := range l.Chains {
		if c.Name == name {
			return c, true
		}
	}
	return Chain{}, false
}

// RulesOf returns a chain's rules in order.
func (l *Listing) RulesOf(chain string) []Rule {
	var out []Rule
	for _, r := range l.Rules {
		if r.Chain == chain {
			out = append(out, r)
		}
	}
	return out
}

// String is the table as `nft list table` prints it.
func (l *Listing) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s {\n", l.Table.words())
	blocks := make([]string, 0, len(l.Sets)+len(l.Chains))
	for _, s := range l.Sets {
		blocks = append(blocks, l.setBlock(s))
	}
	for _, c := range l.Chains {
		blocks = append(blocks, l.chainBlock(c))
	}
	if l.Table.Flags != 0 {
		fmt.Fprintf(&b, "\tflags %s\n", l.Table.Flags)
	}
	if l.Table.Comment != "" {
		fmt.Fprintf(&b, "\tcomment %q\n", l.Table.Comment)
		if len(blocks) == 0 {
			b.WriteString("\n")
		}
	}
	b.WriteString(strings.Join(blocks, "\n"))
	b.WriteString("}\n")
	return b.String()
}

func (l *Listing) setBlock(s Set) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\t%s %s {\n\t\t%s\n", s.word(), s.Name, s.typeText())
	if s.Dynamic {
		fmt.Fprintf(&b, "\t\tsize %d\n\t\tflags dynamic\n", dynamicSize)
	}
	if s.Comment != "" {
		fmt.Fprintf(&b, "\t\tcomment %q\n", s.Comment)
	}
	if keys := l.Elements[s.Name]; len(keys) > 0 {
		quoted := make([]string, len(keys))
		for i, k := range keys {
			quoted[i] = k
			if t, err := s.elementType(); err == nil {
				quoted[i] = t.quote(k, true)
			}
		}
		fmt.Fprintf(&b, "\t\telements = { %s }\n", strings.Join(quoted, ", "))
	}
	b.WriteString("\t}\n")
	return b.String()
}

func (l *Listing) chainBlock(c Chain) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\tchain %s {\n", c.Name)
	if c.Comment != "" {
		fmt.Fprintf(&b, "\t\tcomment %q\n", c.Comment)
	}
	if c.Hook != "" {
		fmt.Fprintf(&b, "\t\t%s; policy %s;\n", c.hookText(), c.Policy)
	}
	for _, r := range l.RulesOf(c.Name) {
		fmt.Fprintf(&b, "\t\t%s\n", r.Text())
	}
	b.WriteString("\t}\n")
	return b.String()
}

// clone copies the lists, so that a change of the copy does not reach the original.
func (l *Listing) clone() *Listing {
	out := *l
	out.Sets = append([]Set(nil), l.Sets...)
	out.Chains = append([]Chain(nil), l.Chains...)
	out.Rules = append([]Rule(nil), l.Rules...)
	if l.Elements != nil {
		out.Elements = make(map[string][]string, len(l.Elements))
		for name, keys := range l.Elements {
			out.Elements[name] = append([]string(nil), keys...)
		}
	}
	return &out
}

// sortElements orders the elements and drops the entries of empty sets, so that listings compare.
func (l *Listing) sortElements() {
	for name, keys := range l.Elements {
		if len(keys) == 0 {
			delete(l.Elements, name)
			continue
		}
		sort.Strings(keys)
	}
}
