package emutest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

// A wait may take 20 boots of the reference guest, and 10 without progress, and 30 s in any case: the test's other work on the
// host has no part in the measurement.
const (
	limitBoots = 20
	stallBoots = 10
	least      = 30 * time.Second
)

// Patience is the limit of a wait that takes a number: 20 boots of the reference guest, at least 30 s. The first call in a
// process boots the guest. Context and Watch are better where they can be used: they measure again before they give up.
func Patience() time.Duration { return reference.limit(limitBoots) }

// Seconds is Patience where whole seconds are wanted. A guest that is asked to wait gets several times as many: the wait on the
// host for its answer, which can be prolonged, is to end first.
func Seconds() int { return int(Patience() / time.Second) }

// Context ends when a wait has taken as long as Patience, like context.WithTimeout. It boots the reference guest only when 30 s
// have passed, and again before it ends: a host that has become slower gets more time. cancel must be called.
//
// The reason is context.Cause; it wraps context.DeadlineExceeded, and goes to stderr too, since most errors have only Err.
func Context(parent context.Context) (ctx context.Context, cancel context.CancelFunc) {
	return reference.watch(parent, 1, nil, reporter())
}

// Watch is Context for a number of machines, each of which adds a limit; a guest that does more than boot counts as several. It
// also ends without progress: when no console byte and no event is noted for 10 boots of the reference guest, at least 30 s. The
// reason then names the last progress noted. A nil progress is no limit.
func Watch(parent context.Context, machines int, progress *Progress) (ctx context.Context, cancel context.CancelFunc) {
	return reference.watch(parent, machines, progress, reporter())
}

// reporter names on stderr the line that called this package.
func reporter() func(error) {
	_, file, line, _ := runtime.Caller(2)
	return func(err error) { fmt.Fprintf(os.Stderr, "%s:%d: %v\n", file, line, err) }
}

// meter knows how long the reference guest takes to boot.
type meter struct {
	boot func(context.Context) (time.Duration, error)

	mu       sync.Mutex // held during a boot
	measured bool
	longest  time.Duration // of all boots; 0 when none succeeded
}

// limit is a number of boots.
func (m *meter) limit(boots int) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.measured {
		m.measure(context.Background())
	}
	return m.times(boots)
}

// exceeds reports whether a wait took longer than a number of boots, and still does when the guest was booted once more.
func (m *meter) exceeds(ctx context.Context, boots int, waited time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if waited < least || m.measured && waited < m.times(boots) {
		return false
	}
	m.measure(ctx)
	return waited >= m.times(boots)
}

// times needs the lock. Where the guest does not boot, tests fail by that; their waits end nevertheless.
func (m *meter) times(boots int) time.Duration {
	if m.longest == 0 {
		return bootWithin
	}
	return max(least, time.Duration(boots)*m.longest)
}

// measure needs the lock. It takes no boot slot: the test that waits for it may hold one.
func (m *meter) measure(ctx context.Context) {
	took, err := m.boot(ctx)
	if ctx.Err() != nil {
		return
	}
	m.measured = true
	if err != nil {
		fmt.Fprintf(os.Stderr, "boot the reference guest: %v\n", err)
		return
	}
	m.longest = max(m.longest, took)
}

// watch makes a context that ends when its wait took too long, and reports why.
func (m *meter) watch(parent context.Context, machines int, progress *Progress, report func(error)) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(parent)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if err := m.follow(ctx, machines, progress); err != nil {
			report(err)
			end(err)
		}
	}()
	return ctx, func() {
		end(context.Canceled)
		<-stopped
	}
}

// follow returns an error when a wait took too long, and nil when its context ended.
func (m *meter) follow(ctx context.Context, machines int, progress *Progress) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	began := time.Now()
	moved := began
	count, last := progress.seen()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if progress != nil {
			if n, what := progress.seen(); n != count {
				moved, count, last = time.Now(), n, what
			}
			if still := time.Since(moved); m.exceeds(ctx, stallBoots, still) && ctx.Err() == nil {
				if n, _ := progress.seen(); n == count {
					return fmt.Errorf("no progress for %v, longer than 10 boots of the reference guest; the last was %s: %w", still.Round(time.Second), last, context.DeadlineExceeded)
				}
			}
		}
		waited := time.Since(began)
		if m.exceeds(ctx, limitBoots, waited/time.Duration(machines)) && ctx.Err() == nil {
			return fmt.Errorf("waited for %v, longer than 20 boots of the reference guest: %w", waited.Round(time.Second), context.DeadlineExceeded)
		}
	}
}
