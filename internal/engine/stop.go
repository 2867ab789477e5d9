package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/host"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// quitWithin is how long QEMU may take to end by itself: it flushes its images. libvirt gives it as long.
const quitWithin = 10 * time.Second

// goneWithin is how long a killed QEMU may take to be gone.
const goneWithin = 10 * time.Second

// DestroyDomain implements server.DomainJobs. It cuts short whatever else is done to the domain, and works on a QEMU that
// answers nothing.
func (e *Engine) DestroyDomain(ctx context.Context, uuid spec.UUID, flags uint32) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	was := d.view().run
	cut := d.slot.Current()
	j, err := d.slot.Preempt(ctx, "destroy domain '"+d.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	run, err := d.running()
	if err != nil {
		if was == nil && strings.HasPrefix(cut, "start ") {
			return nil // a start was cut short, and took back what it had made
		}
		if o := e.orphans.of(uuid); o != nil {
			return e.end(j.Context(), o)
		}
		return err
	}
	if flags&server.DestroyGraceful != 0 {
		if err := e.quit(j.Context(), run, nil); err != nil {
			return virterr.New(virterr.OperationFailed, "domain '%s' did not end by itself within %v: %w", d.label, quitWithin, err)
		}
	}
	return e.stop(context.WithoutCancel(j.Context()), d, run, server.ShutoffDestroyed, server.EventStoppedDestroyed)
}

// quit asks QEMU to end, does something meanwhile where that is not nil, and waits for it.
func (e *Engine) quit(ctx context.Context, run *running, meanwhile func()) error {
	if run.proc == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, quitWithin)
	defer cancel()
	if err := run.proc.Signal(unix.SIGTERM); err != nil {
		if errors.Is(err, host.ErrGone) {
			return nil
		}
		return err
	}
	if meanwhile != nil {
		meanwhile()
	}
	_, err := run.proc.Wait(ctx)
	return err
}

// stop ends a guest and removes what was made for it. The caller holds the slot.
func (e *Engine) stop(ctx context.Context, d *domain, run *running, reason, detail int32) error {
	run.settling.Store(true)
	kept := keepMacvtaps(run)
	rec := e.withStrays(run.record(run.hardware()))
	// It has been told to end, and will: its taps can go at once. It would close one after the other, 20 ms each.
	if err := e.quit(ctx, run, func() { _ = e.removePorts(ctx, rec) }); err != nil { // tried again by release
		e.log.Warn("QEMU does not end by itself and is killed", "domain", d.label, "error", err)
	}
	e.work.Go(kept.Close)
	run.beside.settle()
	run.letGo()
	document := func() []byte { return run.live(false).Format() }
	e.tellEnd(ctx, d, "stopped", document)
	e.tellPortsGone(ctx, run.hardware(), nil)
	err := e.clearAway(ctx, d, rec)
	e.tellEnd(ctx, d, "release", document)
	v := d.update(func(v *view) {
		v.run, v.ref.ID, v.ref.State, v.ref.Reason, v.ref.Updated = nil, -1, server.DomainShutoff, reason, false
	})
	if v.def == nil {
		e.domains.remove(d)
	}
	e.publish(server.DomainLifecycle{Domain: v.ref, Event: server.EventStopped, Detail: detail})
	if err != nil {
		return virterr.New(virterr.OperationFailed, "domain '%s' ended, but removing what was made for it failed: %w", d.label, err)
	}
	return nil
}

// keepMacvtaps has QEMU end without closing its macvtaps: for the last descriptor of each the kernel waits for a grace period,
// also when its link is gone, and it would close one after the other. Here they are closed side by side, when it has ended.
func keepMacvtaps(run *running) host.Kept {
	if run.proc == nil || len(linksOf(*run.rec()).Macvlans) < 2 {
		return nil
	}
	return run.proc.KeepFiles("/dev/tap")
}

// release removes everything that a record names. It may be called again, and for a guest that never came to be: each
// part that is gone is success. The record goes last.
func (e *Engine) release(ctx context.Context, d *domain, rec record) error {
	var errs []error
	keep := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	keep(e.killGuest(rec.UUID, rec.Cgroup))
	keep(e.removePorts(ctx, rec))
	keep(e.leaveAccess(ctx, rec.UUID))
	gone := e.awaitGone(ctx, rec)
	if keep(gone); gone == nil { // its pid file says who it is, until it is gone
		keep(e.k.RemoveAll(e.places(d).dir))
	}
	if rec.MemoryDir != "" {
		keep(e.k.RemoveAll(rec.MemoryDir))
	}
	if rec.Saving != nil && rec.Saving.Temp != "" {
		keep(e.k.Remove(rec.Saving.Temp)) // a whole image has its name already
	}
	for _, path := range rec.Sockets {
		keep(e.k.RemoveSocket(path))
	}
	if len(errs) == 0 {
		keep(e.forgetTPM(rec))
	}
	if len(errs) == 0 {
		keep(e.records.Delete(rec.UUID.String()))
	}
	if len(errs) == 0 {
		e.releaseNames(rec)
	}
	return errors.Join(errs...)
}

// removePorts removes the guest's links. Taps go with QEMU too, but that takes longer the more there are; macvtaps stay.
func (e *Engine) removePorts(ctx context.Context, rec record) error {
	if len(rec.Ports) == 0 {
		return nil
	}
	if err := e.leaveSwitch(ctx, rec); err != nil {
		return err
	}
	links := linksOf(rec)
	scope := state.State{Ports: links.Ports, Macvlans: links.Macvlans, Shapers: links.Shapers}.Scope()
	scope.Owner = rec.UUID.String() // a name whose link somebody deleted may be another guest's by now
	if _, err := e.converge(ctx, state.State{}, scope); err != nil {
		return err
	}
	if err := e.unfilterLinks(ctx, rec.UUID, filteredNames(rec.Ports)); err != nil { // now that they carry nothing any more
		return err
	}
	return e.giveBackAddresses(ctx, rec)
}
