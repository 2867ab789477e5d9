package host

import (
	"slices"
	"testing"
)

// FuzzLinkChanges gives the reader of what the kernel tells of links what no kernel sends.
func FuzzLinkChanges(f *testing.F) {
	link := make([]byte, 32) // RTM_NEWLINK without attributes
	link[0], link[4] = 32, 16
	f.Add(link)
	f.Add(slices.Repeat(link, 2))
	f.Add(link[:20])
	f.Fuzz(func(t *testing.T, b []byte) {
		changes, _ := parseChanges(b)
		if len(changes) > len(b)/16 {
			t.Errorf("%d changes in %d bytes", len(changes), len(b))
		}
	})
}
