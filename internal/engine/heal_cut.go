package engine

import (
	"context"

	"taproom/internal/guest/plug"
	"taproom/internal/network/heal"
)

// cut takes away QEMU's end of a NIC whose tap is lost. A QEMU that does not answer is told again until it does: it would look at
// a dead descriptor without end.
func (e *Engine) cut(ctx context.Context, d *domain, run *running, p port, nic string) error {
	err := e.step(ctx, run, plug.Cut(nic), nil)
	if err == nil {
		return nil
	}
	id := run.rec().ID
	e.work.Go(func() {
		tryAgain(e.ctx, func(ctx context.Context) error {
			j, err := d.slot.Begin(ctx, "look after the NICs of domain '"+d.label+"'")
			if err != nil {
				return err
			}
			defer j.End()
			now := d.view().run // it may have another monitor
			if now == nil || now.rec().ID != id || !now.isLost(p.Name) {
				return nil
			}
			ctx, cancel := context.WithTimeout(j.Context(), answerWithin)
			defer cancel()
			if err := e.step(ctx, now, plug.Cut(nic), nil); err != nil {
				return err
			}
			e.healer.right(heal.Thing{Kind: kindOf(p), Owner: d.uuid.String(), Name: p.Name})
			return nil
		})
	})
	return err
}
