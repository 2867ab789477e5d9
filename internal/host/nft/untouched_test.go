package nft_test

import (
	"strings"
	"testing"

	"taproom/internal/host/nft"
)

// What is told of each change says whether a table was touched. What was not told is not taken for nothing.
func TestATableIsUntouchedOnlyIfAllThatChangedIsKnown(t *testing.T) {
	t.Parallel()
	ns, c := open(t)
	ours := nft.Table{Family: nft.IPv4, Name: "ours"}
	generation := func() uint32 {
		t.Helper()
		g, err := c.Generation(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	check := func(what string, from uint32, want bool) {
		t.Helper()
		if got := c.Untouched(from, generation(), ours); got != want {
			t.Errorf("%s: untouched %v, want %v", what, got, want)
		}
	}
	ns.Shell("nft add table ip ours; nft add table ip6 ours; nft add table ip theirs; nft add set ip ours s '{ type ipv4_addr; }'; nft add chain ip ours c")
	first := generation()
	ns.Shell("nft add chain ip theirs a")
	check("before anything was told", first, false)
	begun := generation()
	check("nothing", begun, true)
	ns.Shell("nft add chain ip theirs b; nft add rule ip theirs b accept; nft add chain ip6 ours c; nft delete chain ip theirs a")
	check("other tables", begun, true)
	check("other tables, for somebody else", begun, true)
	check("other tables, from before anything was told", first, false)
	for _, change := range []string{
		"add rule ip ours c accept", "add element ip ours s '{ 10.0.0.1 }'", "delete element ip ours s '{ 10.0.0.1 }'", "flush chain ip ours c",
		"add set ip ours m '{ type mark; }'", "delete set ip ours m", "add chain ip ours d", "delete chain ip ours d", "add counter ip ours n",
		"'add chain ip theirs z; add rule ip ours c drop; add chain ip theirs y; delete chain ip theirs z; delete chain ip theirs y'",
		"delete table ip ours", "add table ip ours", "flush ruleset",
	} {
		before := generation()
		ns.Shell("nft " + change + "; nft add table ip theirs; nft add chain ip theirs q; nft delete chain ip theirs q")
		check(change, before, false)
		check("after "+change, generation(), true)
	}

	// Of more than is kept nothing is known, and later all is again.
	before := generation()
	ns.Shell("seq 20000 | sed 's/.*/add chain ip theirs chain& { comment \"" + strings.Repeat("x", 100) + "\"; }/' | nft -f -")
	check("too much to be told", before, false)
	before = generation()
	ns.Shell("nft add table ip more")
	check("after too much", before, true)
}
