package engine

import (
	"context"
	"errors"

	"taproom/internal/api/server"
	"taproom/internal/engine/store"
)

// finishSave ends a guest whose state was written whole by a daemon that did not live to end it: the image gets its name,
// and nothing runs any more.
func (e *Engine) finishSave(ctx context.Context, d *domain, i store.Item[record]) error {
	s := *i.Head.Saving
	if err := publishImage(e.k, s); err != nil {
		return errors.Join(err, errors.New("its state is in "+s.Temp))
	}
	i.Head.Saving = nil
	_ = e.clearAway(ctx, d, i.Head) // stays a problem until it can be
	d.update(func(v *view) {
		v.ref.Reason = server.ShutoffSaved
		v.ref.ManagedSave = v.ref.ManagedSave || s.Path == e.paths.Save(d.uuid.String())
	})
	e.letGoOf(d)
	return nil
}

// goOnIfSaving has an adopted guest go on whose state was being written when its daemon ended, or its monitor broke. The
// caller holds the domain's slot.
func (e *Engine) goOnIfSaving(ctx context.Context, d *domain, run *running) {
	if run.saving == nil {
		return
	}
	if err := e.goOnAfterSave(ctx, d, run); err != nil {
		e.problem.add(e.log, "saving domain '"+d.label+"' was interrupted: "+err.Error())
	}
}
