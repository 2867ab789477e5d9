package backend

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPatience_PausesBeginAfterFiveEndsInARowAndGrowToFiveSeconds(t *testing.T) {
	t.Parallel()
	var p patience
	now := time.Unix(0, 0)
	ends := func(n int, age time.Duration) (pauses []time.Duration) {
		for range n {
			p.began(now)
			now = now.Add(age)
			pauses = append(pauses, p.ended(now)/time.Second)
		}
		return pauses
	}
	if d := cmp.Diff([]time.Duration{0, 0, 0, 0, 0, 1, 2, 4, 5, 5, 5, 5, 5}, ends(13, time.Second)); d != "" {
		t.Error(d)
	}
	// One that held for a while begins a new row.
	if d := cmp.Diff([]time.Duration{0, 0}, ends(2, settled)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]time.Duration{0, 0, 0, 0, 1}, ends(5, 0)); d != "" {
		t.Error(d)
	}
	// Starts that fail count as ends, and the time since the last helper began says nothing.
	p = patience{}
	p.began(now)
	now = now.Add(time.Hour)
	got := []time.Duration{p.ended(now)}
	for range 5 {
		now = now.Add(time.Minute)
		got = append(got, p.ended(now)/time.Second)
	}
	if d := cmp.Diff([]time.Duration{0, 0, 0, 0, 0, 1}, got); d != "" {
		t.Error(d)
	}
}
