package crashtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/daemon/daemontest"
)

// side is how many daemons are killed side by side.
const side = 3

// life is everything that can happen to a network and a guest on it.
func life(w *world, c *client.Client) error {
	net, guest := w.objects[0], w.objects[1]
	for _, next := range []func() step{
		func() step { return define(net) },
		func() step { return start(net) },
		func() step { return define(guest) },
		func() step { return start(guest) },
		func() step { return suspend(guest) },
		func() step { return resume(guest) },
		func() step { return addHost(net) },
		func() step { return dropHost(net) },
		func() step { return destroy(guest) },
		func() step { return startPaused(guest) },
		func() step { return destroy(net) }, // the guest is cut off
		func() step { return start(net) },   // and plugged in again
		func() step { return undefine(guest) },
		func() step { return destroy(guest) }, // it was transient, and is forgotten
		func() step { return destroy(net) },
		func() step { return undefine(net) },
	} {
		if err := w.do(c, next()); err != nil {
			return err
		}
	}
	return nil
}

// trial is one run of a daemon that is killed on the way.
type trial struct {
	prepare func(w *world) error // what there is before
	drive   func(w *world, c *client.Client) error
}

// run runs a daemon until it is done or killed. It returns the calls it made, and whether it was killed.
func (tr trial) run(w *world, o ...daemontest.Option) (calls []string, killed bool, err error) {
	path := filepath.Join(w.Root, "calls")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return nil, false, err
	}
	err = tr.whole(w, append(o, daemontest.Calls(path))...)
	b, rerr := os.ReadFile(path)
	calls = strings.Split(strings.TrimSpace(string(b)), "\n")
	if errors.Is(err, errBroken) {
		<-w.Ended()
		return calls, true, rerr
	}
	return calls, false, errors.Join(err, rerr)
}

// whole starts the daemon, does everything and stops it.
func (tr trial) whole(w *world, o ...daemontest.Option) error {
	broken := func(err error) error {
		if err != nil && !w.Alive() {
			return fmt.Errorf("%w: %w", errBroken, err)
		}
		return err
	}
	if err := w.Start(o...); err != nil {
		return broken(err)
	}
	c, err := w.Dial()
	if err != nil {
		return broken(err)
	}
	defer c.Close()
	if err := tr.drive(w, c); err != nil {
		return err
	}
	return broken(w.Stop())
}

// recover starts the daemon again and checks everything.
func (w *world) recover() error {
	if err := w.Start(); err != nil {
		return fmt.Errorf("start again: %w", err)
	}
	c, err := w.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	return w.verify(c)
}

func TestADaemonKilledAtAnyCallLosesNothingAndLeavesNothing(t *testing.T) {
	t.Parallel()
	everyCall(t, trial{drive: life}, func(w *world) error {
		if err := w.recover(); err != nil {
			return err
		}
		c, err := w.Dial()
		if err != nil {
			return err
		}
		defer c.Close()
		return w.again(c)
	})
}

// everyCall runs a trial without a crash to count the calls, and then kills a daemon at the first, the second and so on,
// until one gets to its end.
func everyCall(t *testing.T, tr trial, check func(*world) error) {
	world := func(t *testing.T) *world {
		net := newNetwork(1)
		w := newWorld(t, net)
		w.objects = append(w.objects, newDomain(1, net, w.disk(1, nil), ""))
		return w
	}
	var reference []string
	t.Run("without a crash", func(t *testing.T) {
		w := world(t)
		var killed bool
		var err error
		if reference, killed, err = tr.run(w); err != nil || killed {
			t.Fatalf("killed: %v, error: %v", killed, err)
		}
	})
	if t.Failed() {
		return
	}
	var next, covered atomic.Int64
	var done atomic.Bool
	var wg sync.WaitGroup
	for range side {
		wg.Go(func() {
			for !done.Load() {
				at := int(next.Add(1))
				t.Run(fmt.Sprintf("at call %d", at), func(t *testing.T) {
					w := world(t)
					calls, killed, err := tr.run(w, daemontest.CrashAt(at))
					if err != nil {
						t.Fatalf("%v\n%s", err, w.Said())
					}
					switch {
					case killed:
						covered.Add(1)
					case at > len(reference):
						done.Store(true)
					}
					if err := check(w); err != nil {
						t.Errorf("killed at call %d of %d (%s) while (%v): %v", at, len(reference), calls[len(calls)-1], w.beliefs(), err)
					}
				})
				if t.Failed() && os.Getenv("TAPROOM_CRASH_ALL") == "" {
					done.Store(true)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d calls without a crash, killed at %d", len(reference), covered.Load())
	if covered.Load() < int64(len(reference)) {
		t.Errorf("killed at %d calls, and there are %d", covered.Load(), len(reference))
	}
}

func (w *world) beliefs() string {
	var s []string
	for _, o := range w.objects {
		s = append(s, o.name+": "+o.belief.String())
	}
	return strings.Join(s, "; ")
}
