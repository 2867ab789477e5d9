package engine

import (
	"context"
	"errors"
	"fmt"

	"taproom/internal/api/own"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/job"
	"taproom/internal/engine/store"
	"taproom/internal/guest"
	"taproom/internal/spec"
)

// DefineDomain implements server.DomainJobs.
func (e *Engine) DefineDomain(ctx context.Context, xml string, _ uint32) (server.Domain, error) {
	doc, err := e.completeDomain(ctx, []byte(xml))
	if err != nil {
		return server.Domain{}, err
	}
	return e.define(ctx, doc)
}

// completeDomain reads a domain document and fills in what it leaves open, as it is done once and for all at define.
func (e *Engine) completeDomain(ctx context.Context, xml []byte) (*spec.Domain, error) {
	return e.readDomain(ctx, xml, guest.Complete)
}

// readDomain reads a domain document and completes it, as a definition (guest.Complete) or as that of a guest that runs
// (guest.CompleteRunning).
func (e *Engine) readDomain(ctx context.Context, xml []byte, complete func(*spec.Domain, guest.HostFacts) error) (*spec.Domain, error) {
	doc, err := spec.ParseDomain(xml)
	if err != nil {
		return nil, documentError(err)
	}
	if err := notTooLong(xml); err != nil {
		return nil, about("domain", doc.Name, err)
	}
	if err := e.acceleratorOf(doc); err != nil {
		return nil, err
	}
	if err := e.completeAs(ctx, doc, complete); err != nil { // a request may carry several documents
		return nil, about("domain", doc.Name, err)
	}
	return doc, nil
}

// about says whose document an error is about, unless the name is what is wrong.
func about(kind, name string, err error) error {
	var invalid *spec.InvalidError
	if err == nil || errors.As(err, &invalid) && invalid.Element == "name" {
		return err
	}
	return fmt.Errorf("%s '%s': %w", kind, name, err)
}

// notTooLong refuses a document that could be defined and not be read back.
func notTooLong(xml []byte) error {
	if len(xml) <= own.MaxDocument {
		return nil
	}
	return virterr.New(virterr.XMLError, "the document has %d bytes; at most %d MiB can be shown to clients again", len(xml), own.MaxDocument>>20)
}

// complete checks a document and fills in what it leaves open. What it says does not name the domain.
func (e *Engine) complete(ctx context.Context, doc *spec.Domain) error {
	return e.completeAs(ctx, doc, guest.Complete)
}

// completeAs is complete for a definition (guest.Complete) or for what runs (guest.CompleteRunning).
func (e *Engine) completeAs(ctx context.Context, doc *spec.Domain, complete func(*spec.Domain, guest.HostFacts) error) error {
	if err := doc.Validate(); err != nil {
		return documentError(err)
	}
	facts, err := e.hostFacts(ctx, e.emulatorOf(doc))
	if err != nil {
		return err
	}
	return documentError(complete(doc, facts))
}

// acceleratorOf refuses a document that asks for KVM where KVM does not work, with the reason.
func (e *Engine) acceleratorOf(doc *spec.Domain) error {
	if doc.Type != "kvm" {
		return nil
	}
	if kvm := e.kvm(); !kvm.Usable {
		return virterr.New(virterr.ConfigUnsupported, "domain '%s' has type='kvm', and KVM does not work here: %s; use type='qemu', or `taproom up --accel auto`", doc.Name, kvm.Reason)
	}
	return nil
}

// documentError gives what spec and guest say about a document libvirt's number for it.
func documentError(err error) error {
	var (
		syntax      *spec.SyntaxError
		unsupported *spec.UnsupportedError
	)
	switch {
	case errors.As(err, &unsupported):
		return virterr.Wrap(virterr.ConfigUnsupported, err)
	case errors.As(err, &syntax):
		return virterr.Wrap(virterr.XMLDetail, err)
	}
	return virterr.Wrap(virterr.XMLError, err)
}

// define keeps a completed document, as a new domain or in place of one with the same name and UUID.
func (e *Engine) define(ctx context.Context, doc *spec.Domain) (server.Domain, error) {
	d, j, err := e.hold(ctx, doc, "define")
	if err != nil {
		return server.Domain{}, err
	}
	defer j.End()
	return e.redefine(d, doc)
}

// redefine is define for a caller that holds the domain's slot.
func (e *Engine) redefine(d *domain, doc *spec.Domain) (server.Domain, error) {
	head := headOf(doc)
	if old := d.view().def; old != nil {
		head.Autostart, head.AutostartOnce = old.head.Autostart, old.head.AutostartOnce
	}
	def := &defined{head: head, xml: doc.Format()}
	if err := e.keep(d, def); err != nil {
		e.letGoOf(d)
		return server.Domain{}, err
	}
	detail := int32(server.EventDefinedAdded)
	v := d.update(func(v *view) {
		if v.def != nil {
			detail = server.EventDefinedUpdated
		}
		v.def, v.ref.Persistent = def, true
		v.ref.Updated = v.run != nil
	})
	e.publish(server.DomainLifecycle{Domain: v.ref, Event: server.EventDefined, Detail: detail})
	return v.ref, nil
}

// keep writes a definition to disk.
func (e *Engine) keep(d *domain, def *defined) error {
	err := e.definitions.Put(store.Item[definition]{Key: d.uuid.String(), Head: def.head, Doc: def.xml})
	if err != nil {
		return virterr.New(virterr.SystemError, "cannot save the definition of domain '%s': %w%s", d.label, err, remedy(err))
	}
	return nil
}

