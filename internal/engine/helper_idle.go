package engine

import (
	"context"
	"errors"
	"sync"

	"taproom/internal/spec"
)

// idle orders "the last network went" against "a network comes", for the helper process.
type idle struct {
	mu     sync.Mutex // held while the helper ends
	coming map[*network]bool
}

// comes keeps the network helper for a network that is being started, until the function it returns is called. It waits for
// a helper that is just ending, and for nothing else. One that is not served needs none.
func (e *Engine) comes(n *network, doc *spec.Network) (came func()) {
	if !e.serves(doc) && !e.leadsFromLoopback(doc) {
		return func() {}
	}
	e.idle.mu.Lock()
	defer e.idle.mu.Unlock()
	if e.idle.coming == nil {
		e.idle.coming = map[*network]bool{}
	}
	e.idle.coming[n] = true
	return func() {
		e.idle.mu.Lock()
		defer e.idle.mu.Unlock()
		delete(e.idle.coming, n)
	}
}

// helperIfIdle ends the network helper when no network needs it, and likewise the process for ports of the loopback. After a
// failure it tries again until it succeeds.
func (e *Engine) helperIfIdle(ctx context.Context) {
	err := e.stopIdle(ctx)
	if err == nil {
		return
	}
	what := err.Error() + "; it is tried again"
	e.problem.add(e.log, what)
	e.work.Go(func() {
		tryAgain(e.ctx, func(ctx context.Context) error {
			err := e.stopIdle(ctx)
			if err == nil {
				e.problem.solved(what)
			}
			return err
		})
	})
}

// stopIdle is a single attempt of helperIfIdle.
func (e *Engine) stopIdle(ctx context.Context) error {
	e.idle.mu.Lock()
	defer e.idle.mu.Unlock()
	if len(e.idle.coming) > 0 { // a network start that fails calls helperIfIdle again
		return nil
	}
	served, leads := false, false
	for _, n := range e.networks.all() {
		if live := n.view().live; live != nil {
			served, leads = served || e.serves(live), leads || e.leadsFromLoopback(live)
		}
	}
	var errs []error
	for _, p := range []struct {
		*helperService
		needed bool
	}{{e.helper, served}, {e.loopback, leads}} {
		if !p.needed {
			errs = append(errs, p.stopIfIdle(ctx))
		}
	}
	return errors.Join(errs...)
}
