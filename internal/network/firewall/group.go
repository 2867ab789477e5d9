package firewall

import (
	"context"
	"errors"
	"slices"
	"sync"

	"taproom/internal/host/nft"
	"taproom/internal/network/state"
)

// Group merges the changes of callers that come together into one transaction of the Backend below. When that fails it
// is halved until the guilty request alone has failed; the others are in force when their Apply returns.
//
// It has no goroutine of its own: whoever comes while nobody serves serves all that wait. Requests take effect in the
// order they came.
type Group struct {
	below Backend
	serve chan struct{} // holds a token while somebody serves

	mu    sync.Mutex
	queue []*request
}

type request struct {
	add, del []Element
	done     chan struct{} // closed when err is set
	err      error
}

var _ Backend = (*Group)(nil)

// NewGroup returns a Group on a Backend.
func NewGroup(below Backend) *Group {
	return &Group{below: below, serve: make(chan struct{}, 1)}
}

// Observe asks the Backend below.
func (g *Group) Observe(ctx context.Context, only ...Element) ([]Element, error) {
	return g.below.Observe(ctx, only...)
}

// Render asks the Backend below.
func (g *Group) Render(add, del []Element) []string { return g.below.Render(add, del) }

// Traffic asks the Backend below.
func (g *Group) Traffic(ctx context.Context) (map[string]Traffic, error) {
	return TrafficOf(ctx, g.below)
}

// Probe asks the Backend below.
func (g *Group) Probe(ctx context.Context) (gone bool, err error) { return ProbeOf(ctx, g.below) }

// Unprobe asks the Backend below.
func (g *Group) Unprobe(ctx context.Context) error { return UnprobeOf(ctx, g.below) }

// Watch has the Backend below watch, if it can; else nothing is noticed.
func (g *Group) Watch(ctx context.Context, changed func(who string)) error {
	w, ok := g.below.(state.FirewallWatcher)
	if !ok {
		return nil
	}
	return w.Watch(ctx, changed)
}

// Apply joins a transaction with others. A caller whose context ends leaves the queue; once its request is being applied
// it gets the result all the same.
func (g *Group) Apply(ctx context.Context, add, del []Element) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := &request{add: add, del: del, done: make(chan struct{})}
	g.mu.Lock()
	g.queue = append(g.queue, r)
	g.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case g.serve <- struct{}{}:
	case <-ctx.Done():
		if g.withdraw(r) {
			return ctx.Err()
		}
		<-r.done
		return r.err
	}
	g.mu.Lock()
	all := g.queue
	g.queue = nil
	g.mu.Unlock()
	// One caller that gives up must not take the others' changes with it.
	g.apply(context.WithoutCancel(ctx), all)
	for _, x := range all {
		close(x.done)
	}
	<-g.serve
	<-r.done // it was among all, or had been served just before
	return r.err
}

// withdraw takes a request out of the queue; false when somebody has taken it already.
func (g *Group) withdraw(r *request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.queue, r)
	if i < 0 {
		return false
	}
	g.queue = slices.Delete(g.queue, i, i+1)
	return true
}

func (g *Group) apply(ctx context.Context, all []*request) {
	if len(all) == 0 {
		return
	}
	add, del := merge(all)
	err := g.below.Apply(ctx, add, del)
	if err == nil || len(all) == 1 || !attributable(err) {
		for _, r := range all {
			r.err = err
		}
		return
	}
	g.apply(ctx, all[:len(all)/2])
	g.apply(ctx, all[len(all)/2:])
}

// attributable reports whether a failure can be one request's fault. When the answer was lost, or nf_tables would not
// hold still, halving asks the same question again.
func attributable(err error) bool {
	return !errors.Is(err, nft.ErrAnswerLost) && !errors.Is(err, nft.ErrChanged) && !errors.Is(err, nft.ErrInterrupted)
}

// merge says what all requests together come to: of two about the same element the later wins, and within one a
// deletion wins.
func merge(all []*request) (add, del []Element) {
	want := map[Element]bool{}
	for _, r := range all {
		for _, e := range r.add {
			want[e] = true
		}
		for _, e := range r.del {
			want[e] = false
		}
	}
	for e, in := range want {
		if in {
			add = append(add, e)
		} else {
			del = append(del, e)
		}
	}
	slices.SortFunc(add, compare)
	slices.SortFunc(del, compare)
	return add, del
}
