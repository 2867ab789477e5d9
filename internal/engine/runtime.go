package engine

import (
	"context"
	"time"

	"taproom/internal/guest"
	"taproom/internal/spec"
)

// runtime is what was prepared for a guest, as its compiler wants it.
func (e *Engine) runtime(d *domain, rec record) (guest.Runtime, error) {
	rt := guest.Runtime{
		Accel: rec.Accel, Dir: e.places(d).dir, QMP: "qmp", Now: time.Now(),
		NICs: make([]guest.NICRuntime, rec.NICs), Pins: rec.Pins, CID: rec.CID, Adjustment: rec.Adjustment,
	}
	for _, d := range rec.Displays {
		rt.Displays = append(rt.Displays, guest.DisplayRuntime{Port: int(d.Port), WebSocket: int(d.WebSocket), Address: d.Address})
	}
	for _, p := range rec.Ports {
		rt.NICs[p.NIC].Tap = p.Name
	}
	return rt, nil
}

// accelOf is the accelerator of a document's type.
func accelOf(doc *spec.Domain) string {
	if doc.Type == "kvm" {
		return "kvm"
	}
	return "tcg"
}

// learnBalloon asks how much memory the guest has now, and reports whether it has a balloon; a guest without a balloon has
// the memory that it started with, and the modules that were plugged in since.
func (e *Engine) learnBalloon(ctx context.Context, run *running) bool {
	var reply struct {
		Actual uint64 `json:"actual"`
	}
	err := run.mon.Execute(ctx, "query-balloon", nil, &reply)
	if err == nil {
		run.balloonKiB.Store(reply.Actual >> 10)
	}
	return err == nil
}

// relearnBalloon is learnBalloon after modules were plugged in or out, of which QEMU sends no BALLOON_CHANGE. beforeKiB is the most
// memory that the guest had before.
func (e *Engine) relearnBalloon(ctx context.Context, run *running, beforeKiB uint64) {
	now := run.head().MaxMemKiB
	if now != beforeKiB && !e.learnBalloon(ctx, run) {
		run.balloonKiB.Add(now - beforeKiB)
	}
}
