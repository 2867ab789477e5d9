package helper_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"taproom/internal/spec"
)

// The packet socket of a network that was removed is closed after the answer, but it is closed.
func TestOfANetworkThatWasRemovedNothingStaysOpen(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serve(seven())
	holds := func() int {
		t.Helper()
		all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.h.Hello().PID))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	before := holds()
	s.serve(eight())
	if n := holds(); n <= before {
		t.Errorf("a second network holds %d descriptors", n-before)
	}
	if err := s.h.Remove(s.ctx, spec.UUID{8}); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(time.Minute); holds() != before; {
		select {
		case <-tick.C: // another process's descriptors
		case <-deadline:
			t.Fatalf("the helper holds %d descriptors, and held %d before the network came", holds(), before)
		}
	}
}
