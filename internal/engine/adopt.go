package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/server"
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
	statusIOError   runStatus = "io-error"
	statusWatchdog  runStatus = "watchdog"
	statusPanicked  runStatus = "guest-panicked"
	statusInMigrate runStatus = "inmigrate"
	statusPaused    runStatus = "paused"
	statusFinishing runStatus = "finish-migrate"
	statusSuspended runStatus = "suspended"

	statusPostMigrate runStatus = "postmigrate"
)

// errSilent is a QEMU that lives and does not answer, or that this host does not let us ask now.
var errSilent = errors.New("its QEMU does not answer")

// errNonsense is a QEMU that answers something else than QEMU does: somebody took it over. It is ended.
var errNonsense = errors.New("its QEMU does not talk sense and is ended")

// adopt takes hold of a guest's QEMU and asks how it is. Errors beside errSilent and errNonsense are this host's: they say
// nothing of the guest.
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
	run.rec().PID, run.rec().PIDStart = proc.PID(), proc.StartTime()
	if *run.rt(), err = e.runtime(d, *run.rec()); err != nil {
		return statusGone, err
	}
	if err := e.adoptCompanions(d, run); err != nil {
		return statusGone, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerAtOnce)
	defer cancel()
	return e.hail(ctx, d, run)
}

// hail asks a QEMU how its guest is, on a new connection.
func (e *Engine) hail(ctx context.Context, d *domain, run *running) (runStatus, error) {
	if old := run.proc.QMP(); old != nil {
		_ = old.Close() // QEMU talks to one at a time
	}
	if err := run.proc.Connect(ctx, e.places(d).qmp()); err != nil {
		return statusGone, unanswered(ctx, run.proc, err)
	}
	run.mon = run.proc.QMP()
	status, err := run.status(ctx)
	if err != nil {
		return statusGone, unanswered(ctx, run.proc, err)
	}
	e.learnBalloon(ctx, run)
	if err := e.learnTerminals(ctx, run); err != nil {
		return statusGone, unanswered(ctx, run.proc, err)
	}
	if run.rec().Phase == phaseStarting && status.neverRan(run.rec().Incoming) {
		return status, nil // it will not be
	}
	err = e.settle(ctx, d, run, run.hardware())
	if run.mon.Err() != nil || ctx.Err() != nil {
		return statusGone, unanswered(ctx, run.proc, err)
	}
	if err != nil {
		e.log.Warn("what a guest has of devices that are gone is not cleared away", "domain", d.label, "error", err)
	}
	e.retune(ctx, d, run)
	return status, nil
}

// unanswered tells a QEMU that is just ending, which is no error, from one that lives and says nothing. The daemon before
// may have asked it to end, or have died with it between its first steps.
func unanswered(ctx context.Context, proc *qemu.Process, err error) error {
	switch {
	case nonsense(err):
		return fmt.Errorf("%w: %w", errNonsense, err)
	case ending(ctx, proc, err):
		return nil
	}
	return fmt.Errorf("%w: %w", errSilent, err)
}

// nonsense reports whether a conversation failed because of what QEMU said.
func nonsense(err error) bool {
	var refused *qmp.Error
	return errors.Is(err, qmp.ErrMalformed) || errors.Is(err, qmp.ErrLineTooLong) || errors.As(err, &refused)
}

// ending reports whether a conversation failed because QEMU has ended, or is just ending.
func ending(ctx context.Context, proc *qemu.Process, err error) bool {
	if proc.Ending() {
		return true
	}
	var patience time.Duration
	if errors.Is(err, qmp.ErrPeerClosed) || errors.Is(err, qmp.ErrTruncated) || errors.Is(err, unix.ECONNREFUSED) {
		patience = endWithin
	}
	select {
	case <-proc.Exited():
		return true
	case <-time.After(patience):
	case <-ctx.Done():
	}
	select {
	case <-proc.Exited():
		return true
	default:
		return false
	}
}

// settleAdopted publishes an adopted guest in the state it was found in. A power-off or a panic while no daemon was there
// is read from the status, and followed now.
func (e *Engine) settleAdopted(d *domain, run *running, status runStatus) {
	state, reason := int32(server.DomainPaused), int32(server.PausedUnknown)
	switch status {
	case statusRunning:
		state, reason = server.DomainRunning, server.RunningUnknown
	case statusSuspended:
		state, reason = server.DomainPmsuspended, server.PmsuspendedUnknown
	case statusPrelaunch:
		reason = server.PausedUser
	case statusIOError:
		reason = server.PausedIoerror
	case statusWatchdog:
		reason = server.PausedWatchdog
	case statusShutdown:
		state, reason = server.DomainShutdown, server.ShutdownUnknown
	case statusPanicked:
		state, reason = server.DomainCrashed, server.CrashedPanicked
	}
	if run.did.state == state {
		reason = run.did.reason
	}
	if run.saving != nil && run.saving.Resume && state == server.DomainPaused {
		reason = server.PausedSave
		if run.saving.Dump {
			reason = server.PausedDump
		}
	}
	if run.rec().Phase != phaseRunning || run.rec().Image != "" { // it passed the point of no return, and nobody wrote that down
		e.forgetImage(d, run)
		run.rec().Phase = phaseRunning
		if err := e.saveRecord(run); err != nil {
			e.problem.add(e.log, fmt.Sprintf("domain '%s': %v", d.label, err))
		}
	}
	watch := e.watcher(d, run)
	d.update(func(v *view) {
		if v.run != nil && v.ref.State == state { // it was seen before, and whoever saw it knew why
			reason = v.ref.Reason
		}
		v.run, v.ref.ID, v.ref.State, v.ref.Reason = run, run.rec().ID, state, reason
	})
	watch()
	if run.rec().Autodestroy {
		e.endAutodestroyed(d, run)
		return
	}
	switch status {
	case statusShutdown:
		action := run.doc().OnPoweroff
		if run.rebooting.Load() {
			action = actionRestart
		}
		e.afterEnd(e.ctx, d, run, action, server.ShutoffShutdown, server.EventStoppedShutdown)
	case statusPanicked:
		e.afterEnd(e.ctx, d, run, run.doc().OnCrash, server.ShutoffCrashed, server.EventStoppedCrashed)
	}
}

// neverRan reports whether the processors of a guest that is being started have not run yet. One whose state comes from
// elsewhere waits for that, and then stands still.
func (s runStatus) neverRan(incoming bool) bool {
	return s == statusPrelaunch || incoming && (s == statusInMigrate || s == statusPaused)
}
