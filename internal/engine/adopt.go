package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/server"
	"taproom/internal/guest"
	"taproom/internal/qemu"
	"taproom/internal/qemu/qmp"
)

// How long a daemon that starts waits for the QEMU of one guest, since all the others wait behind it, and after what time
// it says that one does not answer.
const (
	answerAtOnce = 500 * time.Millisecond
	answerLate   = 5 * time.Second
)

// runStatus is QEMU's word for what a guest's processors do (qapi/run-state.json).
type runStatus string

const (
	statusGone      runStatus = "" // there is no process
	statusPrelaunch runStatus = "prelaunch"
	statusRunning   runStatus = "running"
	statusShutdown  runStatus = "shutdown"
	statusPanicked  runStatus = "guest-panicked"
)

// errSilent is a QEMU that lives and does not answer.
var errSilent = errors.New("its QEMU does not answer")

// adopt takes hold of a guest's QEMU and asks how it is.
func (e *Engine) adopt(ctx context.Context, d *domain, run *running) (runStatus, error) {
	p := e.places(d)
	proc, err := qemu.Adopt(e.ctx, e.k, p.pid(), p.log)
	if errors.Is(err, qemu.ErrNotRunning) {
		return statusGone, nil
	}
	if err != nil {
		return statusGone, err
	}
	run.proc = proc
	run.rec.PID, run.rec.PIDStart = proc.PID(), proc.StartTime()
	if run.rt, err = e.runtime(d, run.rec); err != nil {
		return statusGone, err
	}
	if run.compiled, err = guest.Compile(run.doc, run.rt); err != nil {
		return statusGone, documentError(err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerAtOnce)
	defer cancel()
	return e.hail(ctx, d, run)
}

// hail asks an adopted QEMU how its guest is. errSilent says that it lives and did not answer before ctx was done.
func (e *Engine) hail(ctx context.Context, d *domain, run *running) (runStatus, error) {
	if old := run.proc.QMP(); old != nil {
		_ = old.Close() // QEMU talks to one at a time
	}
	if err := run.proc.Connect(ctx, e.places(d).qmp()); err != nil {
		return statusGone, unanswered(ctx, run.proc, err)
	}
	run.mon = run.proc.QMP()
	var reply struct {
		Status runStatus `json:"status"`
	}
	if err := run.mon.Execute(ctx, "query-status", nil, &reply); err != nil {
		return statusGone, unanswered(ctx, run.proc, err)
	}
	e.learnBalloon(ctx, run)
	if err := e.learnTerminals(ctx, run); err != nil {
		return statusGone, unanswered(ctx, run.proc, err)
	}
	return reply.Status, nil
}

// unanswered tells a QEMU that is just ending, which is no error, from one that lives and says nothing. The daemon before
// may have asked it to end, or have died with it between its first steps.
func unanswered(ctx context.Context, proc *qemu.Process, err error) error {
	if errors.Is(err, qmp.ErrPeerClosed) || errors.Is(err, unix.ECONNREFUSED) {
		select {
		case <-proc.Exited():
			return nil
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	return fmt.Errorf("its QEMU does not talk sense and is ended: %w", err)
}

// settleAdopted publishes an adopted guest in the state it was found in. A power-off or a panic while no daemon was there
// is read from the status, and followed now.
func (e *Engine) settleAdopted(d *domain, run *running, status runStatus) {
	state, reason := int32(server.DomainPaused), int32(server.PausedUnknown)
	switch status {
	case statusRunning:
		state, reason = server.DomainRunning, server.RunningUnknown
	case statusPrelaunch:
		reason = server.PausedUser
	case statusShutdown:
		state, reason = server.DomainShutdown, server.ShutdownUnknown
	case statusPanicked:
		state, reason = server.DomainCrashed, server.CrashedPanicked
	}
	if run.rec.State == state {
		reason = run.rec.Reason
	}
	d.update(func(v *view) {
		v.run, v.ref.ID, v.ref.State, v.ref.Reason = run, run.rec.ID, state, reason
	})
	if run.rec.Phase != phaseRunning { // it passed the point of no return, and nobody wrote that down
		run.rec.Phase = phaseRunning
		if err := e.saveRecord(run); err != nil {
			e.problem.add(e.log, fmt.Sprintf("domain '%s': %v", d.label, err))
		}
	}
	e.watchRun(d, run)
	switch status {
	case statusShutdown:
		action := run.doc.OnPoweroff
		if run.rebooting.Load() {
			action = actionRestart
		}
		e.afterEnd(e.ctx, d, run, action, server.ShutoffShutdown, server.EventStoppedShutdown)
	case statusPanicked:
		e.afterEnd(e.ctx, d, run, run.doc.OnCrash, server.ShutoffCrashed, server.EventStoppedCrashed)
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
	state, reason := run.rec.State, run.rec.Reason
	if state == 0 {
		state, reason = server.DomainRunning, server.RunningUnknown
	}
	d.update(func(v *view) {
		v.run, v.ref.ID, v.ref.State, v.ref.Reason = run, run.rec.ID, state, reason
	})
	e.work.Go(func() {
		defer j.End()
		e.awaitAnswer(j.Context(), d, run)
	})
	return nil
}

// awaitAnswer adopts a guest when its QEMU answers, or clears it away when that ends. The caller holds the domain's slot.
func (e *Engine) awaitAnswer(ctx context.Context, d *domain, silent *running) {
	answered := make(chan struct{})
	defer close(answered)
	e.work.Go(func() { e.tellSilent(d, silent, answered) })
	run := newRunning(silent.rec, silent.doc) // readers have the silent one
	run.proc, run.rt, run.compiled = silent.proc, silent.rt, silent.compiled
	status, err := e.hail(ctx, d, run)
	switch {
	case ctx.Err() != nil: // it is being destroyed, or the daemon ends
	case err != nil || status == statusGone:
		e.log.Warn("QEMU is gone", "domain", d.label, "reason", err, "said", silent.lastWords())
		if err := e.stop(context.WithoutCancel(ctx), d, silent, server.ShutoffCrashed, server.EventStoppedFailed); err != nil {
			e.log.Error("clean up after domain", "domain", d.label, "error", err)
		}
	default:
		before := d.view().ref.State
		e.settleAdopted(d, run, status)
		e.tellState(d, before)
	}
}

// tellSilent has it among the problems that a QEMU does not answer, for as long as it does not.
func (e *Engine) tellSilent(d *domain, silent *running, answered <-chan struct{}) {
	select {
	case <-answered:
		return
	case <-time.After(answerLate):
	}
	what := fmt.Sprintf("domain '%s': its QEMU, process %d, does not answer; it is left alone until it does, or is destroyed", d.label, silent.rec.PID)
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
