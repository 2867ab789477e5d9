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

// learnBalloon asks how much memory the guest has now; a guest without a balloon has what it started with.
func (e *Engine) learnBalloon(ctx context.Context, run *running) {
	var reply struct {
		Actual uint64 `json:"actual"`
	}
	if err := run.mon.Execute(ctx, "query-balloon", nil, &reply); err == nil {
		run.balloonKiB.Store(reply.Actual >> 10)
	}
}
