package cycletest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/remote"
	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

const (
	kills     = 7 // two more than are replaced at once
	killsLong = 1000
	// side is how many daemons have their helpers killed side by side in the long run.
	side = 10
	// lifetime is the longest that a helper lives: from before it answers until long after it serves.
	lifetime = 300 * time.Millisecond
)

// TestNetworkHelper_KilledAtRandomServesAgain kills the process that serves a network again and again, at times of its start as
// well. Each time there is another one, and it serves.
func TestNetworkHelper_KilledAtRandomServesAgain(t *testing.T) {
	t.Parallel()
	n := rounds(t, kills, killsLong)
	worlds := 1
	if n > kills {
		worlds = side
	}
	var mu sync.Mutex
	var longest time.Duration
	var wg sync.WaitGroup
	for i := range worlds {
		w := newWorld(t)
		if err := w.ask(t.Context(), remote.ProcNetworkCreate); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), uint64(n)))
			for k := range n / worlds {
				took, err := w.killHelper(r)
				if err != nil {
					t.Errorf("daemon %d, kill %d: %v\n%s", i, k, err, w.Said())
					return
				}
				mu.Lock()
				longest = max(longest, took)
				mu.Unlock()
			}
			if err := w.served(context.Background()); err != nil {
				t.Errorf("daemon %d: %v\n%s", i, err, w.Said())
			}
			if err := w.ask(context.Background(), remote.ProcNetworkDestroy); err != nil {
				t.Errorf("daemon %d: %v\n%s", i, err, w.Said())
			}
			if pids := w.children(); len(pids) > 0 {
				t.Errorf("daemon %d has the children %v, which it has not waited for", i, pids)
			}
			w.away(t)
		})
	}
	wg.Wait()
	t.Logf("%d kills; the next process was there after %v at most", n/worlds*worlds, longest)
}

// killHelper kills the helper after a while, and waits for the next one. It returns how long that took.
func (w *world) killHelper(r *rand.Rand) (time.Duration, error) {
	slice, _ := w.Slice()
	group := filepath.Join(slice, "vnet")
	k := w.NS.Kernel()
	ctx, cancel := context.WithTimeout(context.Background(), hosttest.Patience)
	defer cancel()
	pid, err := helperBut(ctx, k, group, 0)
	if err != nil {
		return 0, err
	}
	p, err := k.OpenPID(pid, 0)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	select {
	case <-time.After(time.Duration(r.Int64N(int64(lifetime)))):
	case <-ctx.Done():
	}
	if err := k.Signal(p, unix.SIGKILL); err != nil && !errors.Is(err, host.ErrGone) {
		return 0, err
	}
	killed := time.Now()
	_, err = helperBut(ctx, k, group, pid)
	return time.Since(killed), err
}

// helperBut is the helper, as soon as there is one that is not a certain one.
func helperBut(ctx context.Context, k *host.Kernel, group string, not int) (int, error) {
	look := time.NewTicker(2 * time.Millisecond) // a cgroup tells of the first process and the last one, and not of others
	defer look.Stop()
	for {
		pids, err := k.CgroupProcs(group)
		if err != nil {
			return 0, err
		}
		for _, pid := range pids {
			if pid != not {
				return pid, nil
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return 0, fmt.Errorf("there is no helper, after process %d: %w", not, ctx.Err())
		}
	}
}

// served waits until everything is as it should be: a plan asks the helper what it serves.
func (w *world) served(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hosttest.Patience)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		plan, err := w.c.Plan(ctx)
		if err == nil && len(plan.Steps) == 0 {
			_, err = w.c.Leases(ctx, w.net)
			if err == nil {
				return nil
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("it is not served: %+v, %w", plan.Steps, err)
		}
	}
}
