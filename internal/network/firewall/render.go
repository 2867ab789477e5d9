package firewall

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"taproom/internal/host/nft"
)

// Render is Apply as shell commands that end in the same tables, whatever is there before (a table somebody has damaged
// excepted), but for who owns them. In a shell they are several transactions where Apply is one.
func (f *Firewall) Render(add, del []Element) []string {
	add = slices.DeleteFunc(slices.Clone(add), func(e Element) bool { return slices.Contains(del, e) })
	var out []string
	for _, t := range f.tables() {
		t.flags = 0 // what a shell owns goes with it
		out = append(out, t.render(t.own(add), t.own(del))...)
	}
	return out
}

func (t table) render(add, del []Element) []string {
	out := t.renderMapped(del)
	if len(add) > 0 {
		x := &nft.Transaction{}
		t.addBase(x)
		out = append(out, t.unless("table", t.name, x))
		for _, g := range t.groups(nil, add) {
			x := &nft.Transaction{}
			t.addGroup(x, g)
			first := t.set(g.sets()[0])
			out = append(out, t.unless(setWord(first), t.name+" "+first.Name, x))
		}
		x = &nft.Transaction{}
		t.add(x, add)
		out = append(out, command(x))
	}
	if len(del) == 0 {
		return out
	}
	groups := bySet(del)
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if t.set(name).Data != "" {
			continue
		}
		x := &nft.Transaction{}
		x.Add(nft.Elements{Set: t.set(name), Keys: groups[name]})
		x.Delete(nft.Elements{Set: t.set(name), Keys: groups[name]})
		exists := fmt.Sprintf("! nft list set %s %s %s >/dev/null 2>&1 || ", t.family, t.name, name)
		out = append(out, exists+command(x))
	}
	if gone := groups[bridges]; len(gone) > 0 {
		x := &nft.Transaction{}
		t.forget(x, gone)
		out = append(out, fmt.Sprintf("! nft list set %s %s %s >/dev/null 2>&1 || ", t.family, t.name, sent)+command(x))
	}
	for _, bridge := range (seen{}).leavers(map[string][]string{targetSets: groups[targetSets]}) { // of mode open, where there is no such member
		x := &nft.Transaction{}
		t.forget(x, []string{bridge})
		out = append(out, fmt.Sprintf("nft get element %s %s %s '{ \"%s\" }' >/dev/null 2>&1 || ! nft list set %[1]s %[2]s %[5]s >/dev/null 2>&1 || ", t.family, t.name, bridges, bridge, sent)+command(x))
	}
	return append(out, fmt.Sprintf("! nft list table %[1]s %[2]s >/dev/null 2>&1 || nft list table %[1]s %[2]s | grep -q 'elements =' || nft delete table %[1]s %[2]s", t.family, t.name))
}

func (t table) unless(kind, name string, x *nft.Transaction) string {
	return fmt.Sprintf("nft list %s %s %s >/dev/null 2>&1 || %s", kind, t.family, name, command(x))
}

// command is a transaction as one line of shell. Its text has no single quotes: comments and names cannot hold one
// (comments are ours, names of interfaces are checked), and what could is escaped all the same.
func command(x *nft.Transaction) string {
	lines := strings.Split(strings.TrimSpace(x.String()), "\n")
	return "nft '" + strings.ReplaceAll(strings.Join(lines, "; "), "'", `'\''`) + "'"
}
