package engine

import (
	"context"

	"taproom/internal/api/server"
	"taproom/internal/spec"
)

// EndRun implements server.DomainRuns. The run of a guest that ended meanwhile, or was started again, is not the one.
func (e *Engine) EndRun(ctx context.Context, uuid spec.UUID, id int32) error {
	d, err := e.domain(uuid)
	if err != nil {
		return nil //nolint:nilerr // it is gone: that is what is wanted
	}
	j, err := d.slot.Preempt(ctx, "end domain '"+d.label+"', whose client has gone")
	if err != nil {
		return err
	}
	defer j.End()
	run := d.view().run
	if run == nil || run.rec().ID != id {
		return nil
	}
	return e.stop(context.WithoutCancel(j.Context()), d, run, server.ShutoffDestroyed, server.EventStoppedDestroyed)
}

// endAutodestroyed ends an adopted guest that was to end with a client: no connection outlives a daemon.
func (e *Engine) endAutodestroyed(d *domain, run *running) {
	e.work.Go(func() {
		if err := e.EndRun(e.ctx, d.uuid, run.rec().ID); err != nil {
			e.log.Error("end a guest whose client has gone", "domain", d.label, "error", err)
		}
	})
}
