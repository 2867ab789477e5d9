package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/guest/saveimage"
	"taproom/internal/host"
	"taproom/internal/spec"
)

// saving is what is written down of a guest before its state is written to a file, so that who finds it knows what to
// remove, whether the guest is to run again, or, when Done, that it has ended and its state is in the file.
type saving struct {
	Path   string `json:"path"`
	Temp   string `json:"temp,omitempty"` // renamed to Path when it is whole; "" for a device
	Resume bool   `json:"resume,omitempty"`
	Done   bool   `json:"done,omitempty"`
	// File is which file was written, once it is whole: names can be given to another one.
	File *host.FileID `json:"file,omitempty"`
	Dump bool         `json:"dump,omitempty"` // the guest's memory, and the guest goes on
}

// SaveDomain implements server.DomainStates.
func (e *Engine) SaveDomain(ctx context.Context, uuid spec.UUID, r server.SaveRequest) error {
	if !filepath.IsAbs(r.Path) {
		return virterr.New(virterr.InvalidArg, "the file to save to is '%s'; name it from / on", r.Path)
	}
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	return e.saveDomain(ctx, d, r)
}

// ManagedSave implements server.DomainStates.
func (e *Engine) ManagedSave(ctx context.Context, uuid spec.UUID, r server.SaveRequest) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	if d.view().def == nil {
		return virterr.New(virterr.OperationInvalid, "cannot do managed save for transient domain '%s'; use virsh save", d.label)
	}
	if err := e.k.Mkdir(e.paths.Saves(), 0o700); err != nil {
		return virterr.Wrap(virterr.SystemError, err)
	}
	r.Path = e.paths.Save(uuid.String())
	return e.saveDomain(ctx, d, r)
}

// saveDomain saves a guest as a job: its state goes to a file, and the guest ends.
func (e *Engine) saveDomain(ctx context.Context, d *domain, r server.SaveRequest) error {
	if r.Flags&server.SaveRunning != 0 && r.Flags&server.SavePaused != 0 {
		return virterr.New(virterr.InvalidArg, "a guest cannot be both running and paused when it is restored")
	}
	format, err := saveimage.ParseFormat(cmp.Or(r.Format, e.cfg.SaveFormat, rawFormat))
	if err != nil {
		return virterr.Wrap(virterr.InvalidArg, err)
	}
	j, err := d.slot.BeginWithin(ctx, answerWithin, "save domain '"+d.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	run, err := d.running()
	if err != nil {
		return err
	}
	if run.rec().Autodestroy {
		return virterr.New(virterr.OperationInvalid, "domain '%s' is marked for auto destroy", d.label)
	}
	s := &savingJob{e: e, d: d, run: run, request: r, header: saveimage.Header{Format: format}}
	if err := s.document(j.Context()); err != nil {
		return err
	}
	work := d.jobs.begin(j, run, server.JobOperationSave)
	s.work = work
	err = s.do(work.ctx)
	e.endJob(d, work, err)
	return err
}

// savingJob is one save under way. The caller holds the domain's slot.
type savingJob struct {
	e       *Engine
	d       *domain
	run     *running
	request server.SaveRequest
	header  saveimage.Header
	work    *domainJob
}

// do writes the image and ends the guest; a guest that could not be saved goes on as before.
func (s *savingJob) do(ctx context.Context) error {
	e, d, run := s.e, s.d, s.run
	device, err := inPlace(s.request.Path)
	if err != nil {
		return s.cannot(fileError(s.request.Path, err))
	}
	run.saving = &saving{Path: s.request.Path, Resume: d.view().ref.State == server.DomainRunning}
	if !device {
		run.saving.Temp = tempName(s.request.Path, d.uuid.String())
	}
	if err := e.saveRecord(run); err != nil {
		run.saving = nil
		return s.cannot(err)
	}
	if err := s.write(ctx); err != nil {
		return besides(s.cannot(err), e.goOnAfterSave(ctx, d, run))
	}
	return s.publish(ctx)
}

// publish gives a state that is whole its name, and ends the guest that it is of.
func (s *savingJob) publish(ctx context.Context) error {
	e, d, run := s.e, s.d, s.run
	if err := publishImage(e.k, *run.saving); err != nil {
		return besides(s.cannot(fileError(s.request.Path, err)), e.unsave(ctx, d, run))
	}
	if s.request.Path == e.paths.Save(d.uuid.String()) {
		d.update(func(v *view) { v.ref.ManagedSave = true })
	}
	return e.stop(context.WithoutCancel(ctx), d, run, server.ShutoffSaved, server.EventStoppedSaved)
}

// write stops the guest and writes its state. When it returns nil the image is whole, and that is written down: the point
// of no return.
func (s *savingJob) write(ctx context.Context) error {
	e, run := s.e, s.run
	head, err := s.header.Bytes(false)
	if err != nil {
		return err
	}
	to, err := e.createImage(*run.saving, s.request.Flags&server.SaveBypassCache != 0, true)
	if err != nil {
		return fileError(s.request.Path, err)
	}
	defer to.f.Close()
	if _, err := to.f.Write(head); err != nil {
		return fileError(s.request.Path, err)
	}
	if run.saving.Resume {
		if err := e.standStill(ctx, s.d, run, server.PausedSave); err != nil {
			return err
		}
	}
	if err := s.complete(ctx); err != nil {
		return err
	}
	if err := e.stream(ctx, run, s.work, to, int64(len(head)), s.header.Format); err != nil {
		return err
	}
	if err := to.complete(); err != nil {
		return fileError(s.request.Path, err)
	}
	if err := run.saving.identify(e.k, to); err != nil {
		return fileError(s.request.Path, err)
	}
	run.saving.Done = true
	if err := e.saveRecord(run); err != nil {
		run.saving.Done = false
		return err
	}
	return nil
}

// standStill stops a guest's processors for a reason of the daemon's.
func (e *Engine) standStill(ctx context.Context, d *domain, run *running, reason int32) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := run.command(func() error { return run.mon.Execute(ctx, "stop", nil, nil) }); err != nil {
		return err
	}
	e.paused(d, run, reason, server.EventSuspendedPaused)
	return nil
}

