package engine

import (
	"context"
	"errors"

	"taproom/internal/api/server"
	"taproom/internal/engine/store"
	"taproom/internal/qemu/qmp"
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

// goOnIfSaving has an adopted guest go on whose state was being written when its daemon ended, or its monitor broke. One
// whose whole state was written, and whose record says nothing of a save, goes on as the record says that it was. The caller
// holds the domain's slot.
func (e *Engine) goOnIfSaving(ctx context.Context, d *domain, run *running, status runStatus) {
	var err error
	switch {
	case run.saving != nil:
		err = e.goOnAfterSave(ctx, d, run)
	case status == statusPostMigrate && run.did.state == server.DomainRunning:
		err = e.runAgain(ctx, d, run, server.RunningSaveCanceled)
	case status == statusPostMigrate:
		err = e.leavePostMigrate(ctx, d, run)
	}
	if err != nil {
		e.problem.add(e.log, "saving domain '"+d.label+"' was interrupted: "+err.Error())
	}
}

// leavePostMigrate takes a paused guest out of the state that QEMU puts one into when its whole state was written: QEMU
// writes none a second time ("Can't migrate the vm that was paused due to previous migration"), and leaves it only by letting
// the processors run. They are stopped again at once. One that crashed or ended must not run, and stays.
func (e *Engine) leavePostMigrate(ctx context.Context, d *domain, run *running) error {
	was := run.did.state
	if d.view().ref.State != server.DomainPaused || was == server.DomainCrashed || was == server.DomainShutdown {
		return nil
	}
	status, err := run.status(ctx)
	if err != nil || status != statusPostMigrate {
		return err
	}
	return run.command(func() error {
		return run.mon.ExecuteBatch(ctx, []qmp.Command{{Name: "cont"}, {Name: "stop"}})
	})
}
