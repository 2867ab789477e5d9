package engine

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/job"
	"taproom/internal/spec"
)

// recallSaves finds the images that domains have of their own, and removes what was not finished: no guest's record
// names it.
func (e *Engine) recallSaves(context.Context) error {
	entries, err := e.k.ReadDir(e.paths.Saves())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_, err = e.k.SweepTemp(e.paths.Saves()) // of a document that was being changed
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), saveSuffix)
		uuid, err := spec.ParseUUID(name)
		if !ok || err != nil {
			continue
		}
		if d, ok := e.domains.uuid(uuid); ok {
			d.update(func(v *view) { v.ref.ManagedSave = true })
		}
	}
	return nil
}

// startManaged starts a guest from the image of its own.
func (e *Engine) startManaged(j *job.Job, d *domain, flags uint32, trace *job.Trace) (server.Domain, error) {
	r := server.SaveRequest{Path: e.paths.Save(d.uuid.String())}
	if flags&server.StartBypassCache != 0 {
		r.Flags = server.SaveBypassCache
	}
	read := trace.Stage("parse")
	image, doc, err := e.openForRestore(j.Context(), r)
	if err != nil {
		return server.Domain{}, virterr.New(virterr.CodeOf(err), "cannot start domain '%s' from its managed save image: %w; `virsh start --force-boot %s` boots it afresh and discards the image", d.label, err, d.label)
	}
	read()
	defer image.close()
	if doc.Name != d.label || *doc.UUID != d.uuid {
		return server.Domain{}, virterr.New(virterr.OperationFailed, "cannot start domain '%s' from its managed save image: that is of domain '%s' with uuid %s", d.label, doc.Name, doc.UUID)
	}
	return e.startFrom(j, d, doc, flags, trace, &source{image: image, managed: true})
}

// startsElsewhere refuses a start that is not from a domain's definition: of one that runs, and of one that has an image of
// its own. What the guest would write to its disks now, it would not know of when it goes on from that.
func startsElsewhere(d *domain) error {
	switch v := d.view(); {
	case v.run != nil:
		return alreadyRuns(d)
	case v.ref.ManagedSave:
		return virterr.New(virterr.OperationInvalid, "domain '%s' has a managed save image, which would not fit its disks any more; start it with `virsh start %s`, or remove the image with `virsh managedsave-remove %s`", d.label, d.label, d.label)
	}
	return nil
}

// dropManaged removes the image of a domain. The caller holds its slot.
func (e *Engine) dropManaged(d *domain) error {
	if err := e.k.Remove(e.paths.Save(d.uuid.String())); err != nil {
		return virterr.New(virterr.SystemError, "cannot remove the managed save image of domain '%s': %w", d.label, err)
	}
	d.update(func(v *view) { v.ref.ManagedSave = false })
	return nil
}

// managedAtUndefine refuses to forget a domain whose saved state nobody decided about.
func managedAtUndefine(d *domain, flags uint32) error {
	if d.view().ref.ManagedSave && flags&server.UndefineManagedSave == 0 {
		return virterr.New(virterr.OperationInvalid, "Refusing to undefine while domain managed save image exists: domain '%s'; use --managed-save to remove it", d.label)
	}
	return nil
}

// RemoveManagedSave implements server.DomainStates. Removing what is not there is no error.
func (e *Engine) RemoveManagedSave(ctx context.Context, uuid spec.UUID) error {
	return e.withManaged(ctx, uuid, "remove the managed save of", func(d *domain) error { return e.dropManaged(d) })
}

// ManagedSaveXML implements server.DomainStates.
func (e *Engine) ManagedSaveXML(ctx context.Context, uuid spec.UUID, flags uint32) (xml string, err error) {
	err = e.withManaged(ctx, uuid, "read the managed save of", func(d *domain) error {
		if err := d.hasManaged(); err != nil {
			return err
		}
		xml, err = e.SavedImageXML(ctx, e.paths.Save(uuid.String()), flags)
		return err
	})
	return xml, err
}

// DefineManagedSave implements server.DomainStates.
func (e *Engine) DefineManagedSave(ctx context.Context, uuid spec.UUID, xml string, flags uint32) error {
	return e.withManaged(ctx, uuid, "change the managed save of", func(d *domain) error {
		if err := d.hasManaged(); err != nil {
			return err
		}
		return e.DefineSavedImage(ctx, e.paths.Save(uuid.String()), xml, flags)
	})
}

func (d *domain) hasManaged() error {
	if !d.view().ref.ManagedSave {
		return virterr.New(virterr.OperationInvalid, "domain '%s' does not have managed save image", d.label)
	}
	return nil
}

// withManaged does something with the image of a domain as a job.
func (e *Engine) withManaged(ctx context.Context, uuid spec.UUID, what string, f func(*domain) error) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	j, err := d.slot.BeginWithin(ctx, answerWithin, what+" domain '"+d.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	return f(d)
}
