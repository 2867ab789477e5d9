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

// trial is what a daemon is killed in the middle of. Between two runs the daemon is dead.
type trial struct {
	world  func(t *testing.T) *world
	before func(w *world) error                   // what there is when the daemon starts
	drive  func(w *world, c *client.Client) error // what clients do
	after  func(w *world) error                   // what must hold when it was killed, or was not
}

// everyCall runs a trial without a crash, which counts the calls, and then kills the daemon at the first, the second and
// so on, until one gets to its end.
func everyCall(t *testing.T, tr trial) {
	reference := reference(t, tr)
	var next, covered atomic.Int64
	var over atomic.Bool
	var wg sync.WaitGroup
	for range side {
		w := tr.world(t)
		wg.Go(func() {
			for !over.Load() {
				at := int(next.Add(1))
				last, killed, err := tr.once(w, daemontest.CrashAt(at))
				if err != nil {
					t.Errorf("killed at call %d of %d (%s): %v", at, len(reference), last, err)
					over.Store(true)
				}
				switch {
				case killed:
					covered.Add(1)
				case at > len(reference):
					over.Store(true)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d calls without a crash; killed at %d", len(reference), covered.Load())
	if int(covered.Load()) < len(reference) {
		t.Errorf("killed at %d calls, and there are %d", covered.Load(), len(reference))
	}
}

// reference are the calls of a run without a crash.
func reference(t *testing.T, tr trial) []string {
	t.Helper()
	w := tr.world(t)
	if err := tr.before(w); err != nil {
		t.Fatal(err)
	}
	calls, killed, err := tr.run(w)
	if err == nil && !killed {
		err = tr.after(w)
	}
	if err != nil || killed {
		t.Fatalf("without a crash: killed %v, error %v", killed, err)
	}
	return calls
}

// once runs a trial and checks what is left of it. It returns the last call that the daemon made.
func (tr trial) once(w *world, o ...daemontest.Option) (last string, killed bool, err error) {
	if err := tr.before(w); err != nil {
		return "", false, fmt.Errorf("before: %w", err)
	}
	calls, killed, err := tr.run(w, o...)
	last = calls[len(calls)-1]
	if err != nil {
		return last, killed, fmt.Errorf("%w\n%s", err, w.Said())
	}
	known := w.beliefs()
	if err := tr.after(w); err != nil {
		return last, killed, fmt.Errorf("%s: %w", known, err)
	}
	return last, killed, nil
}

// run runs a daemon until it has stopped or was killed, and returns the calls it made.
func (tr trial) run(w *world, o ...daemontest.Option) (calls []string, killed bool, err error) {
	path := filepath.Join(w.Root, "calls")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return nil, false, err
	}
	err = tr.whole(w, append(o, daemontest.Calls(path))...)
	if killed = errors.Is(err, errBroken); killed {
		<-w.Ended()
		err = nil
	}
	b, rerr := os.ReadFile(path)
	return strings.Split(strings.TrimSpace(string(b)), "\n"), killed, errors.Join(err, rerr)
}

// whole starts the daemon, does everything and stops it.
func (tr trial) whole(w *world, o ...daemontest.Option) error {
	ended := func(err error) error {
		if err != nil && !w.Alive() {
			return fmt.Errorf("%w: %w", errBroken, err)
		}
		return err
	}
	if err := w.Start(o...); err != nil {
		return ended(err)
	}
	c, err := w.Dial()
	if err != nil {
		return broken(err)
	}
	defer c.Close()
	if err := tr.drive(w, c); err != nil {
		return err
	}
	return ended(w.Stop())
}

// beliefs is what the clients know.
func (w *world) beliefs() string {
	var s []string
	for _, o := range w.objects {
		s = append(s, o.name+" is known to be ("+o.belief.String()+")")
	}
	return strings.Join(s, ", ")
}

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

func TestADaemonKilledAtAnyCallLosesNothingAndLeavesNothing(t *testing.T) {
	t.Parallel()
	everyCall(t, trial{
		world: func(t *testing.T) *world {
			net := newNetwork(1)
			w := newWorld(t, net)
			w.objects = append(w.objects, newDomain(1, net, w.disk(1, nil)))
			return w
		},
		before: (*world).wipe,
		drive:  life,
		after: func(w *world) error {
			return w.serve(func(c *client.Client) error {
				if err := w.verify(c); err != nil {
					return err
				}
				return w.again(c)
			})
		},
	})
}

// TestADaemonKilledWhileItTakesOverLosesNothing has, at every start of a daemon, a network and guests that run, one that
// is paused, and one whose QEMU ended while no daemon was there.
func TestADaemonKilledWhileItTakesOverLosesNothing(t *testing.T) {
	t.Parallel()
	everyCall(t, trial{
		world: func(t *testing.T) *world {
			net := newNetwork(1)
			w := newWorld(t, net)
			for n := range 3 {
				w.objects = append(w.objects, newDomain(1+n, net, w.disk(1+n, nil)))
			}
			t.Cleanup(func() {
				if !t.Failed() {
					if err := w.serve(w.again); err != nil {
						t.Error(err)
					}
				}
			})
			return w
		},
		before: func(w *world) error {
			if err := w.serve(w.populate); err != nil {
				return err
			}
			return w.endQEMU(w.objects[3])
		},
		drive: (*world).verify,
		after: func(w *world) error { return w.serve(w.verify) },
	})
}

// populate brings about what a daemon takes over: of the guests the second is paused.
func (w *world) populate(c *client.Client) error {
	for _, o := range w.objects {
		var steps []func(*object) step
		switch {
		case o.defined == no:
			steps = []func(*object) step{define, start}
		case o.active == no:
			steps = []func(*object) step{start}
		}
		if o == w.objects[2] && o.paused == no {
			steps = append(steps, suspend)
		}
		for _, next := range steps {
			if err := w.do(c, next(o)); err != nil {
				return err
			}
		}
	}
	return nil
}
