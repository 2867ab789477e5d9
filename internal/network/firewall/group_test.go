package firewall_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
)

// gate is a Backend whose first Apply waits until it is let go, so that requests gather behind it. It counts.
type gate struct {
	firewall.Backend
	entered chan struct{} // closed when the first Apply has begun
	release chan struct{}

	mu    sync.Mutex
	calls [][]element // what was added, call by call
	fail  error       // what every later Apply gives
}

func newGate(b firewall.Backend) *gate {
	return &gate{Backend: b, entered: make(chan struct{}), release: make(chan struct{})}
}

func (g *gate) Apply(ctx context.Context, add, del []element) error {
	g.mu.Lock()
	g.calls = append(g.calls, add)
	first, fail := len(g.calls) == 1, g.fail
	g.mu.Unlock()
	if first {
		close(g.entered)
		<-g.release
		return g.Backend.Apply(ctx, add, del)
	}
	if fail != nil {
		return fail
	}
	return g.Backend.Apply(ctx, add, del)
}

func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.calls)
}

// gather sends a first request that holds the gate, queues the others behind it, lets go and returns their errors.
func gather(t *testing.T, below *gate, others [][2][]element) []error {
	t.Helper()
	g := firewall.NewGroup(below)
	ctx := context.Background()
	var first errgroup.Group
	first.Go(func() error { return g.Apply(ctx, network("first", "10.0.0.0", 24), nil) })
	<-below.entered
	errs := make([]error, len(others))
	var rest errgroup.Group
	for i, o := range others {
		rest.Go(func() error {
			errs[i] = g.Apply(ctx, o[0], o[1])
			return nil
		})
		g.AwaitWaiting(i + 1)
	}
	close(below.release)
	if err := errors.Join(first.Wait(), rest.Wait()); err != nil {
		t.Fatal(err)
	}
	return errs
}

func joins(n int) (out [][2][]element) {
	for i := range n {
		out = append(out, [2][]element{network(fmt.Sprintf("virbr%d", i), fmt.Sprintf("10.1.%d.0", i), 24), nil})
	}
	return out
}

func TestRequestsThatCameTogetherAreOneTransaction(t *testing.T) {
	onBoth(t, func(t *testing.T, b nft.Backend) {
		f := firewall.New(b, firewall.DefaultTable)
		below := newGate(f)
		all := joins(20)
		for i, err := range gather(t, below, all) {
			if err != nil {
				t.Errorf("request %d: %v", i, err)
			}
		}
		if n := below.count(); n != 2 {
			t.Errorf("%d transactions for 1 and 20 requests; want 2", n)
		}
		want := [][]element{network("first", "10.0.0.0", 24)}
		for _, a := range all {
			want = append(want, a[0])
		}
		observed(t, f, want...)
	})
}

func TestTheGuiltyRequestAloneFails(t *testing.T) {
	onBoth(t, func(t *testing.T, b nft.Backend) {
		for _, guilty := range [][]int{{0}, {7}, {3, 4}, {12}} {
			f := firewall.New(b, firewall.DefaultTable)
			below := newGate(f)
			all := joins(13)
			for _, i := range guilty {
				all[i][0] = append(all[i][0], element{Set: "net24", Key: "virbr0 . 10.0.0.1"})
			}
			bad := map[int]bool{}
			for _, i := range guilty {
				bad[i] = true
			}
			want := [][]element{network("first", "10.0.0.0", 24)}
			for i, err := range gather(t, below, all) {
				if bad[i] != errors.Is(err, firewall.ErrElement) || !bad[i] && err != nil {
					t.Errorf("guilty %v: request %d gave %v", guilty, i, err)
				}
				if !bad[i] {
					want = append(want, all[i][0])
				}
			}
			observed(t, f, want...)
			for _, w := range want {
				apply(t, f, nil, w)
			}
		}
	})
}

func TestRequestsTakeEffectInTheOrderTheyCame(t *testing.T) {
	t.Parallel()
	f := firewall.New(&nft.Fake{}, firewall.DefaultTable)
	a, b := network("virbr0", "10.1.0.0", 24), network("virbr1", "10.2.0.0", 24)
	errs := gather(t, newGate(f), [][2][]element{{a, nil}, {b, nil}, {nil, a}, {nil, b}, {b, nil}})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	observed(t, f, network("first", "10.0.0.0", 24), b)
}

func TestALostAnswerIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	below := newGate(firewall.New(&nft.Fake{}, firewall.DefaultTable))
	below.fail = fmt.Errorf("commit: %w", nft.ErrAnswerLost)
	for i, err := range gather(t, below, joins(8)) {
		if !errors.Is(err, nft.ErrAnswerLost) {
			t.Errorf("request %d gave %v", i, err)
		}
	}
	if n := below.count(); n != 2 {
		t.Errorf("%d transactions; want 2", n)
	}
}

func TestACallerThatGivesUpLeavesTheQueueAndTheOthersStay(t *testing.T) {
	t.Parallel()
	f := firewall.New(&nft.Fake{}, firewall.DefaultTable)
	below := newGate(f)
	g := firewall.NewGroup(below)
	var wait errgroup.Group
	a, b, c := network("first", "10.0.0.0", 24), network("gone", "10.1.0.0", 24), network("stays", "10.2.0.0", 24)
	leader, leave := context.WithCancel(context.Background())
	wait.Go(func() error { return g.Apply(leader, a, nil) })
	<-below.entered
	leave() // it is being applied already: that goes on
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan error, 1)
	wait.Go(func() error { gone <- g.Apply(ctx, b, nil); return nil })
	g.AwaitWaiting(1)
	wait.Go(func() error { return g.Apply(context.Background(), c, nil) })
	g.AwaitWaiting(2)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that gave up got %v", err)
	}
	close(below.release)
	if err := wait.Wait(); err != nil {
		t.Fatal(err)
	}
	observed(t, f, a, c)
	if err := g.Apply(ctx, b, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("apply with an ended context gave %v", err)
	}
}

func TestManyCallersAtOnceAllGetTheirs(t *testing.T) {
	onBoth(t, func(t *testing.T, b nft.Backend) {
		f := firewall.New(b, firewall.DefaultTable)
		g := firewall.NewGroup(f)
		var wait errgroup.Group
		for i, o := range joins(100) {
			wait.Go(func() error {
				if err := g.Apply(context.Background(), o[0], nil); err != nil {
					return fmt.Errorf("join %d: %w", i, err)
				}
				got, err := g.Observe(context.Background())
				if err != nil {
					return err
				}
				have := map[element]bool{}
				for _, e := range got {
					have[e] = true
				}
				for _, e := range o[0] {
					if !have[e] {
						return fmt.Errorf("join %d returned before %v was there", i, e)
					}
				}
				return nil
			})
		}
		if err := wait.Wait(); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(f.Render(joins(1)[0][0], nil), g.Render(joins(1)[0][0], nil)); d != "" {
			t.Errorf("render (-firewall +group):\n%s", d)
		}
	})
}
