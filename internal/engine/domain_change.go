package engine

import (
	"context"
	"fmt"
	"strconv"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// SetDomainMemory implements server.DomainJobs: live it asks the balloon, in the configuration it changes the document.
func (e *Engine) SetDomainMemory(ctx context.Context, uuid spec.UUID, kib uint64, flags uint32) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	live, config, err := d.affects(flags)
	if err != nil {
		return err
	}
	if live {
		if flags&server.MemoryMaximum != 0 {
			return virterr.New(virterr.OperationInvalid, "cannot change the maximum memory of domain '%s' while it runs; use --config", d.label)
		}
		if err := e.balloon(ctx, d, kib); err != nil {
			return err
		}
	}
	if !config {
		return nil
	}
	return e.edit(ctx, d, "set the memory of", func(doc *spec.Domain) error {
		amount := &spec.Memory{Unit: "KiB", Value: strconv.FormatUint(kib, 10)}
		if flags&server.MemoryMaximum != 0 {
			doc.Memory = amount
			if now, err := doc.CurrentMemory.KiB(); err == nil && now > kib {
				doc.CurrentMemory = amount
			}
			return nil
		}
		most, err := doc.Memory.KiB()
		if err == nil && kib > most {
			return virterr.New(virterr.InvalidArg, "cannot set memory of domain '%s' to %d KiB: its maximum is %d KiB", d.label, kib, most)
		}
		doc.CurrentMemory = amount
		return err
	})
}

// balloon asks a guest to give memory back, or to take it again.
func (e *Engine) balloon(ctx context.Context, d *domain, kib uint64) error {
	return e.control(ctx, d.uuid, "set the memory of", func(ctx context.Context, d *domain, run *running) error {
		if kib > run.head().MaxMemKiB {
			return virterr.New(virterr.InvalidArg, "cannot set memory of domain '%s' to %d KiB: its maximum is %d KiB", d.label, kib, run.head().MaxMemKiB)
		}
		return monitorError(d, "set the memory of", run.mon.Execute(ctx, "balloon", map[string]uint64{"value": kib << 10}, nil))
	})
}

// affects says what a change is for: with neither flag what runs, or the definition of what does not.
func (d *domain) affects(flags uint32) (live, config bool, err error) {
	v := d.view()
	live, config = flags&server.AffectLive != 0, flags&server.AffectConfig != 0
	if !live && !config {
		live, config = v.run != nil, v.run == nil
	}
	if live && v.run == nil {
		_, err = d.running()
	}
	if config && v.def == nil {
		err = transient(d)
	}
	return live, config, err
}

// edit changes a definition as a document: it is read, changed, checked and completed like one that a client defines. It
// is one job, so that of two changes at once neither is lost.
func (e *Engine) edit(ctx context.Context, d *domain, what string, change func(*spec.Domain) error) error {
	j, err := d.slot.BeginWithin(ctx, answerWithin, what+" domain '"+d.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	doc, err := e.edited(j.Context(), d, what, change)
	if err != nil {
		return err
	}
	_, err = e.redefine(d, doc)
	return err
}

// edited is a changed definition, which nobody sees yet. The caller holds the slot.
func (e *Engine) edited(ctx context.Context, d *domain, what string, change func(*spec.Domain) error) (*spec.Domain, error) {
	doc, err := e.definitionOf(d)
	if err != nil {
		return nil, err
	}
	if err := change(doc); err != nil {
		return nil, err
	}
	if doc, err = spec.ParseDomain(doc.Format()); err == nil {
		err = e.complete(ctx, doc)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot %s domain '%s': %w", what, d.label, err)
	}
	return doc, nil
}
