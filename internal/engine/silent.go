package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/qemu/qmp"
)

// regainEvery is how often a guest's monitor may break before the next connection waits: a QEMU that makes it break at
// once, every time, must not keep the daemon busy.
const regainEvery = 10 * time.Second

// lost is a monitor that broke. When QEMU ended, its guest is cleared away; when QEMU lives, its guest goes on.
func (e *Engine) lost(ctx context.Context, d *domain, run *running) {
	e.work.Go(func() {
		j, err := d.slot.Begin(ctx, "clean up after domain '"+d.label+"'")
		if err != nil {
			return
		}
		defer j.End()
		if d.view().run != run || ctx.Err() != nil {
			return // whoever ended it cleaned up; or the daemon lets go of it
		}
		why := run.mon.Err()
		if !nonsense(why) && !ending(j.Context(), run.proc, why) {
			e.regain(j.Context(), d, run, why)
			return
		}
		e.bury(j.Context(), d, run, why)
	})
}

// regain talks to a guest's QEMU again after its monitor broke: QEMU closed it, did not read for too long, or told more
// than could be taken in. What was missed is read from its state. The caller holds the domain's slot.
func (e *Engine) regain(ctx context.Context, d *domain, run *running, why error) {
	e.log.Warn("the connection to a guest's QEMU broke; connecting again", "domain", d.label, "reason", why)
	e.publish(server.DomainControlError{Domain: d.view().ref})
	select {
	case <-time.After(time.Until(run.regained.Add(regainEvery))): // at once when it never broke
	case <-run.proc.Exited():
	case <-ctx.Done():
	}
	run.regained = time.Now()
	e.awaitAnswer(ctx, d, run)
}

// bury clears away a guest whose QEMU ended unasked, or has to. The caller holds the domain's slot.
func (e *Engine) bury(ctx context.Context, d *domain, run *running, why error) {
	e.log.Warn("QEMU is gone", "domain", d.label, "reason", why, "said", run.lastWords())
	if err := e.stop(context.WithoutCancel(ctx), d, run, server.ShutoffCrashed, server.EventStoppedFailed); err != nil {
		e.log.Error("clean up after domain", "domain", d.label, "error", err)
	}
}

// keepSilent has a guest go on whose QEMU does not answer: it may be stopped, or wait for a disk, or the host is busy.
// What it was last told is what it is taken to be, it can be destroyed, and everything else waits until it answers.
func (e *Engine) keepSilent(d *domain, run *running, why error) error {
	j, err := d.slot.Begin(e.ctx, "take over domain '"+d.label+"'")
	if err != nil {
		return err
	}
	run.mon = qmp.Absent(e.places(d).qmp(), why)
	state, reason := run.did.state, run.did.reason
	if state == 0 {
		state, reason = server.DomainRunning, server.RunningUnknown
	}
	d.update(func(v *view) {
		v.run, v.ref.ID, v.ref.State, v.ref.Reason = run, run.rec().ID, state, reason
	})
	e.work.Go(func() {
		defer j.End()
		e.awaitAnswer(j.Context(), d, run)
	})
	return nil
}

// awaitAnswer goes on with a guest when its QEMU answers, or clears it away when that ends. The caller holds the domain's
// slot.
func (e *Engine) awaitAnswer(ctx context.Context, d *domain, silent *running) {
	answered := make(chan struct{})
	defer close(answered)
	e.work.Go(func() { e.tellSilent(d, silent, answered) })
	run := silent.again()
	status, err := e.hailAgain(ctx, d, run)
	switch {
	case ctx.Err() != nil: // it is being destroyed, or the daemon ends
	case err != nil || status == statusGone:
		e.bury(ctx, d, silent, err)
	default:
		before := d.view().ref.State
		e.settleAdopted(d, run, status)
		e.goOnIfSaving(ctx, d, run, status)
		e.tellState(d, before)
		silent.cancel()
		silent.channels.end()
	}
}

// hailAgain hails a QEMU until it answers, ends or talks nonsense. One that is stopped answers the first call as soon as
// it goes on; one that hung up, or that this host has no descriptor for, is called again.
func (e *Engine) hailAgain(ctx context.Context, d *domain, run *running) (runStatus, error) {
	for pause := againAfter; ; pause = min(2*pause, againWithin) {
		status, err := e.hail(ctx, d, run)
		if !errors.Is(err, errSilent) || ctx.Err() != nil {
			return status, err
		}
		select {
		case <-time.After(pause):
		case <-run.proc.Exited():
			return statusGone, nil
		case <-ctx.Done():
			return statusGone, err
		}
	}
}

// tellSilent has it among the problems that a QEMU does not answer, for as long as it does not.
func (e *Engine) tellSilent(d *domain, silent *running, answered <-chan struct{}) {
	select {
	case <-answered:
		return
	case <-time.After(answerLate):
	}
	what := fmt.Sprintf("domain '%s': its QEMU, process %d, does not answer; it is left alone until it does, or is destroyed", d.label, silent.rec().PID)
	e.problem.add(e.log, what)
	<-answered
	e.problem.solved(what)
}

// tellState publishes that a guest's processors do something else than was thought.
func (e *Engine) tellState(d *domain, before int32) {
	v := d.view()
	switch v.ref.State {
	case before:
	case server.DomainRunning:
		e.publish(server.DomainLifecycle{Domain: v.ref, Event: server.EventResumed, Detail: server.EventResumedUnpaused})
	case server.DomainPaused:
		e.publish(server.DomainLifecycle{Domain: v.ref, Event: server.EventSuspended, Detail: server.EventSuspendedPaused})
	}
}
