package dhcp6

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestTheNextHoleIsWhatAPlainSearchFinds compares with counting up, in sets that are dense enough to fill words of every level.
func TestTheNextHoleIsWhatAPlainSearchFinds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		last := rapid.SampledFrom([]uint64{0, 5, 62, 63, 64, 4094, 4095, 4096, 9000}).Draw(r, "last")
		h, model := newHoles(last), map[uint64]bool{}
		put := func(i uint64, in bool) {
			h.put(i, in)
			if model[i] = in; !in {
				delete(model, i)
			}
		}
		for range rapid.IntRange(1, 6).Draw(r, "runs") {
			from := rapid.Uint64Range(0, last).Draw(r, "from")
			to := min(last, from+rapid.SampledFrom([]uint64{0, 1, 63, 64, 130, 5000, 9000}).Draw(r, "length"))
			in := rapid.IntRange(0, 3).Draw(r, "in") > 0
			for i := from; i <= to; i++ {
				put(i, in)
			}
		}
		for range 20 {
			from := rapid.Uint64Range(0, last).Draw(r, "search")
			want, wantOK := from, false
			for ; want <= last && !wantOK; want++ {
				wantOK = !model[want]
			}
			want--
			if got, ok := h.next(from); ok != wantOK || ok && got != want {
				r.Fatalf("from %d of %d: got %d, %v; want %d, %v", from, last, got, ok, want, wantOK)
			}
		}
		for i := range model {
			h.put(i, false)
		}
		for k, words := range h.levels {
			if len(words) != 0 {
				r.Fatalf("an empty set keeps %d words of level %d", len(words), k)
			}
		}
	})
}

func TestAHoleAtTheEndOfAllNumbersIsFound(t *testing.T) {
	t.Parallel()
	h := newHoles(math.MaxUint64)
	for i := range uint64(10000) {
		h.put(math.MaxUint64-i, true)
	}
	h.put(math.MaxUint64-7, false)
	type answer struct {
		at uint64
		ok bool
	}
	var got [4]answer
	for i, from := range []uint64{math.MaxUint64 - 9000, math.MaxUint64 - 6, 0, math.MaxUint64 - 10000} {
		got[i].at, got[i].ok = h.next(from)
	}
	want := [4]answer{{math.MaxUint64 - 7, true}, {0, false}, {0, true}, {math.MaxUint64 - 10000, true}}
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRangesCountAcrossTheMiddleOfAnAddress(t *testing.T) {
	t.Parallel()
	r := Range{Start: ip("2001:db8:0:1:ffff:ffff:ffff:fffe"), End: ip("2001:db8:0:2::3")}
	for i, want := range []string{"2001:db8:0:1:ffff:ffff:ffff:fffe", "2001:db8:0:1:ffff:ffff:ffff:ffff", "2001:db8:0:2::", "2001:db8:0:2::1"} {
		if a := r.nth(uint64(i)); a != ip(want) || r.index(a) != uint64(i) {
			t.Errorf("number %d is %v, whose number is %d; want %s", i, a, r.index(a), want)
		}
	}
}
