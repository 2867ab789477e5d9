package firewall

import (
	"fmt"
	"slices"
	"strings"

	"taproom/internal/host/nft"
)

// Render is Apply as shell commands that end in the same table, whatever is there before (a table somebody has damaged
// excepted). In a shell they are several transactions where Apply is one.
func (f *Firewall) Render(add, del []Element) []string {
	add = slices.DeleteFunc(slices.Clone(add), func(e Element) bool { return slices.Contains(del, e) })
	var out []string
	if len(add) > 0 {
		x := &nft.Transaction{}
		f.addBase(x)
		out = append(out, f.unless("table", f.table, x))
		for _, n := range lengths(nil, add) {
			x := &nft.Transaction{}
			f.addLength(x, n)
			out = append(out, f.unless("set", f.table+" "+netSet(n), x))
		}
		x = &nft.Transaction{}
		f.add(x, add)
		out = append(out, command(x))
	}
	if len(del) == 0 {
		return out
	}
	groups := bySet(del)
	names := make([]string, 0, len(groups))
	for name := range groups {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		x := &nft.Transaction{}
		x.Add(nft.Elements{Set: f.set(name), Keys: groups[name]})
		x.Delete(nft.Elements{Set: f.set(name), Keys: groups[name]})
		exists := fmt.Sprintf("! nft list set ip %s %s >/dev/null 2>&1 || ", f.table, name)
		out = append(out, exists+command(x))
	}
	return append(out, fmt.Sprintf("! nft list table ip %[1]s >/dev/null 2>&1 || nft list table ip %[1]s | grep -q 'elements =' || nft delete table ip %[1]s", f.table))
}

func (f *Firewall) unless(kind, name string, x *nft.Transaction) string {
	return fmt.Sprintf("nft list %s ip %s >/dev/null 2>&1 || %s", kind, name, command(x))
}

// command is a transaction as one line of shell. Its text has no single quotes: comments and names cannot hold one
// (comments are ours, names of interfaces are checked), and what could is escaped all the same.
func command(x *nft.Transaction) string {
	lines := strings.Split(strings.TrimSpace(x.String()), "\n")
	return "nft '" + strings.ReplaceAll(strings.Join(lines, "; "), "'", `'\''`) + "'"
}
