package dns

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestTheCacheStaysWithinItsBudgetAndTakesFromWhoHoldsMost(t *testing.T) {
	t.Parallel()
	c := newCache(100 * (entryCost + 100))
	small, large := newPart(), newPart()
	wire := make([]byte, 96)
	for i := range 10 {
		c.store(small, c.current(small), fmt.Sprintf("s%03d", i), wire, 60, 0)
	}
	for i := range 1000 {
		c.store(large, c.current(large), fmt.Sprintf("l%03d", i), wire, 60, 0)
	}
	entries, bytes := c.size(large)
	if mine, _ := c.size(small); mine != 10 || entries != 90 || bytes != 90*(entryCost+100) || c.used != c.budget {
		t.Errorf("the small part has %d, the large one %d in %d bytes; %d of %d are used", mine, entries, bytes, c.used, c.budget)
	}
	for i := range 90 {
		if w, _ := c.lookup(large, []byte(fmt.Sprintf("l%03d", 910+i)), 0); w == nil {
			t.Errorf("entry %d was used lately and is gone", 910+i)
		}
	}
	c.flush(large)
	if entries, bytes := c.size(large); entries != 0 || bytes != 0 || len(c.parts) != 1 {
		t.Errorf("%d entries of %d bytes are left in %d parts", entries, bytes, len(c.parts))
	}
}

func TestWhatWasAskedBeforeAFlushIsNotRemembered(t *testing.T) {
	t.Parallel()
	c, p := newCache(1<<20), newPart()
	for name, flush := range map[string]func(){"of one": func() { c.flush(p) }, "of all": c.flushAll} {
		before := c.current(p)
		flush()
		c.store(p, before, name, []byte("old"), 60, 0)
		c.store(p, c.current(p), name+" later", []byte("new"), 60, 0)
		if w, _ := c.lookup(p, []byte(name), 0); w != nil {
			t.Errorf("a flush %s: what was asked before is told", name)
		}
		if w, _ := c.lookup(p, []byte(name+" later"), 0); w == nil {
			t.Errorf("a flush %s: what was asked since is not remembered", name)
		}
	}
}

func TestTheCacheCountsWhatItHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newCache(rapid.IntRange(500, 5000).Draw(t, "budget"))
		parts := []*part{newPart(), newPart(), newPart()}
		now := int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			p := parts[rapid.IntRange(0, 2).Draw(t, "part")]
			key := rapid.StringMatching(`[a-f]`).Draw(t, "key")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				c.flush(p)
			case 1:
				c.flushAll()
			case 2:
				now += rapid.Int64Range(1, 40).Draw(t, "seconds")
			case 3, 4:
				wire, age := c.lookup(p, []byte(key), now)
				if wire != nil && (string(wire[:1]) != key || age > 60) {
					t.Fatalf("%q of age %d is told for %q", wire[:1], age, key)
				}
			default:
				wire := append([]byte(key), make([]byte, rapid.IntRange(0, 600).Draw(t, "size"))...)
				c.store(p, c.current(p), key, wire, uint32(rapid.IntRange(0, 60).Draw(t, "ttl")), now)
			}
			total := 0
			for _, p := range parts {
				n, ring := 0, 0
				for _, e := range p.entries {
					n += e.size()
				}
				for e := p.root.next; e != &p.root; e = e.next {
					ring++
				}
				if _, holds := c.parts[p]; n != p.bytes || ring != len(p.entries) || holds != (n > 0) {
					t.Fatalf("a part of %d bytes counts %d; %d entries, %d in its ring", n, p.bytes, len(p.entries), ring)
				}
				total += n
			}
			if total != c.used || total > c.budget {
				t.Fatalf("%d bytes are held, %d counted, of %d", total, c.used, c.budget)
			}
		}
	})
}

func TestAGreedyNetworkCannotShutOthersOut(t *testing.T) {
	t.Parallel()
	g := newGate(Quota{Each: 5, Soft: 12, Hard: 16, Reserve: 2})
	var a [5]share
	enter := func(s *share, times int) int {
		n := 0
		for range times {
			if g.enter(s, 1) {
				n++
			}
		}
		return n
	}
	for i, want := range []int{5, 5, 2, 2, 2} { // the fourth and fifth come when all together have too much
		if got := enter(&a[i], 10); got != want {
			t.Errorf("network %d may have %d, want %d", i, got, want)
		}
	}
	var late share
	if g.enter(&late, 1) {
		t.Error("more than the process has was given")
	}
	for i := range a {
		for a[i].used > 0 {
			g.leave(&a[i], 1)
		}
	}
	if g.used != 0 || enter(&late, 10) != 5 {
		t.Errorf("%d are used, and the last network has %d", g.used, late.used)
	}
}
