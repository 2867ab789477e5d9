package firewall

import (
	"fmt"
	"strings"

	"taproom/internal/host/nft"
)

// Elements of maps are not like those of sets: a key leads to one thing only, so what it led to goes first; and the kernel
// deletes by the key alone, so that what is not there as it was named must be left alone.

// leadElsewhere reports whether two elements cannot both be: one key of one map, and two things that it leads to.
func leadElsewhere(a, b Element) bool {
	key, _, mapped := strings.Cut(a.Key, " : ")
	return mapped && a != b && a.Set == b.Set && strings.HasPrefix(b.Key, key+" : ")
}

// renderMapped deletes the elements of maps that are there, in shell commands: one for each element.
func (t table) renderMapped(del []Element) []string {
	var out []string
	for _, e := range del {
		set := t.set(e.Set)
		if set.Data == "" {
			continue
		}
		x := &nft.Transaction{}
		x.Delete(nft.Elements{Set: set, Keys: []string{e.Key}})
		out = append(out, fmt.Sprintf("! nft list map %s %s %s 2>/dev/null | grep -qF -e '%[4]s,' -e '%[4]s }' || %[5]s", t.family, t.name, e.Set, e.Key, command(x)))
	}
	return out
}

// setWord is what nft calls a set.
func setWord(s nft.Set) string {
	if s.Data != "" {
		return "map"
	}
	return "set"
}
