package pool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"taproom/internal/appliance/admission"
	"taproom/internal/host"
	"taproom/internal/qemu/emutest"
)

const mib = 1 << 20

// double is a clone without a machine.
type double struct {
	n    int
	pss  uint64
	gone chan struct{}
	once sync.Once
	mu   sync.Mutex
	shut int
}

func (d *double) Hand(context.Context) (*Parcel, error) {
	return &Parcel{Facts: []byte(fmt.Sprintf(`{"n":%d}`, d.n))}, nil
}
func (d *double) PSS() (uint64, error)  { return d.pss, nil }
func (d *double) Gone() <-chan struct{} { return d.gone }
func (d *double) end()                  { d.once.Do(func() { close(d.gone) }) }
func (d *double) Close() error {
	d.mu.Lock()
	d.shut++
	d.mu.Unlock()
	d.end()
	return nil
}

// world is what a stock is tried in.
type world struct {
	mu        sync.Mutex
	available uint64
	made      []*double
	fails     error
	gate      chan struct{} // nil: launches take no time
	look      chan time.Time
	changed   *sync.Cond
}

func newWorld() *world {
	w := &world{available: 8192 * mib, look: make(chan time.Time)}
	w.changed = sync.NewCond(&w.mu)
	return w
}

func (w *world) room() (host.MemoryRoom, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return host.MemoryRoom{Total: 16384 * mib, Available: w.available}, nil // the reserve is 1024 MiB
}

