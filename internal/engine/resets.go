package engine

import (
	"context"
	"encoding/json"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/qemu/qmp"
)

// Resets of one reboot. SeaBIOS, started by a reset that left memory as it was, resets once more: 30 ms later under
// emulation, much later on a host that is busy. Linux may try several ways to reset at once.
const (
	resetsTogether = time.Second
	firmwareWithin = 10 * time.Second
)

// resets tells reboots apart from what firmware makes of one.
type resets struct {
	last   time.Time // of any
	byHost time.Time // zero once firmware has reset after it
}

// belongs notes a reset and reports whether it is part of the one before.
func (r *resets) belongs(at time.Time, byGuest bool) bool {
	last, byHost := r.last, r.byHost
	r.last, r.byHost = at, time.Time{}
	if !byGuest {
		r.byHost = at
		return false
	}
	return at.Sub(last) <= resetsTogether || at.Sub(byHost) <= firmwareWithin
}

// onReset is a guest that begins afresh. Clients hear of it whoever asked, guest or host; on_reboot is only about the
// guest's own wish.
func (e *Engine) onReset(ctx context.Context, d *domain, run *running, ev qmp.Event) {
	var data struct {
		Guest bool `json:"guest"`
	}
	_ = json.Unmarshal(ev.Data, &data)
	run.channels.reset()
	if run.resets.belongs(ev.Time, data.Guest) {
		return
	}
	if run.rebooting.Swap(false) { // it booted again by itself: when it powers off later, it means it
		e.work.Go(func() { e.writeDownBooted(ctx, d, run) })
	}
	e.publish(server.DomainReboot{Domain: d.view().ref})
	if data.Guest && run.doc().OnReboot != actionRestart {
		// There is nothing to preserve: the guest has begun anew.
		e.afterEnd(ctx, d, run, "destroy", server.ShutoffDestroyed, server.EventStoppedDestroyed)
	}
}

// writeDownBooted has the next daemon know that nothing is left to do of a reboot.
func (e *Engine) writeDownBooted(ctx context.Context, d *domain, run *running) {
	j, err := d.slot.Begin(ctx, "write down that domain '"+d.label+"' has booted")
	if err != nil {
		return
	}
	defer j.End()
	if d.view().run != run {
		return
	}
	if err := e.saveRecord(run); err != nil {
		e.log.Warn("write down that a guest has booted again", "domain", d.label, "error", err)
	}
}
