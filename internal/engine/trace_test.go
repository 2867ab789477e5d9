package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/own"
)

func TestNeighbouringStagesOfOneNameAreOneSpan(t *testing.T) {
	t.Parallel()
	zero := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }
	got := spans(merged([]stage{
		{"parse", at(10), at(11)},
		{"links", at(11), at(12)},
		{"links", at(12), at(15)},
		{"exec", at(15), at(20)},
		{"links", at(20), at(21)},
		{"dhcp", at(21), at(19)},
	}))
	want := []own.Span{
		{Name: "parse", Start: 0, Took: 1000},
		{Name: "links", Start: 1000, Took: 4000},
		{Name: "exec", Start: 5000, Took: 5000},
		{Name: "links", Start: 10000, Took: 1000},
		{Name: "dhcp", Start: 11000, Took: 0}, // clocks of two machines: never less than nothing
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