func (w *world) make(ctx context.Context) (Clone, error) {
	if w.gate != nil {
		select {
		case <-w.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails != nil {
		return nil, w.fails
	}
	d := &double{n: len(w.made), pss: 16 * mib, gone: make(chan struct{})}
	w.made = append(w.made, d)
	return d, nil
}

func (w *world) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *world) stock(t *testing.T, size, launchers int) *Stock {
	t.Helper()
	s := NewStock(t.Context(), StockConfig{Make: w.make, Room: w.room, Memory: 128 * mib, Size: size, Launchers: launchers, Look: w.look})
	t.Cleanup(s.Close)
	return s
}

// eventually looks until a status is as it should be.
func eventually(t *testing.T, s *Stock, what string, holds func(Status) bool) Status {
	t.Helper()
	ctx, cancel := emutest.Context(t.Context())
	defer cancel()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for {
		st := s.Status()
		if holds(st) {
			return st
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("%s: never so; at last %+v", what, st)
		}
	}
}

func full(n int) func(Status) bool {
	return func(st Status) bool { return st.Ready == n && st.Launching == 0 }
}

func TestEachCloneIsHandedOutOnce(t *testing.T) {
	w := newWorld()
	s := w.stock(t, 3, 2)
	seen := map[Clone]bool{}
	for range 20 {
		c, err := s.Take(t.Context(), false)
		if err != nil || seen[c] {
			t.Fatalf("%v, seen before: %v", err, seen[c])
		}
		seen[c] = true
		s.Refill()
	}
	st := eventually(t, s, "full again", full(3))
	if st.Lent != 20 || st.Served != 20 || st.Each != 16*mib {
		t.Errorf("%+v, want 20 lent and served, of 16 MiB", st)
	}
}

func TestTakingFromAFullStockLaunchesNothing(t *testing.T) {
	w := newWorld()
	s := w.stock(t, 3, 2)
	eventually(t, s, "full", full(3))
	if _, err := s.Take(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if st := s.Status(); st.Ready != 2 || st.Launching != 0 {
		t.Errorf("%+v, want 2 ready and no launch before Refill", st)
	}
}

func TestWhoComesFirstIsServedFirst(t *testing.T) {
	w := newWorld()
	w.gate = make(chan struct{})
	s := w.stock(t, 1, 1)
	got := make([]chan Clone, 3)
	for i := range got {
		got[i] = make(chan Clone, 1)
		go func() {
			c, _ := s.Take(t.Context(), false)
			got[i] <- c
		}()
		eventually(t, s, "one more waits", func(st Status) bool { return st.Waiting == i+1 })
	}
	for i := range got {
		w.gate <- struct{}{}
		if c := <-got[i]; c == nil || c.(*double).n != i {
			t.Errorf("caller %d got %+v", i, c)
		}
	}
}

func TestWithoutMemoryNobodyWaitsUnlessHeSaysSo(t *testing.T) {
	w := newWorld()
	w.available = (1024 + 127) * mib
	s := w.stock(t, 2, 2)
	_, err := s.Take(t.Context(), false)
	var no *admission.NoRoom
	if !errors.As(err, &no) {
		t.Fatalf("got %v, want a *NoRoom", err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := s.Take(t.Context(), true)
		got <- err
	}()
	eventually(t, s, "it waits", func(st Status) bool { return st.Waiting == 1 })
	w.set(func() { w.available = 2048 * mib })
	w.look <- time.Time{}
	if err := <-got; err != nil {
		t.Errorf("with memory: %v", err)
	}
}

func TestScarceMemoryEndsClonesThatWait(t *testing.T) {
	w := newWorld()
	s := w.stock(t, 4, 2)
	lent, err := s.Take(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	s.Refill()
	eventually(t, s, "full", full(4))
	w.set(func() { w.available = (1024 - 17) * mib }) // more than one's worth below the reserve
	w.look <- time.Time{}
	st := eventually(t, s, "two are ended", func(st Status) bool { return st.Ready == 2 })
	if st.Lent != 1 || lent.(*double).shut != 0 {
		t.Errorf("%+v: what was handed out is not the pool's to end", st)
	}
	w.look <- time.Time{} // still short of 17 MiB
	eventually(t, s, "the others too", func(st Status) bool { return st.Ready == 0 && st.Launching == 0 })
	w.set(func() { w.available = 4096 * mib })
	w.look <- time.Time{}
	eventually(t, s, "full again", full(4))
}

func TestAFailureIsToldAndStopsTheRefill(t *testing.T) {
	w := newWorld()
	w.fails = errors.New("no such kernel")
	s := w.stock(t, 2, 1)
	st := eventually(t, s, "it failed once", func(st Status) bool { return st.Failed != "" && st.Launching == 0 })
	if st.Ready != 0 {
		t.Errorf("%+v", st)
	}
	if _, err := s.Take(t.Context(), false); err == nil || !strings.Contains(err.Error(), "no such kernel") {
		t.Errorf("got %v", err)
	}
	w.set(func() { w.fails = nil })
	if _, err := s.Take(t.Context(), false); err != nil {
		t.Errorf("once it works: %v", err)
	}
	eventually(t, s, "full", full(2))
}

func TestACloneThatDiesWhileItWaitsIsReplacedOnceSomebodyAsks(t *testing.T) {
	w := newWorld()
	s := w.stock(t, 1, 1)
	eventually(t, s, "full", full(1))
	w.set(func() { w.made[0].end() })
	st := eventually(t, s, "it is missed", func(st Status) bool { return st.Ready == 0 })
	if st.Launching != 0 || st.Failed == "" {
		t.Errorf("%+v: what dies unused would be launched for ever", st)
	}
	if c, err := s.Take(t.Context(), false); err != nil || c.(*double).n != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestWhoeverGivesUpLeavesHisCloneToOthers(t *testing.T) {
	w := newWorld()
	w.gate = make(chan struct{})
	s := w.stock(t, 1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := s.Take(ctx, false)
		got <- err
	}()
	eventually(t, s, "it waits", func(st Status) bool { return st.Waiting == 1 })
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	w.gate <- struct{}{}
	st := eventually(t, s, "its clone is there", full(1))
	if st.Served != 0 {
		t.Errorf("%+v", st)
	}
}

func TestTheEndOfTheStockEndsWhatWaitsAndLetsGoOfTheRest(t *testing.T) {
	w := newWorld()
	s := w.stock(t, 2, 2)
	if _, err := s.Take(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	s.Refill()
	eventually(t, s, "full", full(2))
	s.Close()
	for _, d := range w.made {
		if d.shut != 1 {
			t.Errorf("clone %d was closed %d times", d.n, d.shut)
		}
	}
	if _, err := s.Take(t.Context(), false); !errors.Is(err, ErrEnding) {
		t.Errorf("afterwards: %v", err)
	}
}
