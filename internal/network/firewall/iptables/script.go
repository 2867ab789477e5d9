package iptables

import (
	"fmt"
	"strings"

	"taproom/internal/host/xtables"
	"taproom/internal/network/firewall"
)

// section is the part of a script for one table: it takes effect as a whole.
type section struct {
	table string
	lines []string
}

func (s *section) line(format string, a ...any) { s.lines = append(s.lines, fmt.Sprintf(format, a...)) }

// script joins sections to what iptables-restore reads; those without a line are left out.
func script(sections ...section) string {
	var b strings.Builder
	for _, s := range sections {
		if len(s.lines) > 0 {
			fmt.Fprintf(&b, "*%s\n%s\nCOMMIT\n", s.table, strings.Join(s.lines, "\n"))
		}
	}
	return b.String()
}

// build makes all chains for the elements, whatever of ours is there now. Source addresses are rewritten before anything is
// let out, so nat comes first.
func (s sight) build(elements []firewall.Member) string {
	heads := map[string][]string{}
	for _, m := range elements {
		for _, p := range s.rules(m) {
			heads[p.chain] = append(heads[p.chain], p.rule)
		}
	}
	var sections []section
	for _, table := range []string{tableNAT, tableMain} {
		x := section{table: table}
		s.empty(&x)
		have := map[string]bool{}
		for _, c := range s.chains() {
			if c.table == table {
				have[c.name] = true
				x.line(":%s - [0:0]", s.chain(c.name))
			}
		}
		for _, c := range s.chains() {
			if c.table != table {
				continue
			}
			for _, r := range heads[c.name] {
				x.line("-A %s %s", s.chain(c.name), r)
			}
			for _, r := range c.tail {
				x.line("-A %s %s", s.chain(c.name), r)
			}
			if c.from != "" {
				x.line("-I %s 1 -j %s", c.from, s.chain(c.name))
			}
		}
		for _, c := range s.own(table) {
			if name, _ := s.layout.own(c.Name); !have[name] {
				x.line("-X %s", c.Name)
			}
		}
		sections = append(sections, x)
	}
	return script(sections...)
}

// empty takes away what leads to our chains, and what is in them.
func (s sight) empty(x *section) {
	for _, j := range s.jumps(x.table) {
		x.line("-D %s %s", j.chain, j.rule)
	}
	for _, c := range s.own(x.table) {
		x.line(":%s - [0:0]", c.Name)
	}
}

// clear removes everything of ours. What is let out goes before the rewriting of its source does.
func (s sight) clear() string {
	var sections []section
	for _, table := range []string{tableMain, tableNAT} {
		x := section{table: table}
		s.empty(&x)
		for _, c := range s.own(table) {
			x.line("-X %s", c.Name)
		}
		sections = append(sections, x)
	}
	return script(sections...)
}

// change adds and removes the rules of elements in sound chains: first what is rewritten more, then who is let out, then
// what is rewritten less. No element is in both lists; those to add are not there, those to remove are.
func (s sight) change(add, del []firewall.Member) string {
	before, main, after := section{table: tableNAT}, section{table: tableMain}, section{table: tableNAT}
	last := len(s.all.Table(tableMain).Chain(s.chain(reach)).Rules)
	for _, m := range add {
		for _, p := range s.rules(m) {
			x := &main
			if p.table == tableNAT {
				x = &before
			}
			if p.chain != reach {
				x.line("-A %s %s", s.chain(p.chain), p.rule)
				continue
			}
			x.line("-I %s %d %s", s.chain(reach), last, p.rule) // before what is constant
			last++
		}
	}
	for _, m := range del {
		for _, p := range s.rules(m) {
			x := &main
			if p.table == tableNAT {
				x = &after
			}
			x.line("-D %s %s", s.chain(p.chain), p.rule)
		}
	}
	return script(before, main, after)
}

// back leads from what is there to what was there before, rule by rule and in the same places.
func (s sight) back(before sight) string {
	var sections []section
	for _, table := range []string{tableNAT, tableMain} {
		if s.ours(table) == before.ours(table) {
			continue
		}
		x := section{table: table}
		s.empty(&x)
		had := map[string]bool{}
		for _, c := range before.own(table) {
			had[c.Name] = true
			x.line(":%s - [0:0]", c.Name)
		}
		for _, c := range before.own(table) {
			for _, r := range c.Rules {
				x.line("%s", strings.TrimSpace("-A "+c.Name+" "+r))
			}
		}
		for _, j := range before.jumps(table) {
			x.line("-I %s %d %s", j.chain, j.at, j.rule)
		}
		for _, c := range s.own(table) {
			if !had[c.Name] {
				x.line("-X %s", c.Name)
			}
		}
		sections = append(sections, x)
	}
	return script(sections...)
}

// ours is the text of our chains in a table and of what leads to them.
func (s sight) ours(table string) string {
	t := xtables.Listing{Tables: []*xtables.Table{{Name: table, Chains: s.own(table)}}}
	return t.String() + fmt.Sprint(s.jumps(table))
}
