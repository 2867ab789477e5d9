package servertest

import (
	"context"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// SaveDomain implements server.DomainStates: the guest ends, and its document is remembered under the path.
func (f *Fake) SaveDomain(_ context.Context, uuid spec.UUID, r server.SaveRequest) error {
	return f.change("SaveDomain", uuid, func(d *domain) error { return f.save(d, r.Path) })
}

// save ends a guest whose state is said to be saved. The lock is held.
func (f *Fake) save(d *domain, path string) error {
	if !d.Active() {
		return virterr.New(virterr.OperationInvalid, "domain is not running")
	}
	if f.saved == nil {
		f.saved = map[string]string{}
	}
	f.saved[path] = d.doc
	f.stop(d, server.ShutoffSaved, server.EventStoppedSaved)
	return nil
}

// RestoreDomain implements server.DomainStates.
func (f *Fake) RestoreDomain(_ context.Context, r server.SaveRequest) error {
	if err := f.enter("RestoreDomain"); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	doc, ok := f.saved[r.Path]
	if !ok {
		return virterr.New(virterr.OperationFailed, "saved image %s is not a saved image of a guest", r.Path)
	}
	d, err := f.add(doc)
	if err != nil {
		return err
	}
	return f.run(d, r.Flags&server.SavePaused/server.SavePaused*server.StartPaused)
}

// SavedImageXML implements server.DomainStates.
func (f *Fake) SavedImageXML(_ context.Context, path string, _ uint32) (string, error) {
	if err := f.enter("SavedImageXML"); err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	doc, ok := f.saved[path]
	if !ok {
		return "", virterr.New(virterr.OperationFailed, "saved image %s is not a saved image of a guest", path)
	}
	return doc, nil
}

// DefineSavedImage implements server.DomainStates.
func (f *Fake) DefineSavedImage(ctx context.Context, path, xml string, _ uint32) error {
	if _, err := f.SavedImageXML(ctx, path, 0); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saved[path] = xml
	return nil
}

// ManagedSave implements server.DomainStates.
func (f *Fake) ManagedSave(_ context.Context, uuid spec.UUID, _ server.SaveRequest) error {
	return f.change("ManagedSave", uuid, func(d *domain) error {
		if !d.Persistent {
			return virterr.New(virterr.OperationInvalid, "cannot do managed save for transient domain")
		}
		if err := f.save(d, uuid.String()); err != nil {
			return err
		}
		d.ManagedSave = true
		return nil
	})
}

// RemoveManagedSave implements server.DomainStates.
func (f *Fake) RemoveManagedSave(_ context.Context, uuid spec.UUID) error {
	return f.change("RemoveManagedSave", uuid, func(d *domain) error {
		d.ManagedSave = false
		return nil
	})
}

// ManagedSaveXML implements server.DomainStates.
func (f *Fake) ManagedSaveXML(ctx context.Context, uuid spec.UUID, flags uint32) (string, error) {
	return f.SavedImageXML(ctx, uuid.String(), flags)
}

// DefineManagedSave implements server.DomainStates.
func (f *Fake) DefineManagedSave(ctx context.Context, uuid spec.UUID, xml string, flags uint32) error {
	return f.DefineSavedImage(ctx, uuid.String(), xml, flags)
}

// DumpDomain implements server.DomainStates.
func (f *Fake) DumpDomain(_ context.Context, uuid spec.UUID, _ server.DumpRequest) error {
	return f.whileRunning("DumpDomain", uuid, func(*domain) {})
}

// DomainJob implements server.DomainJobControl: it is Job of a guest that runs.
func (f *Fake) DomainJob(_ context.Context, uuid spec.UUID, completed, _ bool) (j server.Job, err error) {
	err = f.change("DomainJob", uuid, func(*domain) error {
		if (f.Job.Type == server.JobCompleted) == completed {
			j = f.Job
		}
		return nil
	})
	return j, err
}

// AbortDomainJob implements server.DomainJobControl.
func (f *Fake) AbortDomainJob(_ context.Context, uuid spec.UUID) error {
	return f.whileRunning("AbortDomainJob", uuid, func(*domain) {})
}
