package engine

import (
	"context"
	"errors"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/qemu/qga"
	"taproom/internal/spec"
)

// ShutdownDomain implements server.DomainJobs: it asks the guest to shut down and does not wait until it has.
func (e *Engine) ShutdownDomain(ctx context.Context, uuid spec.UUID, flags uint32) error {
	return e.askToEnd(ctx, uuid, flags, "shut down", false)
}

// RebootDomain implements server.DomainJobs: by the power button the guest shuts down and is then reset.
func (e *Engine) RebootDomain(ctx context.Context, uuid spec.UUID, flags uint32) error {
	return e.askToEnd(ctx, uuid, flags, "reboot", true)
}

// askToEnd asks the agent, when there is one or nothing else is allowed, and then presses the power button, when that is
// allowed and the agent did not do it: with flags 0 both are.
func (e *Engine) askToEnd(ctx context.Context, uuid spec.UUID, flags uint32, name string, reboot bool) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	run, err := d.running()
	if err != nil {
		return err
	}
	const ways = server.ShutdownAcpiPowerBtn | server.ShutdownGuestAgent
	if flags != 0 && flags&ways == 0 {
		return virterr.New(virterr.ArgumentUnsupported, "a guest can be asked by its agent (--mode agent) or by the ACPI power button (--mode acpi)")
	}
	_, _, absent := d.agentChannel(run)
	if flags&server.ShutdownGuestAgent == 0 && (flags != 0 || absent != nil) {
		return e.powerButton(ctx, uuid, name, reboot)
	}
	err = e.agentEnds(ctx, d, run, name, reboot)
	if err == nil || flags == server.ShutdownGuestAgent || ctx.Err() != nil {
		return err
	}
	if d.view().run != run { // it went away meanwhile
		return nil
	}
	e.log.Info("the agent of a guest did not end it, so its power button is pressed", "domain", d.label, "error", err)
	return e.powerButton(ctx, uuid, name, reboot)
}

// agentEnds has the agent end the guest. A guest that is to end where it would boot again is powered off.
func (e *Engine) agentEnds(ctx context.Context, d *domain, run *running, name string, reboot bool) error {
	mode := qga.PowerDown
	if reboot && run.doc().OnReboot == actionRestart {
		mode = qga.Reboot
	}
	err := e.control(ctx, d.uuid, name, func(_ context.Context, d *domain, run *running) error {
		return e.noteReboot(d, run, name, false) // it boots again by itself, or not at all
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, agentShutsDown)
	defer cancel()
	return e.talkTo(ctx, d, run, func(ctx context.Context, _ *domain, _ *running, c *qga.Client) error {
		c.Within = 0 // as long as ctx
		err := c.Shutdown(ctx, mode)
		if errors.Is(err, qga.ErrClosed) || errors.Is(context.Cause(ctx), errChannelClosed) {
			return nil // that is how it answers
		}
		return err
	})
}

// powerButton presses it. Where a reboot is to end the guest, it just ends.
func (e *Engine) powerButton(ctx context.Context, uuid spec.UUID, name string, reboot bool) error {
	return e.control(ctx, uuid, name, func(ctx context.Context, d *domain, run *running) error {
		if err := e.noteReboot(d, run, name, reboot && run.doc().OnReboot == actionRestart); err != nil {
			return err
		}
		return monitorError(d, name, run.mon.Execute(ctx, "system_powerdown", nil, nil))
	})
}

// noteReboot notes whether a guest that ends is to boot again: a daemon that dies before it has ended leaves word. The
// caller holds the slot.
func (e *Engine) noteReboot(d *domain, run *running, name string, reboot bool) error {
	if run.rebooting.Swap(reboot) == reboot {
		return nil
	}
	if err := e.saveRecord(run); err != nil {
		return virterr.New(virterr.SystemError, "cannot write down that domain '%s' is to %s: %w", d.label, name, err)
	}
	return nil
}
