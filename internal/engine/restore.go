package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/job"
	"taproom/internal/guest/saveimage"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// source is where the state of a guest comes from that does not boot.
type source struct {
	image   *savedImage
	managed bool // the image is the domain's own, and goes when the guest runs
	work    *domainJob
}

// RestoreDomain implements server.DomainStates. The guest becomes the domain of the image's document, or a transient one.
func (e *Engine) RestoreDomain(ctx context.Context, r server.SaveRequest) error {
	if !filepath.IsAbs(r.Path) {
		return virterr.New(virterr.InvalidArg, "the file to restore from is '%s'; name it from / on", r.Path)
	}
	trace := job.NewTrace()
	read := trace.Stage("parse")
	image, doc, err := e.openForRestore(ctx, r)
	if err != nil {
		return err
	}
	read()
	defer image.close()
	d, j, err := e.hold(ctx, doc, "restore")
	if err != nil {
		return err
	}
	defer j.End()
	if err := startsElsewhere(d); err != nil {
		return err
	}
	_, err = e.startFrom(j, d, doc, startFlags(r.Flags), trace, &source{image: image})
	e.letGoOf(d)
	return err
}

// startFlags are the flags of a start that mean what these of a restore do.
func startFlags(restore uint32) (start uint32) {
	if restore&server.SavePaused != 0 {
		start |= server.StartPaused
	}
	if restore&server.SaveResetNVRAM != 0 {
		start |= server.StartResetNVRAM
	}
	return start
}

// openForRestore opens an image, with the document that the guest gets.
func (e *Engine) openForRestore(ctx context.Context, r server.SaveRequest) (*savedImage, *spec.Domain, error) {
	if r.Flags&server.SaveRunning != 0 && r.Flags&server.SavePaused != 0 {
		return nil, nil, virterr.New(virterr.InvalidArg, "a guest cannot be both running and paused when it is restored")
	}
	image, err := e.openSaved(r.Path, os.O_RDONLY)
	if err != nil {
		return nil, nil, err
	}
	image.bypass = r.Flags&server.SaveBypassCache != 0
	doc, err := e.savedDocument(ctx, image)
	if err == nil && r.XML != "" {
		doc, err = e.otherDocument(ctx, doc, r.XML)
	}
	if err == nil {
		doc, err = e.restoreHook(ctx, doc)
	}
	if err != nil {
		image.close()
		return nil, nil, err
	}
	if r.Flags&server.SaveRunning != 0 {
		image.header.Running = true
	}
	return image, doc, nil
}

// startFrom starts a guest with a saved state, as a job that clients can watch. The caller holds the slot through j.
func (e *Engine) startFrom(j *job.Job, d *domain, doc *spec.Domain, flags uint32, trace *job.Trace, from *source) (server.Domain, error) {
	from.work = d.jobs.begin(j, nil, server.JobOperationRestore)
	if !from.image.header.Running {
		flags |= server.StartPaused
	}
	ref, err := e.start(from.work.ctx, d, doc, flags, trace, from)
	e.endJob(d, from.work, err)
	return ref, err
}

// load has QEMU read the guest's state. A QEMU that cannot ends itself, and its last words say why.
func (s *starting) load(ctx context.Context) error {
	ours, theirs, err := s.e.k.BulkPipe(false)
	if err != nil {
		return err
	}
	err = s.running.mon.GetFD(ctx, stateFD, theirs)
	_ = theirs.Close() // QEMU has its own
	t := s.e.feed(s.from.image, ours)
	s.from.work.moved.Store(&t.bytes)
	if err == nil {
		err = s.running.readState(ctx)
	}
	if err == nil {
		if err = t.end(ctx); err == nil {
			return nil
		}
		return savedError(s.from.image.path, err)
	}
	t.cut()
	if damage := t.damage(); damage != nil {
		return savedError(s.from.image.path, damage)
	}
	hint := ""
	if s.doc.VCPUs == nil && s.doc.VCPU.Current != "" { // an earlier build did not write down which were plugged in
		hint = "; if virtual CPUs had been plugged into the guest, have its document say in <vcpus> which (virsh save-image-edit)"
	}
	return virterr.New(virterr.OperationFailed, "saved image %s: QEMU cannot read the state: %w%s", s.from.image.path, s.settleError(ctx, err), hint)
}

// damage is what is wrong with the stream itself.
func (t *transfer) damage() error {
	<-t.done // it was cut
	var bad *saveimage.DamagedError
	var odd *saveimage.UnsupportedError
	if errors.As(t.err, &bad) || errors.As(t.err, &odd) {
		return t.err
	}
	return nil
}

// readState has a QEMU that was started for it read a state from the descriptor it has, and waits until it has. Nobody else
// reads its events yet.
func (run *running) readState(ctx context.Context) error {
	if err := run.mon.ExecuteBatch(ctx, []qmp.Command{
		tellsOfMigrations(),
		{Name: "migrate-incoming", Args: map[string]any{"uri": "fd:" + stateFD}},
	}); err != nil {
		return err
	}
	for {
		m, err := run.queryMigration(ctx)
		switch {
		case err != nil:
			return err
		case m.Status == "completed":
			return nil
		case m.Status == "failed":
			return m.failed()
		}
		if err := run.migrationStep(ctx); err != nil {
			return err
		}
	}
}

// migrationStep waits until QEMU tells of the next step.
func (run *running) migrationStep(ctx context.Context) error {
	for {
		select {
		case ev, ok := <-run.mon.Events():
			if !ok {
				return run.mon.Err()
			}
			if ev.Name == "MIGRATION" {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// forgetImage removes the managed image that a guest was started from: its disks have changed since. The record names the
// image until it is gone. Nobody sees the guest yet.
func (e *Engine) forgetImage(d *domain, run *running) {
	r := run.rec()
	if r.Image == "" {
		return
	}
	if err := e.k.Remove(r.Image); err != nil {
		e.problem.add(e.log, fmt.Sprintf("domain '%s' was restored from %s, which cannot be removed (%v); remove it before the guest is started again, or its disks will be damaged", d.label, r.Image, err))
		return
	}
	r.Image = ""
	d.update(func(v *view) { v.ref.ManagedSave = false })
}
