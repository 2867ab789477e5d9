package firewall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// deleteMapped appends the deletion of the elements of maps that are there.
func (f *Firewall) deleteMapped(ctx context.Context, x *nft.Transaction, t table, l *nft.Listing, del []Element) error {
	groups := bySet(del)
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		set, ok := l.Set(name)
		if !ok || set.Data == "" {
			continue
		}
		have, err := f.nft.Elements(ctx, set)
		if errors.Is(err, nft.ErrNoTable) {
			return nft.ErrChanged
		}
		if err != nil {
			return fmt.Errorf("look at the firewall: %w", err)
		}
		keys := slices.DeleteFunc(groups[name], func(k string) bool { return !slices.Contains(have, k) })
		if len(keys) > 0 {
			x.Delete(nft.Elements{Set: t.set(name), Keys: keys})
		}
	}
	return nil
}

// renderMapped is deleteMapped as shell commands, one for each element.
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
