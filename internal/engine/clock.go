package engine

import (
	"context"
	"encoding/json"
	"strconv"

	"taproom/internal/api/server"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// rtcChange is the data of RTC_CHANGE. QEMU counts from the time that it was started with; libvirt counts from UTC.
type rtcChange struct {
	Offset int64 `json:"offset"` // seconds
}

// onClock is a guest that set its clock. Where the document leaves that to the guest (offset='variable'), how far it is
// from UTC is written down, and is part of the live document: a guest that is saved goes on with it.
func (e *Engine) onClock(ctx context.Context, d *domain, run *running, ev qmp.Event) {
	var data rtcChange
	if json.Unmarshal(ev.Data, &data) != nil {
		return
	}
	offset, adjusts := adjustment(run.doc(), data.Offset)
	e.publish(server.DomainRTCChange{Domain: d.view().ref, Offset: offset})
	if adjusts && run.adjusted.Swap(&offset) == nil { // otherwise somebody is about to write one down, and takes this one
		e.work.Go(func() { e.adjust(ctx, d, run) })
	}
}

// adjustment is how far a guest's clock is from UTC, and whether that is the guest's to say.
func adjustment(doc *spec.Domain, offset int64) (int64, bool) {
	k := doc.Clock
	if k == nil || k.Offset != "variable" {
		return offset, false
	}
	began, _ := strconv.ParseInt(k.Adjustment, 10, 64) // nothing is 0
	return began + offset, true
}

// adjust writes down how far the clock of a guest is from UTC now.
func (e *Engine) adjust(ctx context.Context, d *domain, run *running) {
	j, err := d.slot.Begin(ctx, "note the clock of domain '"+d.label+"'")
	if err != nil {
		run.adjusted.Store(nil)
		return
	}
	defer j.End()
	offset := run.adjusted.Swap(nil)
	if offset == nil || d.view().run != run {
		return
	}
	next := *run.hardware()
	next.rec.Adjustment = strconv.FormatInt(*offset, 10)
	next.rt.Adjustment = next.rec.Adjustment
	run.has.Store(&next)
	if err := e.saveRecord(run); err != nil {
		e.log.Warn("how far a guest's clock is from UTC is not written down", "domain", d.label, "error", err)
	}
}
