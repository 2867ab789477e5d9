// Package xtablestest has the programs of iptables in memory, and programs that fail when a test says so.
package xtablestest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"taproom/internal/host"
	"taproom/internal/host/xtables"
)

// Fake is Programs in memory. It refuses what the kernel refuses of references between chains, and prints what
// iptables-save prints, if rules are written as that prints them. The zero value has no table and is ready.
type Fake struct {
	mu       sync.Mutex
	families [2]*xtables.Listing
}

var _ xtables.Programs = (*Fake)(nil)

// Name is the host's own.
func (f *Fake) Name(v6 bool) string {
	if v6 {
		return "ip6tables"
	}
	return "iptables"
}

func index(v6 bool) int {
	if v6 {
		return 1
	}
	return 0
}

// Save prints the tables.
func (f *Fake) Save(ctx context.Context, v6 bool) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l := f.families[index(v6)]; l != nil && ctx.Err() == nil {
		return l.String(), nil
	}
	return "", ctx.Err()
}

// Counted prints the tables; no packet ever met a rule.
func (f *Fake) Counted(ctx context.Context, v6 bool) (string, error) {
	text, err := f.Save(ctx, v6)
	return strings.ReplaceAll(text, "\n-A ", "\n[0:0] -A "), err
}

var builtin = map[string][]string{"filter": {"INPUT", "FORWARD", "OUTPUT"}, "nat": {"PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"}}

// Restore carries out a script, table for table.
func (f *Fake) Restore(ctx context.Context, v6 bool, script string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.families[index(v6)] == nil {
		f.families[index(v6)] = &xtables.Listing{}
	}
	l := f.families[index(v6)]
	var t *xtables.Table
	for i, line := range strings.Split(strings.TrimSpace(script), "\n") {
		err := error(nil)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '*':
			t, err = open(l, line[1:])
		case t == nil:
			err = fmt.Errorf("outside of a table")
		case line == "COMMIT":
			if err = consistent(t); err == nil {
				put(l, t)
				t = nil
			}
		default:
			err = change(t, line)
		}
		if err != nil {
			return &xtables.Error{Program: f.Name(v6) + "-restore", Exit: host.Exit{Code: 2}, Said: fmt.Sprintf("line %d failed: %v", i+1, err), Line: line}
		}
	}
	return nil
}

// open returns a copy of a table, with the kernel's own chains if it is new.
func open(l *xtables.Listing, name string) (*xtables.Table, error) {
	if builtin[name] == nil {
		return nil, fmt.Errorf("no table %s", name)
	}
	t := &xtables.Table{Name: name}
	for _, c := range l.Table(name).Chains {
		t.Chains = append(t.Chains, &xtables.Chain{Name: c.Name, Policy: c.Policy, Rules: slices.Clone(c.Rules)})
	}
	for _, c := range builtin[name] {
		if t.Chain(c) == nil {
			t.Chains = append(t.Chains, &xtables.Chain{Name: c, Policy: "ACCEPT"})
		}
	}
	return t, nil
}

// put keeps a table; chains of somebody's making are listed by name.
func put(l *xtables.Listing, t *xtables.Table) {
	kernels := len(builtin[t.Name])
	slices.SortFunc(t.Chains[kernels:], func(a, b *xtables.Chain) int { return strings.Compare(a.Name, b.Name) })
	for i, old := range l.Tables {
		if old.Name == t.Name {
			l.Tables[i] = t
			return
		}
	}
	l.Tables = append(l.Tables, t)
}

func change(t *xtables.Table, line string) error {
	if line[0] == ':' {
		return declare(t, strings.Fields(line[1:]))
	}
	verb, rest, _ := strings.Cut(line, " ")
	name, rule, _ := strings.Cut(rest, " ")
	c := t.Chain(name)
	if c == nil {
		return fmt.Errorf("no chain %s", name)
	}
	switch verb {
	case "-A":
		c.Rules = append(c.Rules, rule)
	case "-I":
		at := 1
		if n, r, _ := strings.Cut(rule, " "); strings.Trim(n, "0123456789") == "" {
			at, _ = strconv.Atoi(n)
			rule = r
		}
		if at < 1 || at > len(c.Rules)+1 {
			return fmt.Errorf("chain %s has no place %d", name, at)
		}
		c.Rules = slices.Insert(c.Rules, at-1, rule)
	case "-D":
		i := slices.IndexFunc(c.Rules, func(r string) bool { return slices.Equal(xtables.ParseRule(r), xtables.ParseRule(rule)) })
		if i < 0 {
			return fmt.Errorf("no such rule in %s", name)
		}
		c.Rules = slices.Delete(c.Rules, i, i+1)
	case "-X":
		if len(c.Rules) > 0 || c.Policy != "-" {
			return fmt.Errorf("chain %s is not empty", name)
		}
		t.Chains = slices.DeleteFunc(t.Chains, func(x *xtables.Chain) bool { return x == c })
	default:
		return fmt.Errorf("unknown command %s", verb)
	}
	return nil
}

// declare makes a chain, or empties one of somebody's making.
func declare(t *xtables.Table, f []string) error {
	const longest = 28
	if len(f) < 2 || len(f[0]) > longest {
		return fmt.Errorf("chain %v: at most %d characters, and a policy", f, longest)
	}
	c := t.Chain(f[0])
	if c == nil {
		c = &xtables.Chain{Name: f[0]}
		t.Chains = append(t.Chains, c)
	}
	c.Policy = f[1]
	if f[1] == "-" {
		c.Rules = nil
	}
	return nil
}

// consistent refuses rules that lead to chains that are not there; names in capitals are targets of the kernel's.
func consistent(t *xtables.Table) error {
	for _, c := range t.Chains {
		for _, r := range c.Rules {
			if to := xtables.ParseRule(r).Target(); to != "" && to != strings.ToUpper(to) && t.Chain(to) == nil {
				return fmt.Errorf("a rule of %s leads to %s, which is not there", c.Name, to)
			}
		}
	}
	return nil
}
