package engine

import (
	"context"
	"errors"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/qemu/qga"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// sleepsWithin is how long a guest may take from a request to sleep until it does. Its agent does not answer one that it
// fulfils; libvirt waits as long.
const sleepsWithin = 60 * time.Second

// SuspendGuest implements server.DomainSleep: the guest's agent puts it to sleep.
func (e *Engine) SuspendGuest(ctx context.Context, uuid spec.UUID, target uint32) error {
	modes := map[uint32]string{server.SleepMemory: qga.SuspendRAM, server.SleepDisk: qga.SuspendDisk, server.SleepHybrid: qga.SuspendHybrid}
	mode, ok := modes[target]
	if !ok {
		return virterr.New(virterr.ArgumentUnsupported, "Unknown suspend target: %d", target)
	}
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	run, err := d.running()
	if err != nil {
		return err
	}
	if err := canSleep(run.doc(), target); err != nil {
		return err
	}
	asleep := [2]<-chan struct{}{run.expected.next("SUSPEND"), run.expected.next("SUSPEND_DISK")}
	defer run.expected.forget("SUSPEND", asleep[0])
	defer run.expected.forget("SUSPEND_DISK", asleep[1])
	ctx, cancel := context.WithTimeout(ctx, sleepsWithin)
	defer cancel()
	return e.talkTo(ctx, d, run, func(ctx context.Context, _ *domain, _ *running, c *qga.Client) error {
		ctx, awake := context.WithCancelCause(ctx)
		defer awake(nil)
		e.work.Go(func() { // that it sleeps is how it answers
			select {
			case <-asleep[0]:
			case <-asleep[1]:
			case <-ctx.Done():
				return
			}
			awake(errAsleep)
		})
		c.Within = 0 // as long as ctx
		err := c.Suspend(ctx, mode)
		if errors.Is(context.Cause(ctx), errAsleep) || errors.Is(err, qga.ErrClosed) {
			return nil
		}
		return err
	})
}

// errAsleep is why a conversation with an agent ends whose guest went to sleep.
var errAsleep = errors.New("the guest sleeps")

// canSleep says so when the document keeps the guest from sleeping.
func canSleep(doc *spec.Domain, target uint32) error {
	no := func(s *spec.PMState) bool { return s != nil && s.Enabled == "no" }
	switch {
	case doc.PM == nil:
		return nil
	case target != server.SleepDisk && no(doc.PM.SuspendToMem):
		return virterr.New(virterr.ConfigUnsupported, "S3 state is disabled for this domain '%s': its document has <suspend-to-mem enabled='no'/>", doc.Name)
	case target != server.SleepMemory && no(doc.PM.SuspendToDisk):
		return virterr.New(virterr.ConfigUnsupported, "S4 state is disabled for this domain '%s': its document has <suspend-to-disk enabled='no'/>", doc.Name)
	}
	return nil
}

// WakeGuest implements server.DomainSleep.
func (e *Engine) WakeGuest(ctx context.Context, uuid spec.UUID) error {
	return e.control(ctx, uuid, "wake", func(ctx context.Context, d *domain, run *running) error {
		if d.view().ref.State != server.DomainPmsuspended {
			return virterr.New(virterr.OperationInvalid, "domain '%s' does not sleep", d.label)
		}
		return monitorError(d, "wake", run.mon.Execute(ctx, "system_wakeup", nil, nil))
	})
}

// awake says so when a guest sleeps, and its processors cannot be told what to do.
func (d *domain) awake() error {
	if d.view().ref.State == server.DomainPmsuspended {
		return virterr.New(virterr.OperationInvalid, "domain '%s' is pmsuspended; use virsh dompmwakeup", d.label)
	}
	return nil
}

// onSleep is a guest that went to sleep, into memory or onto its disk.
func onSleep(kind server.PM, detail int32) func(*Engine, context.Context, *domain, *running, qmp.Event) {
	return func(e *Engine, _ context.Context, d *domain, run *running, _ qmp.Event) {
		v := d.view()
		changed := false
		if v.ref.State == server.DomainRunning {
			v, changed = d.setState(run, server.DomainPmsuspended, server.PmsuspendedUnknown)
		}
		e.publish(server.DomainPM{Domain: v.ref, Kind: kind})
		if changed {
			e.publish(server.DomainLifecycle{Domain: v.ref, Event: server.EventPmsuspended, Detail: detail})
		}
	}
}

// onWakeup is a guest that woke up: to libvirt it starts.
func (e *Engine) onWakeup(_ context.Context, d *domain, run *running, _ qmp.Event) {
	v := d.view()
	changed := false
	if v.ref.State == server.DomainPmsuspended {
		v, changed = d.setState(run, server.DomainRunning, server.RunningWakeup)
	}
	e.publish(server.DomainPM{Domain: v.ref, Kind: server.PMWakeup})
	if changed {
		e.publish(server.DomainLifecycle{Domain: v.ref, Event: server.EventStarted, Detail: server.EventStartedWakeup})
	}
}
