// Package job serialises what changes one object. Each object has a slot of its own, so a guest that hangs blocks nobody
// else, and a job that must win (destroy) can cut the one that holds the slot short.
package job

import (
	"context"
	"fmt"
	"sync"
)

// Slot lets one job at a time change an object. The zero value is ready.
type Slot struct {
	mu      sync.Mutex
	current *Job
	free    chan struct{} // closed when current ends
}

// Job is one operation under way.
type Job struct {
	Name   string
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
	for {
		s.mu.Lock()
		if s.current == nil {
			j := &Job{Name: name, slot: s}
			j.ctx, j.cancel = context.WithCancelCause(ctx)
			s.current, s.free = j, make(chan struct{})
			s.mu.Unlock()
			return j, nil
		}
		holder, free := s.current.Name, s.free
		s.mu.Unlock()
		select {
		case <-free:
		case <-ctx.Done():
			return nil, &Busy{Wanted: name, Holder: holder, Err: context.Cause(ctx)}
		}
	}
}

// Preempt ends the context of the job that holds the slot, if any, then waits for the slot like Begin.
func (s *Slot) Preempt(ctx context.Context, name string) (*Job, error) {
	s.mu.Lock()
	if s.current != nil {
		s.current.cancel(&Preempted{By: name})
	}
	s.mu.Unlock()
	return s.Begin(ctx, name)
}

// Current returns the name of the job that holds the slot, or "".
func (s *Slot) Current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return ""
	}
	return s.current.Name
}

// Context is what the job's work must watch.
func (j *Job) Context() context.Context { return j.ctx }

// End frees the slot. It must be called exactly once.
func (j *Job) End() {
	j.cancel(nil)
	j.slot.mu.Lock()
	defer j.slot.mu.Unlock()
	j.slot.current = nil
	close(j.slot.free)
}
