package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"taproom/internal/appliance/admission"
	"taproom/internal/host"
)

// Clone is an appliance that is ready and that nobody has used.
type Clone interface {
	// Hand gives it away, once. Its descriptors are the caller's from then on, who closes them.
	Hand(ctx context.Context) (*Parcel, error)
	// PSS is the memory it takes, in bytes.
	PSS() (uint64, error)
	// Gone is closed when its QEMU has ended.
	Gone() <-chan struct{}
	// Close ends it, or lets go of one that was handed out, and frees what it holds.
	Close() error
}

// StockConfig says what is kept.
type StockConfig struct {
	Make      func(ctx context.Context) (Clone, error)
	Room      func() (host.MemoryRoom, error)
	Memory    uint64           // of an appliance in bytes: what one is thought to take until one was measured
	Size      int              // how many wait, where there is memory
	Launchers int              // how many are launched at a time
	Look      <-chan time.Time // when memory is measured besides
}

// Stock is the clones that wait, those that were handed out, and those who wait for one.
type Stock struct {
	cfg    StockConfig
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu        sync.Mutex
	ready     []Clone
	lent      map[Clone]bool
	asks      []*ask // nobody asks while one is ready
	launching int
	each      uint64 // bytes, the most that was measured of one that waits; 0 when none was
	failed    error  // why the last launch failed, or a clone did not last; there are no more for stock until somebody asks
	closed    bool
	served    uint64
}

// ask is somebody who waits for a clone.
type ask struct {
	wait   bool // for memory, too
	answer chan answer
}

type answer struct {
	clone Clone
	err   error
}

// ErrEnding says that a pool is on its way out.
var ErrEnding = errors.New("the pool is ending")

// NewStock begins to fill a stock, until ctx is done. Close it.
func NewStock(ctx context.Context, cfg StockConfig) *Stock {
	s := &Stock{cfg: cfg, lent: map[Clone]bool{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.tasks.Go(s.look)
	s.Refill()
	return s
}

// Take returns a clone that nobody has used, one that waits if there is one. It does not refill the stock. Without memory for
// one it is an *admission.NoRoom, or waits for memory where wait says so.
func (s *Stock) Take(ctx context.Context, wait bool) (Clone, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrEnding
	}
	s.failed = nil
	if n := len(s.ready); n > 0 {
		c := s.ready[n-1]
		s.ready = s.ready[:n-1]
		s.lend(c)
		s.mu.Unlock()
		return c, nil
	}
	a := &ask{wait: wait, answer: make(chan answer, 1)}
	s.asks = append(s.asks, a)
	s.balance()
	s.mu.Unlock()
	select {
	case got := <-a.answer:
		return got.clone, got.err
	case <-ctx.Done():
		s.withdraw(a)
		return nil, context.Cause(ctx)
	}
}

// withdraw takes an ask back. A clone that it was just given is still unused.
func (s *Stock) withdraw(a *ask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.asks, a); i >= 0 {
		s.asks = slices.Delete(s.asks, i, i+1)
		return
	}
	if got := <-a.answer; got.clone != nil && s.lent[got.clone] {
		delete(s.lent, got.clone)
		s.served--
		s.put(got.clone)
	}
}

// Refill launches what is missing, in the background.
func (s *Stock) Refill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.balance()
}

// balance begins as many launches as are wanted and admitted. The lock is held.
func (s *Stock) balance() {
	if s.closed {
		return
	}
	want := len(s.asks)
	if s.failed == nil {
		want += s.cfg.Size - len(s.ready)
	}
	for s.launching < min(want, s.cfg.Launchers) {
		if err := s.admit(); err != nil {
			s.refuse(err)
			return
		}
		s.launching++
		s.tasks.Go(s.launch)
	}
}

func (s *Stock) admit() error {
	room, err := s.cfg.Room()
	if err != nil {
		return fmt.Errorf("measure the host's memory: %w", err)
	}
	return s.ledger(room).Admit()
}

func (s *Stock) ledger(room host.MemoryRoom) admission.Ledger {
	l := admission.Ledger{Room: room, Each: s.each, Starting: s.launching}
	if l.Each == 0 {
		l.Each = s.cfg.Memory
	}
	return l
}

// refuse answers those who do not wait for memory, and for whom nothing is being launched.
func (s *Stock) refuse(err error) {
	kept := s.asks[:0:0]
	for i, a := range s.asks {
		if i < s.launching || a.wait {
			kept = append(kept, a)
			continue
		}
		a.answer <- answer{err: err}
	}
	s.asks = kept
}

// launch makes a clone.
func (s *Stock) launch() {
	c, err := s.cfg.Make(s.ctx)
	var pss uint64
	if err == nil {
		pss, _ = c.PSS() // one that has just ended is told of by Gone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.launching--
	if err != nil {
		s.failed = err
		if len(s.asks) > 0 {
			s.asks[0].answer <- answer{err: err}
			s.asks = slices.Delete(s.asks, 0, 1)
		}
	} else {
		s.each = max(s.each, pss)
		s.tasks.Go(func() { s.watch(c) })
		s.put(c)
	}
	s.balance()
}

// put gives a clone to who waits longest, or keeps it. The lock is held.
func (s *Stock) put(c Clone) {
	if len(s.asks) == 0 || s.closed {
		s.ready = append(s.ready, c)
		return
	}
	a := s.asks[0]
	s.asks = slices.Delete(s.asks, 0, 1)
	s.lend(c)
	a.answer <- answer{clone: c}
}

func (s *Stock) lend(c Clone) {
	s.lent[c] = true
	s.served++
}

// watch waits for a clone's end, whoever has it by then, or for the pool's.
func (s *Stock) watch(c Clone) {
	select {
	case <-s.ctx.Done():
	case <-c.Gone():
	}
	s.mu.Lock()
	if i := slices.Index(s.ready, c); i >= 0 {
		s.ready = slices.Delete(s.ready, i, i+1)
		s.failed = errors.New("an appliance that nobody used has ended")
	}
	delete(s.lent, c)
	s.mu.Unlock()
	_ = c.Close() // it is gone, or the pool is
	s.Refill()
}

// Close ends the clones that wait, and lets go of those that were handed out.
func (s *Stock) Close() {
	s.mu.Lock()
	s.closed = true
	for _, a := range s.asks {
		a.answer <- answer{err: ErrEnding}
	}
	s.asks = nil
	s.mu.Unlock()
	s.cancel()
	s.tasks.Wait()
}
