package cycletest

import (
	"testing"
	"time"

	"taproom/internal/api/remote"
)

// A zombie of a process counts against the limit of 128 of its user, so 15 cycles would not reach it: they are looked for
// instead, after each cycle.
const (
	cycles     = 15
	cyclesLong = 10_000
)

// TestNetworkCycle_LeavesNothing starts and stops the only network, so that each stop ends the processes that serve it.
func TestNetworkCycle_LeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := rounds(t, cycles, cyclesLong)
	began := time.Now()
	var early usage
	for i := range n {
		for _, procedure := range []uint32{remote.ProcNetworkCreate, remote.ProcNetworkDestroy} {
			if err := w.ask(t.Context(), procedure); err != nil {
				t.Fatalf("cycle %d, procedure %d: %v\n%s", i, procedure, err, w.Said())
			}
		}
		if pids := w.children(); len(pids) > 0 {
			t.Fatalf("cycle %d: the daemon has the children %v, which it has not waited for", i, pids)
		}
		if i == n/5 { // by then the daemon has the threads and sockets that it keeps
			early = w.usage(t)
		}
	}
	late := w.usage(t)
	t.Logf("%d cycles in %v; after the first fifth %+v, after all %+v", n, time.Since(began), early, late)
	if late.threads > early.threads+8 || late.descriptors > early.descriptors+8 {
		t.Errorf("the daemon needs more and more: after the first fifth %+v, after all %+v", early, late)
	}
	w.away(t)
}
