package nwfilters

import (
	"slices"

	"taproom/internal/network/nwfilter"
)

// path is how a filter leads to another by references, both of them named; a filter leads to itself.
func path(set nwfilter.Set, from, to string) (way []string, leads bool) {
	seen := map[string]bool{}
	var walk func(string) bool
	walk = func(name string) bool {
		if seen[name] {
			return false
		}
		seen[name] = true
		way = append(way, name)
		if name == to {
			return true
		}
		if doc := set[name]; doc != nil && slices.ContainsFunc(doc.References(), walk) {
			return true
		}
		way = way[:len(way)-1]
		return false
	}
	leads = walk(from)
	return way, leads
}

// reached are a filter and all that it leads to, where they are there.
func reached(set nwfilter.Set, root string) map[string]bool {
	out := map[string]bool{}
	var walk func(string)
	walk = func(name string) {
		if doc := set[name]; doc != nil && !out[name] {
			out[name] = true
			for _, next := range doc.References() {
				walk(next)
			}
		}
	}
	walk(root)
	return out
}
