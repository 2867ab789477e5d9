package iptables

import (
	"fmt"
	"strings"

	"taproom/internal/host/xtables"
	"taproom/internal/network/firewall"
)

// Render is Apply as shell commands that end in the same rules, whatever is there before (chains somebody has damaged
// excepted). In a shell they are many changes where Apply is one for each table.
func (f *Firewall) Render(add, del []firewall.Element) []string {
	rs, err := f.requests(add, del)
	if err != nil {
		return []string{"# " + strings.ReplaceAll(err.Error(), "\n", " ")}
	}
	var lines []string
	for _, r := range rs {
		lines = append(lines, f.render(r, del)...)
	}
	return lines
}

func (f *Firewall) render(r request, del []firewall.Element) []string {
	program := f.programs.Name(r.v6)
	restore := func(script string) string {
		return "printf '" + strings.ReplaceAll(script, "\n", `\n`) + "' | " + program + "-restore --noflush -w"
	}
	var lines []string
	if len(r.order) > 0 {
		base := sight{layout: r.layout, all: &xtables.Listing{}}.build(nil)
		lines = append(lines, fmt.Sprintf("%s -w -n -L %s >/dev/null 2>&1 || %s", program, r.chain(forward), restore(base)))
	}
	for _, e := range r.order {
		for i, p := range r.rules(r.add[e]) {
			chain := r.chain(p.chain)
			add := "-A " + chain
			if p.chain == reach { // the last place but one
				add = fmt.Sprintf("-I %s $(%s -w -S %[1]s | grep -c -- -A)", chain, program)
			}
			line := fmt.Sprintf("%[1]s -w -t %[2]s -C %[3]s %[4]s 2>/dev/null || %[1]s -w -t %[2]s %[5]s %[4]s", program, p.table, chain, p.rule, add)
			lines = append(lines, commented(line, i, e))
		}
	}
	if len(r.del) == 0 {
		return lines
	}
	for _, e := range del {
		for i, p := range r.rules(r.del[e]) {
			rule := r.chain(p.chain) + " " + p.rule
			line := fmt.Sprintf("! %[1]s -w -t %[2]s -C %[3]s 2>/dev/null || %[1]s -w -t %[2]s -D %[3]s", program, p.table, rule)
			lines = append(lines, commented(line, i, e))
		}
	}
	var elements []string // chains whose rules are all of elements, together with the kinds that are in them
	for _, c := range r.chains() {
		if len(c.tail) == 0 {
			elements = append(elements, c.name)
		}
	}
	gone := r.all().clear()
	return append(lines, fmt.Sprintf("! %[1]s -w -n -L %[2]s >/dev/null 2>&1 || %[1]s-save | grep -Eq '^-A %[3]s-(%[4]s) ' || %[5]s",
		program, r.chain(forward), r.prefix, strings.Join(elements, "|"), restore(gone)))
}

// commented says at the first rule of an element which one it is.
func commented(line string, i int, e firewall.Element) string {
	if i > 0 {
		return line
	}
	return line + " # " + e.Set + " " + e.Key
}

// all is what a family without any element would look like if its chains were kept.
func (l layout) all() sight {
	list := &xtables.Listing{}
	for _, table := range []string{tableMain, tableNAT} {
		t := &xtables.Table{Name: table}
		for _, c := range l.chains() {
			if c.table != table {
				continue
			}
			t.Chains = append(t.Chains, &xtables.Chain{Name: l.chain(c.name), Policy: "-", Rules: c.tail})
			if c.from != "" {
				t.Chains = append(t.Chains, &xtables.Chain{Name: c.from, Policy: "ACCEPT", Rules: []string{"-j " + l.chain(c.name)}})
			}
		}
		list.Tables = append(list.Tables, t)
	}
	return sight{layout: l, all: list}
}
