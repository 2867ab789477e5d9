package engine

import (
	"context"
	"errors"
	"slices"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/guest/plug"
)

// settle brings what is written down of a guest and what its QEMU has together, when the two may differ: a change of its
// devices failed half-way, a guest let go of a device, a daemon was killed or lost the monitor meanwhile. half is all that
// there may be. A device that QEMU does not have is not the guest's; what only such a device used is removed from QEMU and
// from the host, a drive whose medium is in doubt is emptied. When it fails the guest stays unsettled: the next change of it
// settles it first. The caller holds the domain's slot.
func (e *Engine) settle(ctx context.Context, d *domain, run *running, half *hardware) error {
	run.unsettled = true
	var seen plug.Observed
	if err := run.mon.ExecuteBatch(ctx, seen.Queries()); err != nil {
		return err
	}
	was, err := e.compileGuest(half.doc, half.rt)
	if err != nil {
		return err
	}
	next := half.without(seen.Missing(was.Config))
	var steps []plug.Step
	for _, id := range seen.Other(was.Config) {
		steps = append(steps, plug.Forced(plug.Eject(id))...)
		plug.Empty(next.doc, id)
	}
	next.pin(was.Pins)
	is, err := e.compileHardware(d, next, half)
	if err != nil {
		return err
	}
	steps = append(steps, seen.Sweep(was.Config, is.Config)...)
	steps = append(steps, seen.Threads(is.Config)...)
	for _, s := range append(steps, seen.Again(is.Startup)...) {
		err = errors.Join(err, e.step(ctx, run, s, nil))
		if ctx.Err() != nil || run.mon.Err() != nil { // not a refusal, which is final
			return err
		}
	}
	return errors.Join(err, e.settled(ctx, d, run, exchange{half, next, was, is}))
}

// settleFirst settles what an earlier change left when QEMU did not answer. The caller holds the domain's slot.
func (e *Engine) settleFirst(ctx context.Context, d *domain, run *running) error {
	if !run.unsettled {
		return nil
	}
	err := e.settle(ctx, d, run, run.hardware())
	if !run.unsettled { // what QEMU refused to remove stays, as it does after a failed change
		return nil
	}
	return err
}

// inDoubt has memory and record both say all that a guest may consist of, until that can be settled: what stops it clears
// all of it away.
func (e *Engine) inDoubt(d *domain, run *running, half *hardware) {
	if err := e.saveHardware(run, half); err != nil { // what is written down is what was noted before the change
		e.log.Error("what a guest may consist of is not written down", "domain", d.label, "error", err)
	}
	run.has.Store(half)
}

// exchange is one hardware in the place of another, each with what it compiles to.
type exchange struct {
	from, to *hardware
	was, is  *guest.Compiled
}

// settled removes from the host what a guest consists of no longer, and writes down and shows what it does.
func (e *Engine) settled(ctx context.Context, d *domain, run *running, x exchange) error {
	run.unsettled = true
	gone := slices.DeleteFunc(slices.Clone(x.from.rec.Ports), func(p port) bool {
		return slices.ContainsFunc(x.to.rec.Ports, func(o port) bool { return o.ID == p.ID })
	})
	if err := e.removePorts(ctx, record{UUID: x.from.rec.UUID, Ports: gone}); err != nil {
		return err
	}
	e.releasePorts(gone)
	if err := e.endBeside(ctx, d, run, x.is); err != nil {
		return err
	}
	x.to.rec.Companions = served(x.is)
	for _, p := range gone {
		run.setLost(p.Name, false)
	}
	for _, n := range x.was.Needs {
		if n.Access != guest.Listen || slices.ContainsFunc(x.is.Needs, func(o guest.Need) bool { return o.Path == n.Path }) {
			continue
		}
		if err := e.k.RemoveSocket(n.Path); err != nil {
			return err
		}
		x.to.rec.Sockets = slices.DeleteFunc(slices.Clone(x.to.rec.Sockets), func(s string) bool { return s == n.Path })
	}
	if err := e.saveHardware(run, x.to); err != nil {
		return virterr.New(virterr.SystemError, "cannot write down what domain '%s' consists of: %w%s", d.label, err, remedy(err))
	}
	before := run.hardware()
	run.has.Store(x.to)
	run.unsettled = false
	e.relearnBalloon(ctx, run, before.head.MaxMemKiB)
	e.tellPortsGone(ctx, x.from, x.to)
	for _, name := range aliases(before.doc) {
		if !x.to.has(name) {
			e.publish(server.DomainDeviceRemoved{Domain: d.view().ref, Alias: name})
		}
	}
	return nil
}
