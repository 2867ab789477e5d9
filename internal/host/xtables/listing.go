package xtables

import (
	"fmt"
	"slices"
	"strings"
)

// Listing is what iptables-save prints.
type Listing struct {
	Tables []*Table
}

// Table is one table, with its chains in the order they were printed.
type Table struct {
	Name   string
	Chains []*Chain
}

// Chain is one chain.
type Chain struct {
	Name   string
	Policy string   // "ACCEPT"; "-" of a chain that somebody made
	Rules  []string // what follows "-A NAME ", as printed
}

// Parse reads what iptables-save prints. Comments are passed over; anything else that it never prints is an error.
func Parse(text string) (*Listing, error) {
	l := &Listing{}
	var t *Table
	var c *Chain // of the last rule
	for i, line := range strings.Split(text, "\n") {
		fail := func(why string) (*Listing, error) { return nil, fmt.Errorf("line %d: %s: %q", i+1, why, line) }
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '*':
			if t != nil {
				return fail("a table inside a table")
			}
			t, c = &Table{Name: line[1:]}, nil
			l.Tables = append(l.Tables, t)
		case t == nil:
			return fail("outside of a table")
		case line == "COMMIT":
			t = nil
		case line[0] == ':':
			f := strings.Fields(line[1:])
			if len(f) < 2 || t.Chain(f[0]) != nil {
				return fail("no chain with its policy")
			}
			t.Chains = append(t.Chains, &Chain{Name: f[0], Policy: f[1]})
		case strings.HasPrefix(line, "-A "):
			name, rule, _ := strings.Cut(line[3:], " ")
			if c == nil || c.Name != name { // those of a chain follow each other
				c = t.Chain(name)
			}
			if c == nil {
				return fail("a rule of no chain")
			}
			c.Rules = append(c.Rules, rule)
		default:
			return fail("neither chain nor rule")
		}
	}
	if t != nil {
		return nil, fmt.Errorf("table %s does not end", t.Name)
	}
	return l, nil
}

// Table returns a table; one without chains if it is not there.
func (l *Listing) Table(name string) *Table {
	for _, t := range l.Tables {
		if t.Name == name {
			return t
		}
	}
	return &Table{Name: name}
}

// Chain returns a chain, or nil.
func (t *Table) Chain(name string) *Chain {
	if i := slices.IndexFunc(t.Chains, func(c *Chain) bool { return c.Name == name }); i >= 0 {
		return t.Chains[i]
	}
	return nil
}

// String is the listing as iptables-save prints it, without its comments and with all counters zero.
func (l *Listing) String() string {
	var b strings.Builder
	for _, t := range l.Tables {
		fmt.Fprintf(&b, "*%s\n", t.Name)
		for _, c := range t.Chains {
			fmt.Fprintf(&b, ":%s %s [0:0]\n", c.Name, c.Policy)
		}
		for _, c := range t.Chains {
			for _, r := range c.Rules {
				fmt.Fprintf(&b, "%s\n", strings.TrimSpace("-A "+c.Name+" "+r))
			}
		}
		b.WriteString("COMMIT\n")
	}
	return b.String()
}

// Words splits a rule as iptables-restore does: at blanks, with quotes and backslashes taken off.
func Words(rule string) []string {
	var out []string
	var word strings.Builder
	var quote byte
	inWord := false
	for i := 0; i < len(rule); i++ {
		switch c := rule[i]; {
		case quote != 0 && c == '\\' && i+1 < len(rule):
			i++
			word.WriteByte(rule[i])
		case c == quote && quote != 0:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, inWord = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if inWord {
				out = append(out, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		out = append(out, word.String())
	}
	return out
}