// stream writes a guest's state into a file.
func (e *Engine) stream(ctx context.Context, run *running, work *domainJob, to *imageFile, at int64, f saveimage.Format) error {
	ours, theirs, err := e.k.BulkPipe(true)
	if err != nil {
		return err
	}
	t := e.store(ours, to, at, f)
	work.moved.Store(&t.bytes)
	err = run.sendState(ctx, theirs)
	_ = theirs.Close() // QEMU has its own
	if err == nil {
		var m migration
		if m, err = run.stateSent(ctx); err == nil {
			err = m.failed()
			work.last.Store(&m)
		}
	}
	if err != nil {
		t.cut()
		if cause := t.failedBefore(err); cause != nil {
			return fileError(to.path, cause)
		}
		return err
	}
	if err := t.end(ctx); err != nil {
		return fileError(to.path, err)
	}
	return nil
}

// failedBefore is why the file could not be written, when that is why QEMU could not go on.
func (t *transfer) failedBefore(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	<-t.done // it was cut
	var timeout interface{ Timeout() bool }
	if errors.As(t.err, &timeout) && timeout.Timeout() {
		return nil // by us
	}
	return t.err
}

// unsave is goOnAfterSave where the state is whole and cannot get its name. The record says first that there is none: a
// daemon that believed in one would end the guest.
func (e *Engine) unsave(ctx context.Context, d *domain, run *running) error {
	run.saving.Done = false
	if err := e.saveRecord(run); err != nil {
		run.saving.Done = true
		return fmt.Errorf("domain '%s' stands still, and its state is in %s: %w", d.label, run.saving.Temp, err)
	}
	return e.goOnAfterSave(ctx, d, run)
}

// goOnAfterSave has a guest go on whose state was not saved to the end: nothing is left of the file, and the guest runs if
// it did. A guest that is being destroyed is not waited for. The caller holds the domain's slot.
func (e *Engine) goOnAfterSave(ctx context.Context, d *domain, run *running) error {
	ctx, cancel := settingBack(ctx, cancelWithin)
	defer cancel()
	s := *run.saving
	err := run.cancelState(ctx)
	if s.Temp != "" {
		err = errors.Join(err, e.k.Remove(s.Temp))
	}
	if err == nil && s.Resume {
		reason := int32(server.RunningSaveCanceled)
		if s.Dump {
			reason = server.RunningUnpaused
		}
		err = e.runAgain(ctx, d, run, reason)
	} else if err == nil {
		err = e.leavePostMigrate(ctx, d, run)
	}
	if err != nil { // the record says what is still to do
		return fmt.Errorf("domain '%s' stands still and cannot go on now: %w; use virsh resume", d.label, err)
	}
	run.saving = nil
	return e.remember(d, run)
}

// runAgain lets a guest's processors run that the daemon had stopped.
func (e *Engine) runAgain(ctx context.Context, d *domain, run *running, reason int32) error {
	if err := run.command(func() error { return run.mon.Execute(ctx, "cont", nil, nil) }); err != nil {
		return err
	}
	v, changed := d.setState(run, server.DomainRunning, reason)
	if changed {
		e.publish(server.DomainLifecycle{Domain: v.ref, Event: server.EventResumed, Detail: server.EventResumedUnpaused})
	}
	return nil
}

// cannot says which guest could not be saved, and why.
func (s *savingJob) cannot(err error) error {
	return jobError("save domain '"+s.d.label+"'", "domain save job", err)
}
