package engine

import (
	"context"
	"errors"
	"slices"
	"sync"

	"taproom/internal/api/server"
)

// actionRestart is what a document calls booting a guest again that ended.
const actionRestart = "restart"

// restart boots a guest that ended again, in the QEMU it has. It goes on when its events have been read, so that clients
// hear of the reset first, and of running again after it.
func (e *Engine) restart(ctx context.Context, d *domain, run *running) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	reason := int32(server.RunningBooted)
	if d.view().ref.State == server.DomainCrashed {
		reason = server.RunningCrashed
	}
	run.settling.Store(true)
	err := run.do(ctx, "system_reset", "RESET")
	if err == nil {
		err = run.command(func() error { return run.do(ctx, "cont", "RESUME") })
	}
	run.settling.Store(false)
	if err != nil {
		return monitorError(d, "restart", err)
	}
	changed := false
	v := d.update(func(v *view) {
		changed = v.ref.State != server.DomainRunning
		v.ref.State, v.ref.Reason = server.DomainRunning, reason
	})
	if changed {
		e.publish(server.DomainLifecycle{Domain: v.ref, Event: server.EventResumed, Detail: server.EventResumedUnpaused})
	}
	run.rebooting.Store(false)
	return e.remember(d, run)
}

// do executes a command and waits until the event that follows from it has been dealt with.
func (run *running) do(ctx context.Context, command, event string) error {
	seen := run.expected.next(event)
	defer run.expected.forget(event, seen)
	if err := run.mon.Execute(ctx, command, nil, nil); err != nil {
		return err
	}
	select {
	case <-seen:
		return nil
	case <-run.mon.Done():
		return errors.Join(errors.New("QEMU is gone"), run.mon.Err())
	case <-ctx.Done():
		return errors.Join(errors.New("QEMU does not tell of "+event), context.Cause(ctx))
	}
}

// expected are events that somebody waits for.
type expected struct {
	mu      sync.Mutex
	waiting map[string][]chan struct{}
}

// next returns what is closed when the next event of that name has been dealt with.
func (x *expected) next(name string) <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.waiting == nil {
		x.waiting = map[string][]chan struct{}{}
	}
	c := make(chan struct{})
	x.waiting[name] = append(x.waiting[name], c)
	return c
}

// seen tells who waits, and reports whether anybody does.
func (x *expected) seen(name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	waiting := x.waiting[name]
	for _, c := range waiting {
		close(c)
	}
	delete(x.waiting, name)
	return len(waiting) > 0
}

// forget is for who waits no longer.
func (x *expected) forget(name string, c <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiting[name] = slices.DeleteFunc(x.waiting[name], func(w chan struct{}) bool { return w == c })
	if len(x.waiting[name]) == 0 {
		delete(x.waiting, name)
	}
}
