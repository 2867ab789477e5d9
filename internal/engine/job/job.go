// Package job serialises what changes one object. Each object has a slot of its own, so a guest that hangs blocks nobody
// else, and a job that must win (destroy) can cut the one that holds the slot short.
package job

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Slot lets one job at a time change an object. The zero value is ready.
type Slot struct {
	mu      sync.Mutex
	current *Job
	urgent  int           // jobs that preempted and wait: nobody else gets the slot before them
	changed chan struct{} // closed when either of those changes; nil while nobody waits
	over    error         // why nobody gets the slot any more
}

// Job is one operation under way.
type Job struct {
	Name   string
	began  time.Time
	ctx    context.Context
	cancel context.CancelCauseFunc
	slot   *Slot
}

// Preempted is the cause a job's context ends with when a stronger job takes its slot.
type Preempted struct{ By string }

func (p *Preempted) Error() string { return "cut short to " + p.By }

// Is makes it a context.Canceled.
func (p *Preempted) Is(target error) bool { return target == context.Canceled }

// Busy says which job held the slot when waiting for it ended.
type Busy struct {
	Wanted, Holder string
	Err            error
}

func (b *Busy) Error() string {
	return fmt.Sprintf("cannot %s: %s is still under way; wait for it or destroy the object", b.Wanted, b.Holder)
}

// Unwrap returns why waiting ended.
func (b *Busy) Unwrap() error { return b.Err }

// Begin waits until the slot is free and takes it. The job's context ends with ctx, or when it is preempted.
func (s *Slot) Begin(ctx context.Context, name string) (*Job, error) {
	return s.BeginWithin(ctx, 0, name)
}

// BeginWithin is Begin for somebody who does not wait longer than patience; 0 waits as long as ctx. Who got the slot has
// it as long as Begin gives it.
func (s *Slot) BeginWithin(ctx context.Context, patience time.Duration, name string) (*Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(ctx, patience, name, false)
}

// Try is Begin for somebody who does not wait at all.
func (s *Slot) Try(ctx context.Context, name string) (j *Job, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil || s.urgent > 0 {
		return nil, false
	}
	j, err := s.take(ctx, 0, name, false)
	return j, err == nil
}

// Preempt ends the context of the job that holds the slot, if any, and takes the slot before whoever waits for it: what
// it is to end must not change hands once more.
func (s *Slot) Preempt(ctx context.Context, name string) (*Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		s.current.cancel(&Preempted{By: name})
	}
	s.urgent++
	defer func() {
		s.urgent--
		s.tell()
	}()
	return s.take(ctx, 0, name, true)
}

// take waits until the slot is free, and unless urgent until nobody urgent waits. The lock is held, except while waiting.
func (s *Slot) take(ctx context.Context, patience time.Duration, name string, urgent bool) (*Job, error) {
	wait := ctx
	if patience > 0 {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	for s.current != nil || !urgent && s.urgent > 0 {
		holder := "something more urgent"
		if s.current != nil {
			holder = s.current.Name
		}
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
			s.mu.Lock()
		case <-wait.Done():
			s.mu.Lock()
			return nil, &Busy{Wanted: name, Holder: holder, Err: context.Cause(wait)}
		}
	}
	if s.over != nil {
		return nil, s.over
	}
	j := &Job{Name: name, began: time.Now(), slot: s}
	j.ctx, j.cancel = context.WithCancelCause(ctx)
	s.current = j
	return j, nil
}

// tell wakes who waits. The lock is held.
func (s *Slot) tell() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Current returns the name of the job that holds the slot, or "".
func (s *Slot) Current() string {
	name, _ := s.Holder()
	return name
}

// Holder returns the job that holds the slot and since when it does; the zero time for none.
func (s *Slot) Holder() (name string, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return "", time.Time{}
	}
	return s.current.Name, s.current.began
}

// Context is what the job's work must watch.
func (j *Job) Context() context.Context { return j.ctx }

// End frees the slot. It, or Retire, must be called exactly once.
func (j *Job) End() {
	j.cancel(nil)
	j.slot.mu.Lock()
	defer j.slot.mu.Unlock()
	j.slot.current = nil
	j.slot.tell()
}

// Retire ends the job, and with it the slot: whoever waits for it, or asks for it later, is told why.
func (j *Job) Retire(why error) {
	j.cancel(nil)
	j.slot.mu.Lock()
	defer j.slot.mu.Unlock()
	j.slot.current, j.slot.over = nil, why
	j.slot.tell()
}
