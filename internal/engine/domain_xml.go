package engine

import (
	"context"

	"taproom/internal/api/server"
	"taproom/internal/guest"
	"taproom/internal/spec"
)

// DomainXML implements server.DomainJobs.
func (e *Engine) DomainXML(ctx context.Context, uuid spec.UUID, flags uint32) (string, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return "", err
	}
	v := d.view()
	secure := flags&server.XMLSecure != 0
	if v.run != nil && flags&server.XMLInactive == 0 {
		return string(v.run.live(secure).Format()), nil
	}
	if v.def == nil && v.run != nil { // transient: what it was started from is all there is
		return string(guest.Inactive(v.run.doc(), secure).Format()), nil
	}
	doc, err := e.definitionOf(d)
	if err != nil {
		return "", err
	}
	if flags&server.XMLUpdateCPU != 0 {
		if doc, err = e.withCPU(ctx, doc); err != nil {
			return "", about("domain", d.label, err)
		}
	}
	return string(guest.Inactive(doc, secure).Format()), nil
}

// definitionOf returns the parsed persistent definition.
func (e *Engine) definitionOf(d *domain) (*spec.Domain, error) {
	v := d.view()
	if v.def == nil {
		return nil, transient(d)
	}
	return spec.ParseDomain(v.def.xml)
}
