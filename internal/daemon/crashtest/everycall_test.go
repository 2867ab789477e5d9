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

// usual is at which calls a daemon is killed where the trial does not say: one in so many; each of them in the long run (make crash).
const usual = 8

// side is how many daemons are killed side by side.
const side = 3

// trial is what a daemon is killed in the middle of. Between two runs the daemon is dead.
type trial struct {
	world  func(t *testing.T) *world
	before func(w *world) error                   // what there is when the daemon starts
	drive  func(w *world, c *client.Client) error // what clients do
	after  func(w *world) error                   // what must hold when it was killed, or was not
	stride int                                    // outside of the long run, it is killed at every so many calls; 0 is one in usual
	alone  bool                                   // there is one world, since each costs much; in the long run the stride is a small one
}

// everyCall runs a trial without a crash, which counts the calls, and then kills the daemon at the first, the second and
// so on, until one gets to its end.
func everyCall(t *testing.T, tr trial) {
	switch {
	case long() && tr.alone:
		tr.stride = max(1, tr.stride/25)
	case long():
		tr.stride = 1
	case tr.stride == 0:
		tr.stride = usual
	}
	sides := side
	if tr.alone {
		one := tr.world(t)
		tr.world, sides = func(*testing.T) *world { return one }, 1
	}
	reference := reference(t, tr)
	var (
		next, covered atomic.Int64
		over          atomic.Bool
		wg            sync.WaitGroup
		mu            sync.Mutex
		shortest      = len(reference) // of the runs that got to their end
	)
	for range sides {
		w := tr.world(t)
		wg.Go(func() {
			for !over.Load() {
				at := int(next.Add(1)) * tr.stride
				calls, killed, err := tr.once(w, daemontest.CrashAt(at))
				switch {
				case err != nil:
					t.Errorf("killed at call %d of %d (%s): %v", at, len(reference), calls[len(calls)-1], err)
					over.Store(true)
				case killed:
					covered.Add(1)
				default: // it made fewer calls, and at each of those a daemon was killed
					mu.Lock()
					shortest = min(shortest, len(calls))
					mu.Unlock()
					if at > len(reference) {
						over.Store(true)
					}
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d calls without a crash, in the shortest run %d; killed at %d", len(reference), shortest, covered.Load())
	if int(covered.Load()) < shortest/tr.stride {
		t.Errorf("killed at %d calls, and there are %d", covered.Load(), shortest)
	}
}

// reference are the calls of a run without a crash.
func reference(t *testing.T, tr trial) []string {
	t.Helper()
	calls, killed, err := tr.once(tr.world(t))
	if err != nil || killed {
		t.Fatalf("without a crash: killed %v, error %v", killed, err)
	}
	return calls
}

// once runs a trial and checks what is left of it. It returns the calls that the daemon made.
func (tr trial) once(w *world, o ...daemontest.Option) (calls []string, killed bool, err error) {
	if err := tr.before(w); err != nil {
		return []string{"none yet"}, false, err
	}
	calls, killed, err = tr.run(w, o...)
	if err != nil {
		return calls, killed, fmt.Errorf("%w\n%s", err, w.Said())
	}
	known := w.beliefs()
	if err := tr.after(w); err != nil {
		return calls, killed, fmt.Errorf("%s: %w\n%s", known, err, w.Said())
	}
	return calls, killed, nil
}

// run runs a daemon until it has stopped or was killed, and returns the calls it made.
func (tr trial) run(w *world, o ...daemontest.Option) (calls []string, killed bool, err error) {
	path := filepath.Join(w.Root, "calls")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return nil, false, err
	}
	if u := w.User(); u != nil {
		if err := os.Chown(path, int(u.ID), int(u.ID)); err != nil {
			return nil, false, err
		}
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

// life is everything that can happen to a network and a guest on it, and a guest that cannot be started.
func life(w *world, c *client.Client) error {
	net, guest, broken := w.objects[0], w.objects[1], w.objects[2]
	for _, next := range []func() step{
		func() step { return define(net) },
		func() step { return start(net) },
		func() step { return define(guest) },
		func() step { return define(broken) },
		func() step { return refused(start(broken)) },
		func() step { return undefine(broken) },
		func() step { return start(guest) },
		func() step { return suspend(guest) },
		func() step { return resume(guest) },
		func() step { return addHost(net) },
		func() step { return dropHost(net) },
		func() step { return addHost(net) }, // the definition had it all the time
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
			w.objects = append(w.objects, newDomain(1, net, w.disk(1, nil)), newDomain(2, net, w.disk(2, nil)))
			return w
		},
		before: func(w *world) error {
			return errors.Join(w.wipe(), os.Remove(w.diskPath(2)))
		},
		drive: life,
		after: func(w *world) error {
			w.disk(2, nil)
			return w.serve(func(c *client.Client) error {
				if err := w.verify(c); err != nil {
					return err
				}
				// A quarter of the times will do to see that everything can run again; it takes a third of the test's time.
				if w.rounds++; long() || w.rounds%4 == 0 {
					return w.again(c)
				}
				return w.away(c)
			})
		},
	})
}

// TestADaemonKilledWhileItTakesOverLosesNothing has, at every start of a daemon, a network and guests that run, one that
// is paused, and one whose QEMU ended while no daemon was there; in the long run one that has powered itself off as well.
func TestADaemonKilledWhileItTakesOverLosesNothing(t *testing.T) {
	t.Parallel()
	everyCall(t, trial{
		world: func(t *testing.T) *world {
			net := newNetwork(1)
			w := newWorld(t, net)
			for n := range 3 {
				w.objects = append(w.objects, newDomain(1+n, net, w.disk(1+n, nil)))
			}
			if long() {
				w.objects = append(w.objects, newDomain(4, nil, w.disk(4, bootSector)))
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
			if long() {
				if err := w.tell(w.objects[4], "o", "SHUTDOWN"); err != nil {
					return err
				}
				w.objects[4].active, w.objects[4].pid = no, 0
			}
			return w.endQEMU(w.objects[3])
		},
		drive: (*world).verify,
		after: func(w *world) error { return w.serve(w.verify) },
	})
}

// TestADaemonKilledWhileItStartsWhatStartsByItselfStartsAllOfIt has a machine that has just booted.
func TestADaemonKilledWhileItStartsWhatStartsByItselfStartsAllOfIt(t *testing.T) {
	t.Parallel()
	everyCall(t, trial{
		world: func(t *testing.T) *world {
			net := newNetwork(1)
			w := newWorld(t, net)
			w.objects = append(w.objects, newDomain(1, net, w.disk(1, nil)))
			return w
		},
		before: func(w *world) error {
			if err := w.wipe(); err != nil {
				return err
			}
			err := w.serve(func(c *client.Client) error {
				for _, o := range w.objects {
					if err := errors.Join(w.do(c, define(o)), w.do(c, autostart(o))); err != nil {
						return err
					}
					o.active = yes
				}
				return nil
			})
			return errors.Join(err, os.RemoveAll(filepath.Join(w.Root, "run")))
		},
		drive: (*world).verify,
		after: func(w *world) error {
			return w.serve(func(c *client.Client) error { return errors.Join(w.verify(c), w.away(c)) })
		},
	})
}

// populate brings about what a daemon takes over: of the guests the second is paused.
func (w *world) populate(c *client.Client) error {
	if long() {
		if err := w.boot(c, w.objects[4]); err != nil {
			return err
		}
	}
	for _, o := range w.objects[:4] {
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
