package engine

import (
	"context"
	"errors"
	"io/fs"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// RenameDomain implements server.Descriptions. A domain is one file, which its UUID names, so it has the old name or the new
// one whatever happens. What waits to change the domain under its old name is told that it has another.
func (e *Engine) RenameDomain(ctx context.Context, uuid spec.UUID, name string) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	j, err := d.slot.BeginWithin(ctx, answerWithin, "rename domain '"+d.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	next, holder, err := e.prepareRename(d, name)
	if err != nil {
		j.End()
		return err
	}
	def := next.view().def
	e.renameLogs(d, next)
	if err := e.keep(next, def); err != nil {
		e.renameLogs(next, d)
		e.domains.remove(holder)
		j.End()
		return err
	}
	before := d.view().ref
	e.domains.replace(d, holder, next)
	d.update(func(v *view) { v.def = nil })
	j.Retire(virterr.New(virterr.OperationInvalid, "domain '%s' was renamed to '%s' meanwhile; ask again", d.label, name))
	e.publish(server.DomainLifecycle{Domain: before, Event: server.EventUndefined, Detail: server.EventUndefinedRenamed})
	e.publish(server.DomainLifecycle{Domain: next.view().ref, Event: server.EventDefined, Detail: server.EventDefinedRenamed})
	return nil
}

// prepareRename checks that a domain can have a name, takes the name, and returns what the domain will be, and what holds
// the name until it is. The caller holds the domain's slot.
func (e *Engine) prepareRename(d *domain, name string) (next, holder *domain, err error) {
	v := d.view()
	switch {
	case v.run != nil:
		return nil, nil, virterr.New(virterr.OperationInvalid, "cannot rename domain '%s' while it runs; shut it down first", d.label)
	case v.def == nil: // it has just gone
		return nil, nil, virterr.DomainNotFound("uuid", d.uuid.String())
	case v.ref.ManagedSave: // the image is of a domain of that name
		return nil, nil, virterr.New(virterr.OperationInvalid, "cannot rename domain '%s' while it has a managed save image; start it, or remove the image with `virsh managedsave-remove`", d.label)
	case name == d.label:
		return nil, nil, virterr.New(virterr.OperationInvalid, "domain '%s' has that name already", name)
	}
	doc, err := e.definitionOf(d)
	if err != nil {
		return nil, nil, err
	}
	doc.Name = name
	if err := doc.Validate(); err != nil {
		return nil, nil, documentError(err)
	}
	head := v.def.head
	head.Name = name
	next = newDomain(d.uuid, name, &defined{head: head, xml: doc.Format()})
	next.update(func(n *view) { n.ref.State, n.ref.Reason = v.ref.State, v.ref.Reason })
	holder = newDomain(spec.NewUUID(), name, nil)
	if other, ok := e.domains.add(holder); !ok {
		return nil, nil, virterr.New(virterr.OperationInvalid, "domain with name '%s' already exists, with uuid %s", name, other.uuid)
	}
	return next, holder, nil
}

// renameLogs has the logs follow. That they do not is no reason not to rename the domain.
func (e *Engine) renameLogs(from, to *domain) {
	for _, old := range []string{"", logBefore} {
		err := e.k.Rename(e.places(from).log+old, e.places(to).log+old)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			e.log.Warn("rename the log of a domain", "domain", from.label, "to", to.label, "error", err)
		}
	}
}
