package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// leftovers are guests that ended and could not be cleared away: descriptors or room had run out. Each is tried again
// until nothing of it is left, and nobody gets its names and numbers before.
type leftovers struct {
	mu     sync.Mutex
	byUUID map[spec.UUID]*leftover
}

type leftover struct {
	mu   sync.Mutex
	d    *domain
	rec  record
	gone bool
}

// First and longest pause between two attempts.
const (
	againAfter  = 200 * time.Millisecond
	againWithin = 30 * time.Second
)

// clearAway removes everything that a record names, now or, when that fails, as soon as it can be. The error is of the
// first attempt.
func (e *Engine) clearAway(ctx context.Context, d *domain, rec record) error {
	err := e.release(ctx, d, rec)
	if err == nil {
		return nil
	}
	l := &leftover{d: d, rec: rec}
	e.left.mu.Lock()
	if e.left.byUUID == nil {
		e.left.byUUID = map[spec.UUID]*leftover{}
	}
	e.left.byUUID[rec.UUID] = l
	e.left.mu.Unlock()
	what := fmt.Sprintf("domain '%s' ended and left something behind: %v; it is tried again", d.label, err)
	e.problem.add(e.log, what)
	e.work.Go(func() {
		tryAgain(e.ctx, func(ctx context.Context) error { // when the engine ends the next daemon finds the record
			err := e.clearAgain(ctx, l)
			if err == nil {
				e.problem.solved(what)
			}
			return err
		})
	})
	return fmt.Errorf("%w; it is tried again", err)
}

// tryAgain tries something until it succeeds or ctx is done, after a while and then after longer ones.
func tryAgain(ctx context.Context, try func(context.Context) error) {
	for pause := againAfter; ; pause = min(2*pause, againWithin) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		if try(ctx) == nil {
			return
		}
	}
}

// has reports whether something is left of a guest.
func (s *leftovers) has(uuid spec.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byUUID[uuid] != nil
}

// clearAgain makes another attempt.
func (e *Engine) clearAgain(ctx context.Context, l *leftover) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return nil
	}
	if err := e.release(ctx, l.d, l.rec); err != nil {
		return err
	}
	l.gone = true
	e.left.mu.Lock()
	defer e.left.mu.Unlock()
	if e.left.byUUID[l.rec.UUID] == l {
		delete(e.left.byUUID, l.rec.UUID)
	}
	return nil
}

// nothingLeft makes sure that nothing is left of an earlier run of a guest.
func (e *Engine) nothingLeft(ctx context.Context, uuid spec.UUID) error {
	if o := e.orphans.of(uuid); o != nil {
		return virterr.Wrap(virterr.OperationInvalid, o)
	}
	e.left.mu.Lock()
	l := e.left.byUUID[uuid]
	e.left.mu.Unlock()
	if l == nil {
		return nil
	}
	if err := e.clearAgain(ctx, l); err != nil {
		return fmt.Errorf("what its last run left cannot be removed: %w", err)
	}
	return nil
}