// hold finds the domain a document is about, or makes one, and takes its slot for a job. A domain that somebody removed
// while the job waited is not the one: then the name is free again.
func (e *Engine) hold(ctx context.Context, doc *spec.Domain, what string) (*domain, *job.Job, error) {
	for {
		d, err := e.claim(doc)
		if err != nil {
			return nil, nil, err
		}
		j, err := d.slot.BeginWithin(ctx, answerWithin, what+" domain '"+d.label+"'")
		if err != nil {
			return nil, nil, virterr.Wrap(virterr.OperationTimeout, err)
		}
		if now, ok := e.domains.uuid(d.uuid); ok && now == d {
			return d, j, nil
		}
		j.End()
	}
}

// letGoOf removes a domain that came to nothing: it is neither defined nor does it run. The caller holds the slot.
func (e *Engine) letGoOf(d *domain) {
	if !d.view().exists() {
		e.domains.remove(d)
	}
}

// claim finds the domain a document is about, or takes its name and UUID for a new one. A document that has the name of
// one domain and the UUID of another is refused, as libvirt does.
func (e *Engine) claim(doc *spec.Domain) (*domain, error) {
	d := newDomain(*doc.UUID, doc.Name, nil)
	holder, ok := e.domains.add(d)
	switch {
	case ok:
		return d, nil
	case holder.uuid == *doc.UUID && holder.label == doc.Name:
		return holder, nil
	case holder.uuid == *doc.UUID:
		return nil, virterr.New(virterr.OperationFailed, "domain '%s' is already defined with uuid %s", holder.label, holder.uuid)
	}
	return nil, virterr.New(virterr.OperationFailed, "domain '%s' already exists with uuid %s", holder.label, holder.uuid)
}

// headOf is what is known of a document without parsing it.
func headOf(doc *spec.Domain) definition {
	h := definition{Name: doc.Name, UUID: *doc.UUID}
	h.MaxMemKiB, _ = doc.Memory.KiB() // Validate has read these numbers before
	h.MemKiB = h.MaxMemKiB
	if doc.CurrentMemory != nil {
		h.MemKiB, _ = doc.CurrentMemory.KiB()
	}
	most, _ := doc.MaxVCPUs()
	online, _ := doc.OnlineVCPUs()
	h.MaxVCPUs, h.VCPUs = uint16(most), uint16(online)
	return h
}

// UndefineDomain implements server.DomainJobs. A domain that runs goes on, as a transient one.
func (e *Engine) UndefineDomain(ctx context.Context, uuid spec.UUID, flags uint32) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	j, err := d.slot.BeginWithin(ctx, answerWithin, "undefine domain '"+d.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	v := d.view()
	if v.def == nil {
		return virterr.New(virterr.OperationInvalid, "cannot undefine transient domain '%s'", d.label)
	}
	// All is asked before anything goes.
	if err := managedAtUndefine(d, flags); err != nil {
		return err
	}
	if err := tpmFlags(d, flags); err != nil {
		return err
	}
	nvram, err := e.nvramAtUndefine(d, flags)
	if err != nil {
		return err
	}
	if v.ref.ManagedSave {
		if err := e.dropManaged(d); err != nil {
			return err
		}
	}
	if nvram != "" {
		if err := e.k.Remove(nvram); err != nil {
			return virterr.New(virterr.SystemError, "cannot remove the UEFI variables of domain '%s': %w", d.label, err)
		}
	}
	if err := e.dropTPM(d, flags); err != nil {
		return err
	}
	if err := e.definitions.Delete(uuid.String()); err != nil {
		return errors.Join(virterr.New(virterr.SystemError, "cannot remove the definition of domain '%s': %w", d.label, err), e.settleTPM(uuid))
	}
	v = d.update(func(v *view) { v.def, v.ref.Persistent, v.ref.Autostart = nil, false, false })
	if err := e.settleTPM(uuid); err != nil {
		e.problem.add(e.log, fmt.Sprintf("domain '%s' is undefined, and the state of its TPM is left: %v; the next start of taproomd removes it", d.label, err))
	}
	if v.run == nil {
		e.domains.remove(d)
	}
	e.publish(server.DomainLifecycle{Domain: v.ref, Event: server.EventUndefined, Detail: server.EventUndefinedRemoved})
	return nil
}

// SetDomainAutostart implements server.DomainJobs.
func (e *Engine) SetDomainAutostart(ctx context.Context, uuid spec.UUID, on bool) error {
	return e.setAutostart(ctx, uuid, func(head *definition) { head.Autostart = on })
}

// setAutostart changes what is kept beside a definition of when it starts by itself.
func (e *Engine) setAutostart(ctx context.Context, uuid spec.UUID, change func(*definition)) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	j, err := d.slot.BeginWithin(ctx, answerWithin, "set autostart of domain '"+d.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	old := d.view().def
	if old == nil {
		return virterr.New(virterr.OperationInvalid, "cannot set autostart for transient domain '%s'", d.label)
	}
	def := &defined{head: old.head, xml: old.xml}
	change(&def.head)
	if err := e.keep(d, def); err != nil {
		return err
	}
	d.update(func(v *view) { v.def, v.ref.Autostart = def, def.head.Autostart })
	return nil
}
