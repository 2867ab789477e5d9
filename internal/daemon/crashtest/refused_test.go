package crashtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/api/virterr"
)

// refusals are how many calls the kernel refuses at a time: one, after which the daemon goes back at once; so many that some of
// what leads back is refused; and all until the start is over, so that nothing goes back before it is tried again.
var refusals = map[string]int{"one call": 1, "several in a row": 4, "all that follow": 1 << 30}

// refusedStart has the kernel refuse calls of a start, at every stage of it: the first, the first after those of a stride, and
// so on until the start has fewer. After each that failed nothing is there, and the next one succeeds.
func refusedStart(t *testing.T, w *world, o *object, stride, many int) {
	t.Helper()
	x, err := w.Refusals()
	if err != nil {
		t.Fatal(err)
	}
	failed, went := 0, 0
	err = w.serve(func(c *client.Client) error {
		for _, other := range w.objects {
			if err := w.do(c, define(other)); err != nil {
				return err
			}
			if other == o {
				break
			}
			if err := w.do(c, start(other)); err != nil {
				return err
			}
		}
		for at := 1; ; at += stride {
			var serr error
			call := x.During(at, many, func() { serr = w.do(c, start(o)) })
			if call == "" {
				if serr != nil {
					return fmt.Errorf("no call was refused: %w", serr)
				}
				return errors.Join(w.verify(c), w.away(c))
			}
			said := fmt.Sprint(serr)
			where := func(err error) error {
				return fmt.Errorf("%d calls refused from call %d (%s) on; the start said %s: %w", many, at, call, said, err)
			}
			if many > 1 {
				w.sweepHalfWritten()
			}
			if serr != nil {
				var answer *virterr.Error
				if !errors.As(serr, &answer) || strings.TrimSpace(answer.Detail) == "" {
					return where(errors.New("that is no answer"))
				}
				failed++
				if err := w.verify(c); err != nil {
					return where(err)
				}
				if err := w.do(c, start(o)); err != nil {
					return where(fmt.Errorf("and again, when nothing was refused: %w", err))
				}
			} else {
				went++
			}
			if err := w.do(c, destroy(o)); err != nil {
				return where(err)
			}
			if err := w.verify(c); err != nil {
				return where(err)
			}
		}
	})
	t.Logf("%d starts failed, %d did without the calls that were refused", failed, went)
	if err != nil {
		t.Errorf("%v\n%s", err, w.Said())
	}
	if failed == 0 {
		t.Error("no start failed")
	}
}

// sweepHalfWritten removes files that were to be written and whose removal was refused as well: the next daemon does that.
func (w *world) sweepHalfWritten() {
	for _, dir := range []string{w.Paths().ActiveNetworks(), w.Paths().Records()} {
		if _, err := w.k.SweepTemp(dir); err != nil {
			w.t.Error(err)
		}
	}
}

// strideOf is 1 in the long run.
func strideOf(usual int) int {
	if long() {
		return 1
	}
	return usual
}

func TestNetworkStart_ThatIsRefusedAtAnyCallLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, many := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			net := newNetwork(1)
			refusedStart(t, newWorld(t, net), net, strideOf(4), many)
		})
	}
}

// TestNetworkStop_ThatIsRefusedAtAnyCallIsToldAndConverges has the kernel refuse calls of a stop, at every stage of it. What clients are told
// of the network afterwards is true on the host, and the next stop and the next start succeed.
func TestNetworkStop_ThatIsRefusedAtAnyCallIsToldAndConverges(t *testing.T) {
	t.Parallel()
	for name, many := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			net := newNetwork(1)
			results := refusedStop(t, newWorld(t, net), net, strideOf(4), many)
			t.Logf("stops: %v", results)
			// After one call the network is put back; where nothing can be done, it is stopped later.
			want := map[string]stopped{"one call": {failed: true, active: true}, "all that follow": {failed: true}}[name]
			if results[want] == 0 {
				t.Errorf("no stop ended as %+v", want)
			}
		})
	}
}

// stopped is how a stop ended: with an error, and what clients are told of the network afterwards.
type stopped struct{ failed, active bool }

func refusedStop(t *testing.T, w *world, o *object, stride, many int) (results map[stopped]int) {
	t.Helper()
	x, err := w.Refusals()
	if err != nil {
		t.Fatal(err)
	}
	results = map[stopped]int{}
	round := func(c *client.Client, at int) (over bool, err error) {
		if err := errors.Join(w.do(c, start(o)), w.verify(c)); err != nil {
			return false, err
		}
		var failed error
		call := x.During(at, many, func() { failed = w.do(c, destroy(o)) })
		said := fmt.Sprint(failed)
		where := func(err error) error {
			return fmt.Errorf("%d calls refused from call %d (%s) on; the stop said %s: %w", many, at, call, said, err)
		}
		if many > 1 {
			w.sweepHalfWritten()
		}
		if failed != nil {
			o.active = maybe
		}
		if err := w.verify(c); err != nil {
			return false, where(err)
		}
		results[stopped{failed != nil, o.active == yes}]++
		if failed == nil && o.active == yes {
			return false, where(errors.New("it is active"))
		}
		if o.active == yes {
			if err := errors.Join(w.do(c, destroy(o)), w.verify(c)); err != nil {
				return false, where(err)
			}
		}
		return call == "", nil
	}
	err = w.serve(func(c *client.Client) error {
		if err := w.do(c, define(o)); err != nil {
			return err
		}
		for at := 1; ; at += stride {
			if over, err := round(c, at); over || err != nil {
				return errors.Join(err, w.away(c))
			}
		}
	})
	if err != nil {
		t.Errorf("%v\n%s", err, w.Said())
	}
	return results
}

func TestGuestStart_ThatIsRefusedAtAnyCallLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, many := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			net := newNetwork(1)
			w := newWorld(t, net)
			guest := newDomain(1, net, w.disk(1, nil))
			w.objects = append(w.objects, guest)
			refusedStart(t, w, guest, strideOf(9), many)
		})
	}
}

// TestNetworkStart_WithoutAHelperLeavesNothing has a start fail at the process that is to serve the network, which cannot be
// started on the way back either.
func TestNetworkStart_WithoutAHelperLeavesNothing(t *testing.T) {
	t.Parallel()
	net := newNetwork(1)
	w := newWorld(t, net)
	x, err := w.Refusals()
	if err != nil {
		t.Fatal(err)
	}
	err = w.serve(func(c *client.Client) error {
		if err := w.do(c, define(net)); err != nil {
			return err
		}
		var failed, looked error
		refused := x.Always("process start taproom-vnet", func() {
			failed = w.do(c, start(net))
			looked = w.verify(c)
		})
		if !refused || failed == nil || looked != nil {
			return fmt.Errorf("refused %v, the start said %w, then %w", refused, failed, looked)
		}
		return errors.Join(w.do(c, start(net)), w.verify(c), w.away(c))
	})
	if err != nil {
		t.Errorf("%v\n%s", err, w.Said())
	}
}
