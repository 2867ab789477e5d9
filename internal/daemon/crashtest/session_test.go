package crashtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/host"
	"taproom/internal/qemu/emutest"
)

// newSession is newWorld for the daemon of a user without root, whose guests have no cgroups.
func newSession(t *testing.T, guests int) *world {
	t.Helper()
	w := &world{Daemon: daemontest.PrepareSession(t), t: t}
	w.k = w.NS.Kernel()
	for n := 1; n <= guests; n++ {
		w.ownDisk(n)
		w.objects = append(w.objects, newDomain(n, nil, w.diskPath(n), "", "<interface type='user'><model type='virtio'/></interface>"))
	}
	return w
}

// ownDisk makes a disk that is the user's.
func (w *world) ownDisk(n int) {
	w.t.Helper()
	uid := int(w.User().ID)
	if err := os.Chown(w.disk(n, nil), uid, uid); err != nil {
		w.t.Fatal(err)
	}
}

// wipeUser makes the user's directories as they were when the daemon had never run.
func (w *world) wipeUser() error {
	var errs []error
	for _, dir := range []string{w.User().Home(), filepath.Dir(w.Paths().LibvirtRun)} {
		entries, err := os.ReadDir(dir)
		errs = append(errs, err)
		for _, e := range entries {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// userProcesses compares what runs of the user with the guests that are active.
func (w *world) userProcesses(seen map[string]sight) []string {
	var want []int
	for _, d := range w.active(seen, "domain") {
		want = append(want, seen[d.name].pid)
	}
	var wrong []string
	for _, pid := range w.Processes() {
		if !slices.Contains(want, pid) && !w.ends(pid) {
			wrong = append(wrong, fmt.Sprintf("process %d of the user is no guest that is listed", pid))
		}
	}
	return wrong
}

// ends reports whether a process is just ending, as one that was tied to the daemon is when that was killed.
func (w *world) ends(pid int) bool {
	p, err := w.k.OpenPID(pid, 0)
	if err != nil {
		return errors.Is(err, host.ErrGone)
	}
	defer p.Close()
	ctx, cancel := emutest.Context(context.Background())
	defer cancel()
	return p.Wait(ctx) == nil
}

// TestASessionsDaemonKilledAtAnyCallLosesNothingAndLeavesNothing has no cgroups to find guests by.
func TestASessionsDaemonKilledAtAnyCallLosesNothingAndLeavesNothing(t *testing.T) {
	t.Parallel()
	everyCall(t, trial{
		world: func(t *testing.T) *world { return newSession(t, 2) },
		before: func(w *world) error {
			return errors.Join(w.wipeUser(), os.Remove(w.diskPath(2)))
		},
		drive: func(w *world, c *client.Client) error {
			guest, broken := w.objects[0], w.objects[1]
			for _, next := range []func() step{
				func() step { return define(guest) },
				func() step { return define(broken) },
				func() step { return refused(start(broken)) },
				func() step { return undefine(broken) },
				func() step { return start(guest) },
				func() step { return suspend(guest) },
				func() step { return undefine(guest) },
				func() step { return destroy(guest) },
			} {
				if err := w.do(c, next()); err != nil {
					return err
				}
			}
			return nil
		},
		after: func(w *world) error {
			w.ownDisk(2)
			return w.serve(func(c *client.Client) error {
				if err := w.verify(c); err != nil {
					return err
				}
				if w.rounds++; long() || w.rounds%4 == 0 {
					return w.again(c)
				}
				return w.away(c)
			})
		},
	})
}

// TestASessionsDaemonKilledWhileItTakesOverLosesNothing has one guest that runs at every start of a daemon, and one whose
// QEMU ended while no daemon was there.
func TestASessionsDaemonKilledWhileItTakesOverLosesNothing(t *testing.T) {
	t.Parallel()
	everyCall(t, trial{
		world: func(t *testing.T) *world {
			w := newSession(t, 2)
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
			err := w.serve(func(c *client.Client) error {
				for _, o := range w.objects {
					if o.defined == no {
						if err := w.do(c, define(o)); err != nil {
							return err
						}
					}
					if o.active == no {
						if err := w.do(c, start(o)); err != nil {
							return err
						}
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			return w.endQEMU(w.objects[1])
		},
		drive: (*world).verify,
		after: func(w *world) error { return w.serve(w.verify) },
	})
}
