package engine

import (
	"context"
	"errors"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/job"
	"taproom/internal/spec"
)

// answerWithin is how long a healthy QEMU may take to answer a command (libvirt waits for ever, and so does its caller), and
// how long a client waits for whatever else is done to the same guest.
const answerWithin = 30 * time.Second

// control runs one change of a running guest as a job of its own.
func (e *Engine) control(ctx context.Context, uuid spec.UUID, name string, f func(context.Context, *domain, *running) error) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	j, err := d.slot.Begin(ctx, name+" domain '"+d.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	run, err := d.running()
	if err != nil {
		return err
	}
	return f(j.Context(), d, run)
}

// SuspendDomain implements server.DomainJobs.
func (e *Engine) SuspendDomain(ctx context.Context, uuid spec.UUID) error {
	return e.control(ctx, uuid, "suspend", func(ctx context.Context, d *domain, run *running) error {
		if err := d.awake(); err != nil {
			return err
		}
		if err := run.command(func() error { return run.mon.Execute(ctx, "stop", nil, nil) }); err != nil {
			return monitorError(d, "suspend", err)
		}
		e.paused(d, run, server.PausedUser, server.EventSuspendedPaused)
		return e.remember(d, run)
	})
}

// ResumeDomain implements server.DomainJobs.
func (e *Engine) ResumeDomain(ctx context.Context, uuid spec.UUID) error {
	return e.control(ctx, uuid, "resume", func(ctx context.Context, d *domain, run *running) error {
		if d.view().ref.State == server.DomainRunning {
			return virterr.New(virterr.OperationInvalid, "domain '%s' is already running", d.label)
		}
		if err := d.awake(); err != nil {
			return err
		}
		if s := run.saving; s != nil && !s.Done { // a save was cut short, and the guest could not go on
			s.Resume = true
			return monitorError(d, "resume", e.goOnAfterSave(ctx, d, run))
		}
		if err := run.command(func() error { return run.mon.Execute(ctx, "cont", nil, nil) }); err != nil {
			return monitorError(d, "resume", err)
		}
		e.resumed(d, run)
		return e.remember(d, run)
	})
}

// remember writes down in what state a guest is and why, for the daemon that comes after this one.
func (e *Engine) remember(d *domain, run *running) error {
	ref := d.view().ref
	run.did = told{ref.State, ref.Reason}
	if err := e.saveRecord(run); err != nil {
		return virterr.New(virterr.SystemError, "cannot write down the state of domain '%s': %w", d.label, err)
	}
	return nil
}

// settingBack is for what sets back what failed, whatever ended ctx. A QEMU that does not answer keeps the domain's slot
// only so long, and from who destroys the guest hardly at all.
func settingBack(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	if destroyed := new(job.Preempted); errors.As(context.Cause(ctx), &destroyed) {
		within = time.Second
	}
	return context.WithTimeout(context.WithoutCancel(ctx), within)
}

// ResetDomain implements server.DomainJobs.
func (e *Engine) ResetDomain(ctx context.Context, uuid spec.UUID) error {
	return e.control(ctx, uuid, "reset", func(ctx context.Context, d *domain, run *running) error {
		return monitorError(d, "reset", run.mon.Execute(ctx, "system_reset", nil, nil))
	})
}

// monitorError says which guest's QEMU refused or did not answer what. It returns nil for nil.
func monitorError(d *domain, what string, err error) error {
	if err == nil {
		return nil
	}
	var preempted *job.Preempted
	switch {
	case errors.As(err, &preempted):
		return virterr.New(virterr.OperationAborted, "cannot %s domain '%s': %w", what, d.label, preempted)
	case errors.Is(err, context.DeadlineExceeded):
		return virterr.New(virterr.OperationTimeout, "cannot %s domain '%s': %w; `virsh destroy %s` ends it even so", what, d.label, err, d.label)
	}
	return virterr.New(virterr.OperationFailed, "cannot %s domain '%s': %w", what, d.label, err)
}

// paused publishes that a guest's processors stand still. It is said once however many notice.
func (e *Engine) paused(d *domain, run *running, reason, detail int32) {
	v, changed := d.setState(run, server.DomainPaused, reason)
	if changed {
		e.publish(server.DomainLifecycle{Domain: v.ref, Event: server.EventSuspended, Detail: detail})
	}
}

// resumed publishes that a guest's processors run again.
func (e *Engine) resumed(d *domain, run *running) {
	v, changed := d.setState(run, server.DomainRunning, server.RunningUnpaused)
	if changed {
		e.publish(server.DomainLifecycle{Domain: v.ref, Event: server.EventResumed, Detail: server.EventResumedUnpaused})
	}
}
