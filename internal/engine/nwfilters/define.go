package nwfilters

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/store"
	"taproom/internal/network/nwfilter"
	"taproom/internal/spec"
)

// DefineNWFilter implements server.NWFilters. Every NIC that uses the filter has it as it is now, in one transaction; when
// one of them cannot, nothing is changed.
func (f *Filters) DefineNWFilter(ctx context.Context, xml string, _ uint32) (server.NWFilter, error) {
	doc, err := f.read(xml)
	if err != nil {
		return server.NWFilter{}, err
	}
	f.change.Lock()
	defer f.change.Unlock()
	old, err := f.identify(doc)
	if err != nil {
		return server.NWFilter{}, err
	}
	next := with(f.filters(), doc)
	if err := nwfilter.CheckReferences(next, doc.Name); err != nil {
		return server.NWFilter{}, virterr.New(virterr.OperationFailed, "network filter '%s': %w", doc.Name, err).In(virterr.FromNWFilter)
	}
	compiled := newCompilers(next)
	changes, err := f.recompiled(compiled, doc.Name)
	if err != nil {
		return server.NWFilter{}, err
	}
	item := store.Item[head]{Key: doc.UUID.String(), Head: head{Name: doc.Name, UUID: *doc.UUID}, Doc: doc.Format()}
	if err := f.defs.Put(item); err != nil {
		return server.NWFilter{}, fmt.Errorf("write network filter '%s' down: %w", doc.Name, err)
	}
	if err := f.apply(ctx, changes, nil); err != nil {
		return server.NWFilter{}, f.takeBack(context.WithoutCancel(ctx), doc, old, changes, err)
	}
	f.replace(compiled, doc.Name, true)
	f.refollow(changes)
	return refOf(doc), nil
}

// read reads a document that a client gave.
func (f *Filters) read(xml string) (*spec.Filter, error) {
	doc, err := spec.ParseFilter([]byte(xml))
	if err == nil {
		err = f.cfg.DocumentFits([]byte(xml))
	}
	if err == nil {
		err = nwfilter.Check(doc)
	}
	if err != nil {
		return nil, invalid(err)
	}
	return doc, nil
}

// invalid gives what is wrong with a filter in itself the number that clients expect.
func invalid(err error) error {
	var syntax *spec.SyntaxError
	if errors.As(err, &syntax) {
		return err
	}
	return virterr.Wrap(virterr.XMLError, err)
}

// identify gives a document the UUID of the filter that it changes, or a new one, and refuses one that would be two filters.
// It returns what the document replaces; nil is nothing.
func (f *Filters) identify(doc *spec.Filter) (old *spec.Filter, err error) {
	old = f.filters()[doc.Name]
	if doc.UUID == nil {
		u := spec.NewUUID()
		if old != nil {
			u = *old.UUID
		}
		doc.UUID = &u
	}
	if old != nil && *old.UUID != *doc.UUID {
		return nil, virterr.New(virterr.OperationFailed, "filter '%s' already exists with uuid %s", doc.Name, old.UUID).In(virterr.FromNWFilter)
	}
	if same, err := f.byUUID(*doc.UUID); err == nil && same.Name != doc.Name {
		return nil, virterr.New(virterr.OperationFailed, "filter with same UUID but different name ('%s') already exists", same.Name).In(virterr.FromNWFilter)
	}
	return old, nil
}

// recompiled are the ports that use a filter, as they are with another set. None is changed yet.
func (f *Filters) recompiled(c *compilers, name string) ([]nwfilter.Port, error) {
	var out []nwfilter.Port
	for _, b := range f.Bindings() {
		if _, uses := path(c.set, b.Filter, name); !uses {
			continue
		}
		p, err := compile(c, b)
		if err != nil {
			return nil, virterr.New(virterr.OperationFailed, "network filter '%s' is used by %s, which could not have it so: %w", name, b.who(), err).In(virterr.FromNWFilter)
		}
		out = append(out, p)
	}
	return out, nil
}

// takeBack has the document and the ports as they were, after a failed change of which nobody knows how far it came.
func (f *Filters) takeBack(ctx context.Context, doc, old *spec.Filter, changes []nwfilter.Port, cause error) error {
	err := virterr.New(virterr.OperationFailed, "network filter '%s' is not changed: %w", doc.Name, cause).In(virterr.FromNWFilter)
	var back error
	if old != nil && f.owned[old.Name] {
		back = f.defs.Put(store.Item[head]{Key: old.UUID.String(), Head: head{Name: old.Name, UUID: *old.UUID}, Doc: old.Format()})
	} else {
		back = f.defs.Delete(doc.UUID.String())
	}
	was := make([]nwfilter.Port, 0, len(changes))
	for _, p := range changes {
		if one, cerr := compile(f.compilers(), f.ports[p.Name]); cerr == nil {
			was = append(was, one)
		}
	}
	f.certain = false
	if back = errors.Join(back, f.apply(ctx, was, nil)); back != nil {
		f.cfg.Log.Error("a network filter that could not be changed is not as it was everywhere; the next change of it, or the next start of the daemon, puts it right", "filter", doc.Name, "error", back)
	}
	return err
}

// replace publishes another set.
func (f *Filters) replace(c *compilers, name string, owned bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.compiled = c
	if owned {
		f.owned[name] = true
	} else {
		delete(f.owned, name)
	}
}

// UndefineNWFilter implements server.NWFilters. In the place of one that came with taproom and was changed, that comes back.
func (f *Filters) UndefineNWFilter(ctx context.Context, uuid spec.UUID) error {
	f.change.Lock()
	defer f.change.Unlock()
	doc, err := f.byUUID(uuid)
	if err != nil {
		return err
	}
	shipped := f.cfg.Shipped[doc.Name]
	if !f.owned[doc.Name] {
		return virterr.New(virterr.OperationInvalid, "nwfilter '%s' comes with taproom and is not removed; define one of that name to have it otherwise", doc.Name).In(virterr.FromNWFilter)
	}
	if users := f.users(doc.Name); len(users) > 0 {
		return virterr.New(virterr.OperationInvalid, "nwfilter is in use: '%s' is used by %s", doc.Name, someOf(users)).In(virterr.FromNWFilter)
	}
	next := maps.Clone(f.filters())
	delete(next, doc.Name)
	if shipped != nil {
		next[doc.Name] = shipped
	} else if by := referring(next, doc.Name); len(by) > 0 {
		return virterr.New(virterr.OperationInvalid, "nwfilter is in use: '%s' is referred to by %s", doc.Name, someOf(by)).In(virterr.FromNWFilter)
	}
	if err := f.defs.Delete(uuid.String()); err != nil {
		return fmt.Errorf("remove network filter '%s': %w", doc.Name, err)
	}
	f.replace(newCompilers(next), doc.Name, false)
	return nil
}

// users are the NICs that use a filter, each with the path to it where that is longer than a step.
func (f *Filters) users(name string) []string {
	var out []string
	for _, b := range f.Bindings() {
		at, uses := path(f.filters(), b.Filter, name)
		switch {
		case !uses:
		case len(at) > 1:
			out = append(out, fmt.Sprintf("%s (through %s)", b.who(), strings.Join(at, " → ")))
		default:
			out = append(out, b.who())
		}
	}
	return out
}

// someOf names the first of many.
func someOf(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// referring are the filters that refer to one.
func referring(set nwfilter.Set, name string) []string {
	var out []string
	for _, doc := range set {
		if slices.Contains(doc.References(), name) {
			out = append(out, "filter '"+doc.Name+"'")
		}
	}
	slices.Sort(out)
	return out
}
