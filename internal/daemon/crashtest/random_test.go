package crashtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"taproom/internal/api/virterr"
)

// Kills in the run of all tests, and in the long one (TAPROOM_LONG=1).
const (
	kills     = 200
	killsLong = 1000
)

// long reports whether the long run was asked for.
func long() bool { return os.Getenv("TAPROOM_LONG") != "" }

// seed is TAPROOM_SEED, or another one each time. The clients' choices follow from it; the kernel's timing does not.
func seed(t *testing.T) uint64 {
	t.Helper()
	s := uint64(time.Now().UnixNano())
	if v := os.Getenv("TAPROOM_SEED"); v != "" {
		var err error
		if s, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatalf("TAPROOM_SEED: %v", err)
		}
	}
	t.Logf("TAPROOM_SEED=%d", s)
	return s
}

// The longest time a daemon lives: a little more than a start of a guest and what belongs to it takes, and than a takeover.
const (
	lifetime = 600 * time.Millisecond
	infancy  = 80 * time.Millisecond
)

// TestADaemonKilledAtRandomTimesLosesNothingAndLeavesNothing has two clients at work, one on a guest, one on another guest
// and on the network of both, on a daemon that is killed again and again, in the middle of the takeover as well.
func TestADaemonKilledAtRandomTimesLosesNothingAndLeavesNothing(t *testing.T) {
	t.Parallel()
	s, want := seed(t), int64(kills)
	if long() {
		want = killsLong
	}
	var done atomic.Int64
	var wg sync.WaitGroup
	for n := range 2 {
		net := newNetwork(1)
		w := newWorld(t, net)
		w.objects = append(w.objects, newDomain(1, net, w.disk(1, nil)), newDomain(2, net, w.disk(2, nil)))
		r := rand.New(rand.NewPCG(s, uint64(n)))
		wg.Go(func() {
			for i := done.Add(1); i <= want; i = done.Add(1) {
				if err := w.round(r); err != nil {
					t.Errorf("kill %d: %v", i, err)
					done.Store(want)
					return
				}
			}
			w.Kill()
			if err := w.serve(w.again); err != nil {
				t.Errorf("after the last kill: %v", err)
			}
		})
	}
	wg.Wait()
}

// round kills the daemon once, starts it again and checks everything. The daemon is left running.
func (w *world) round(r *rand.Rand) error {
	err := w.live(r)
	if !errors.Is(err, errBroken) {
		return fmt.Errorf("the daemon was to be killed, and: %w\n%s", err, w.Said())
	}
	<-w.Ended()
	known := w.beliefs()
	if err := w.Start(); err != nil {
		return fmt.Errorf("start again: %w", err)
	}
	c, err := w.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := w.verify(c); err != nil {
		return fmt.Errorf("%s: %w", known, err)
	}
	if r.IntN(10) == 0 { // what the kills before have left behind would be found now
		return w.again(c)
	}
	return nil
}

// live lets clients work on a daemon until it is killed: the one that runs, or one that starts now.
func (w *world) live(r *rand.Rand) error {
	if !w.Alive() || r.IntN(3) == 0 {
		w.Kill()
		serves, err := w.Launch()
		if err != nil {
			return err
		}
		w.KillIn(time.Duration(r.Int64N(int64(infancy))))
		if err := serves(); err != nil {
			if w.Alive() {
				return err
			}
			return fmt.Errorf("%w: %w", errBroken, err)
		}
	} else {
		w.KillIn(time.Duration(r.Int64N(int64(lifetime))))
	}
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, mine := range [][]*object{w.objects[1:2], {w.objects[0], w.objects[2]}} {
		own := rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))
		wg.Go(func() { errs[i] = w.work(own, mine) })
	}
	wg.Wait()
	for _, err := range errs {
		if !errors.Is(err, errBroken) {
			w.Kill()
			return err
		}
	}
	return errBroken
}

// work asks for one thing after the other until the daemon is gone.
func (w *world) work(r *rand.Rand, mine []*object) error {
	c, err := w.Dial()
	if err != nil {
		return broken(err)
	}
	defer c.Close()
	for {
		o := mine[r.IntN(len(mine))]
		can := possible(o)
		err := w.do(c, can[r.IntN(len(can))](o))
		if err != nil && !refusedForTheNetwork(o, err) {
			return err
		}
	}
}

// possible are the requests that make sense for an object as it is.
func possible(o *object) []func(*object) step {
	var can []func(*object) step
	if o.defined == no {
		can = append(can, define)
	} else {
		can = append(can, undefine)
	}
	network := o.kind == "network"
	switch {
	case o.active == yes:
		can = append(can, destroy)
	case o.defined == yes:
		can = append(can, start, up, create)
	case network:
		can = append(can, up, create)
	default:
		can = append(can, create)
	}
	switch {
	case network:
		can = append(can, addHost)
		if o.active == yes && o.hostLive == yes {
			can = append(can, dropHost)
		}
	case o.active == yes && o.paused == yes:
		can = append(can, resume)
	case o.active == yes:
		can = append(can, suspend)
	case o.defined == yes:
		can = append(can, startPaused)
	}
	return can
}

// refusedForTheNetwork reports whether a guest was not started since the other client has stopped its network, which is
// the one good reason.
func refusedForTheNetwork(o *object, err error) bool {
	var refused *virterr.Error
	return o.kind == "domain" && o.active == no && errors.As(err, &refused) && strings.Contains(refused.Error(), "net1")
}
