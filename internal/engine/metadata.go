package engine

import (
	"context"
	"encoding/xml"
	"strings"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// described is the part of a document that says what it is about.
type described struct {
	title, description *string
	metadata           **spec.Metadata
	outer              []xml.Attr // what the root declares
}

func describedDomain(d *spec.Domain) described {
	return described{&d.Title, &d.Description, &d.Metadata, d.Extra.Attrs}
}

func describedNetwork(n *spec.Network) described {
	return described{&n.Title, &n.Description, &n.Metadata, n.Extra.Attrs}
}

// set changes one thing. An empty title or description is none, as it is for libvirt.
func (d described) set(m server.Metadata) error {
	switch m.Type {
	case server.MetadataDescription:
		*d.description = m.Text
	case server.MetadataTitle:
		if strings.Contains(m.Text, "\n") {
			return virterr.New(virterr.InvalidArg, "a title has one line")
		}
		*d.title = m.Text
	default:
		changed, err := (*d.metadata).WithElement(m.URI, m.Prefix, m.Text, d.outer)
		if err != nil {
			return documentError(err)
		}
		*d.metadata = changed
	}
	return nil
}

// get returns one thing; absent is libvirt's number for what is not there.
func (d described) get(m server.Metadata, absent virterr.Code) (text string, err error) {
	var there bool
	switch m.Type {
	case server.MetadataDescription:
		text = *d.description
		there = text != ""
	case server.MetadataTitle:
		text = *d.title
		there = text != ""
	default:
		text, there, err = (*d.metadata).Element(m.URI, d.outer)
	}
	if err == nil && !there {
		err = virterr.New(absent, "Requested metadata element is not present")
	}
	return text, err
}

// SetDomainMetadata implements server.Descriptions. What a guest that runs asks for in it, it gets at once.
func (e *Engine) SetDomainMetadata(ctx context.Context, uuid spec.UUID, m server.Metadata, flags uint32) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	j, err := d.slot.BeginWithin(ctx, answerWithin, "describe domain '"+d.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	tell := func(run *running, doc *spec.Domain) error {
		if m.Type != server.MetadataElement || m.URI != spec.TaproomNamespace {
			return nil
		}
		return e.changeAccess(j.Context(), run, doc)
	}
	err = e.restate(d, flags, func(doc *spec.Domain) error { return describe(doc, m) }, tell)
	if err == nil {
		e.publish(server.DomainMetadataChange{Domain: d.view().ref, Type: m.Type, URI: m.URI})
	}
	return err
}

// restate changes what is said of a domain, of what runs, of the definition or of both. Each is changed before either is
// written, so that what cannot be changed is changed in neither; tell has what runs follow. The caller holds the slot.
func (e *Engine) restate(d *domain, flags uint32, change func(*spec.Domain) error, tell func(*running, *spec.Domain) error) error {
	live, config, err := d.affects(flags)
	if err != nil {
		return err
	}
	run := d.view().run
	var running, defined *spec.Domain
	if live {
		running = run.doc().Clone()
		err = change(running)
	}
	if err == nil && config {
		if defined, err = e.definitionOf(d); err == nil {
			err = change(defined)
		}
	}
	if err == nil && live {
		if err = tell(run, running); err == nil {
			err = e.redocument(d, run, running)
		}
	}
	if err == nil && config {
		err = e.rewrite(d, defined)
	}
	return err
}

// describe changes a document of a domain, and refuses what could not be read back.
func describe(doc *spec.Domain, m server.Metadata) error {
	if err := describedDomain(doc).set(m); err != nil {
		return about("domain", doc.Name, err)
	}
	text := doc.Format()
	if err := notTooLong(text); err != nil {
		return about("domain", doc.Name, err)
	}
	parsed, err := spec.ParseDomain(text)
	if err == nil && m.Type == server.MetadataElement && m.URI == spec.TaproomNamespace {
		_, err = parsed.HostAccess()
	}
	return about("domain", doc.Name, documentError(err))
}

// redocument has a guest run from another document that differs in nothing its QEMU has. The caller holds the slot.
func (e *Engine) redocument(d *domain, run *running, doc *spec.Domain) error {
	before := run.hardware()
	now := *before
	now.doc = doc
	return e.become(d, run, before, &now)
}

// become publishes what a guest consists of now, and writes it down. The caller holds the slot.
func (e *Engine) become(d *domain, run *running, before, now *hardware) error {
	run.has.Store(now)
	if err := e.saveRecord(run); err != nil {
		run.has.Store(before)
		return virterr.New(virterr.SystemError, "cannot write down what is known of domain '%s': %w%s", d.label, err, remedy(err))
	}
	return nil
}

// rewrite keeps a definition that differs from the one before in what is said of the domain, and tells nobody that it is
// another one. The caller holds the slot.
func (e *Engine) rewrite(d *domain, doc *spec.Domain) error {
	def := &defined{head: d.view().def.head, xml: doc.Format()}
	if err := e.keep(d, def); err != nil {
		return err
	}
	d.update(func(v *view) { v.def = def })
	return nil
}

// DomainMetadata implements server.Descriptions.
func (e *Engine) DomainMetadata(uuid spec.UUID, m server.Metadata, flags uint32) (string, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return "", err
	}
	live, _, err := d.affects(flags)
	if err != nil {
		return "", err
	}
	v := d.view()
	if live && v.run != nil { // it may have ended meanwhile
		return describedDomain(v.run.doc()).get(m, virterr.NoDomainMetadata)
	}
	doc, err := e.definitionOf(d)
	if err != nil {
		return "", err
	}
	return describedDomain(doc).get(m, virterr.NoDomainMetadata)
}
