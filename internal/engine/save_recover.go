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

// goOnIfSaving resumes an adopted guest whose state was being written when its daemon ended, or its monitor broke. A guest
// whose whole state was written, and whose record contains no save, resumes in the state of its record. The caller holds the
// domain's slot.
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

// leavePostMigrate takes a paused guest out of QEMU's status postmigrate, which follows the writing of its whole state: QEMU
// writes no second state ("Can't migrate the vm that was paused due to previous migration"), and leaves it only by letting
// the processors run. They are stopped again at once. A guest that crashed or shut down must not run, and stays.
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
