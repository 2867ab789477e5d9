package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"taproom/internal/api/own"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// Apply implements server.Documents: the documents' networks and domains exist and run afterwards, or with Remove do not.
// What is as it should be is left alone. One that fails does not stop the others, but what needs it fails too.
func (e *Engine) Apply(ctx context.Context, r own.ApplyRequest) (own.ApplyResult, error) {
	result := own.ApplyResult{Objects: []own.ObjectResult{}}
	targets, err := e.readTargets(r)
	if err != nil {
		return result, err
	}
	a := applying{Engine: e, request: r, planned: map[string]*spec.Network{}}
	for _, t := range targets {
		o := own.ObjectResult{Kind: t.kind, Name: t.name}
		steps, err := a.one(ctx, t, &o)
		if err != nil {
			o.Action, o.Error = "failed", err.Error()
		}
		result.Objects = append(result.Objects, o)
		result.Steps = append(result.Steps, steps...)
	}
	return result, nil
}

// target is one document of an apply, read.
type target struct {
	kind, name string
	domain     *spec.Domain
	network    *spec.Network
}

// readTargets reads every document before anything is done, and orders them: networks before domains, or the other way
// round when they go.
func (e *Engine) readTargets(r own.ApplyRequest) ([]target, error) {
	var targets []target
	var errs []error
	described := map[string]string{} // by which document
	for _, doc := range r.Documents {
		t, err := e.readTarget(doc, r)
		if other := described[t.kind+t.name]; err == nil && other != "" {
			err = virterr.New(virterr.XMLError, "%s '%s' is what %s describes already", t.kind, t.name, other)
		}
		var coded *virterr.Error
		switch {
		case errors.As(err, &coded): // one code speaks for all
			errs = append(errs, virterr.New(coded.Code, "%s: %s", doc.Name, coded.Detail))
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", doc.Name, err))
		default:
			described[t.kind+t.name] = doc.Name
			targets = append(targets, t)
		}
	}
	if len(errs) > 0 {
		return nil, allOf(errs)
	}
	slices.SortStableFunc(targets, func(a, b target) int {
		order := map[string]int{"network": 0, "domain": 1}
		if r.Remove {
			a, b = b, a
		}
		return order[a.kind] - order[b.kind]
	})
	return targets, nil
}

// allOf is one error for several, with the code of the first.
func allOf(errs []error) error {
	details := make([]string, len(errs))
	for i, err := range errs {
		details[i] = err.Error()
		var coded *virterr.Error
		if errors.As(err, &coded) {
			details[i] = coded.Detail
		}
	}
	return virterr.New(virterr.CodeOf(errs[0]), "%s", strings.Join(details, "\n"))
}

// readTarget reads a document. One that is to be removed only has to say what.
func (e *Engine) readTarget(doc own.Document, r own.ApplyRequest) (target, error) {
	kind, err := spec.Kind([]byte(doc.XML))
	if err != nil {
		return target{}, documentError(err)
	}
	var t target
	switch kind {
	case "domain":
		d, err := spec.ParseDomain([]byte(doc.XML))
		if err != nil {
			return t, documentError(err)
		}
		t = target{kind: kind, name: d.Name, domain: e.overrideAccel(d, r.Accel)}
	case "network":
		n, err := spec.ParseNetwork([]byte(doc.XML))
		if err != nil {
			return t, documentError(err)
		}
		t = target{kind: kind, name: n.Name, network: n}
	default:
		return t, virterr.New(virterr.XMLError, "a <%s> document cannot be applied; a <network> or a <domain> can", kind)
	}
	if t.name == "" {
		return t, virterr.New(virterr.XMLError, "it has no <name>")
	}
	if r.Remove {
		return t, nil
	}
	return t, t.validate()
}

func (t target) validate() error {
	var err error
	if t.domain != nil {
		err = t.domain.Validate()
	} else {
		err = t.network.Validate()
	}
	if err != nil {
		return documentError(err)
	}
	return nil
}

// overrideAccel puts the accelerator the caller asks for in place of the document's.
func (e *Engine) overrideAccel(d *spec.Domain, accel string) *spec.Domain {
	switch {
	case accel == "kvm", accel == "auto" && e.kvm().Usable:
		d.Type = "kvm"
	case accel == "tcg", accel == "auto":
		if d.Type == "kvm" {
			d.Type = "qemu"
		}
	}
	return d
}

// applying is one apply under way.
type applying struct {
	*Engine
	request own.ApplyRequest
	planned map[string]*spec.Network // networks that a dry run has planned, by name
}

func (a applying) one(ctx context.Context, t target, o *own.ObjectResult) ([]own.Step, error) {
	switch {
	case t.domain != nil && a.request.Remove:
		return a.removeDomain(ctx, t, o)
	case t.domain != nil:
		return a.applyDomain(ctx, t, o)
	case a.request.Remove:
		return a.removeNetwork(ctx, t, o)
	}
	return a.applyNetwork(ctx, t, o)
}

// applyDomain makes a domain exist as the document says, and run.
func (a applying) applyDomain(ctx context.Context, t target, o *own.ObjectResult) ([]own.Step, error) {
	if kvm := a.kvm(); a.request.Accel == "auto" && !kvm.Usable {
		o.Notes = append(o.Notes, "runs without KVM: "+kvm.Reason)
	}
	old, exists := a.domains.named(t.name)
	if exists {
		if err := a.keepIdentity(old, t.domain); err != nil {
			return nil, err
		}
	}
	doc, err := a.completeDomain(ctx, t.domain.Format())
	if err != nil {
		return nil, err
	}
	same := exists && old.view().def != nil && string(old.view().def.xml) == string(doc.Format())
	runs := exists && old.view().run != nil
	o.UUID, o.Action = doc.UUID.String(), applied(exists, same, runs)
	if runs && !same {
		o.Notes = append(o.Notes, "runs with its old definition until it is stopped and started")
	}
	if a.request.DryRun && !runs {
		return a.planStart(ctx, doc, placement{e: a.Engine, planned: a.planned})
	}
	if a.request.DryRun {
		return nil, nil
	}
	if !same {
		if _, err := a.define(ctx, doc); err != nil {
			return nil, err
		}
	}
	if !runs {
		_, err = a.StartDomain(ctx, *doc.UUID, 0)
	}
	return nil, err
}

// applied names what applying a document does to what there is of its name: is it the same, and does it run?
func applied(exists, same, up bool) string {
	switch {
	case !exists:
		return "created"
	case !same:
		return "changed"
	case !up:
		return "started"
	}
	return "unchanged"
}

// keepIdentity gives a document that names no UUID, MACs or interface ids those of the domain of its name, so that applying
// it again finds nothing to change.
func (e *Engine) keepIdentity(old *domain, doc *spec.Domain) error {
	if doc.UUID == nil {
		u := old.uuid
		doc.UUID = &u
	}
	if old.view().def == nil || doc.Devices == nil {
		return nil
	}
	was, err := e.definitionOf(old)
	if err != nil {
		return err
	}
	for i := range doc.Devices.Interfaces {
		nic := &doc.Devices.Interfaces[i]
		if i >= len(was.Devices.Interfaces) {
			break
		}
		if nic.MAC == nil {
			nic.MAC = was.Devices.Interfaces[i].MAC
		}
		nic.KeepInterfaceID(was.Devices.Interfaces[i])
	}
	return nil
}

// removeDomain stops and undefines a domain; one that is not there is success.
func (a applying) removeDomain(ctx context.Context, t target, o *own.ObjectResult) ([]own.Step, error) {
	o.Action = "unchanged"
	d, ok := a.domains.named(t.name)
	if !ok || !d.view().exists() {
		return nil, nil
	}
	o.UUID, o.Action = d.uuid.String(), "removed"
	if a.request.DryRun {
		return a.planStop(d), nil
	}
	// Whether it runs is asked by the one who holds its slot: a start may be under way.
	if err := a.DestroyDomain(ctx, d.uuid, 0); err != nil && !virterrIs(err, virterr.OperationInvalid, virterr.NoDomain) {
		return nil, err
	}
	if d.view().def == nil {
		return nil, nil
	}
	return nil, a.UndefineDomain(ctx, d.uuid, server.UndefineNvram|server.UndefineManagedSave) // what was made for it goes with it
}

// virterrIs reports whether err carries one of the codes: what is to go may have gone, or ended, by itself.
func virterrIs(err error, codes ...virterr.Code) bool {
	return slices.Contains(codes, virterr.CodeOf(err))
}

// applyNetwork makes a network exist as the document says, and be active.
func (a applying) applyNetwork(ctx context.Context, t target, o *own.ObjectResult) ([]own.Step, error) {
	old, exists := a.networks.named(t.name)
	if exists {
		keepNetworkIdentity(old, t.network)
	}
	doc, err := a.completeNetwork(t.network.Format())
	if err != nil {
		return nil, err
	}
	same := exists && old.view().is(doc)
	active := exists && old.view().live != nil
	o.UUID, o.Action = doc.UUID.String(), applied(exists, same, active)
	if active && same {
		return nil, nil
	}
	if a.request.DryRun {
		a.planned[t.name] = doc
		return a.planNetwork(ctx, doc, true)
	}
	if !same {
		if _, err := a.defineNetwork(ctx, doc); err != nil {
			return nil, err
		}
	}
	if active { // in place: guests stay attached
		return nil, a.changeNetwork(ctx, *doc.UUID)
	}
	return nil, a.StartNetwork(ctx, *doc.UUID)
}

// removeNetwork stops and undefines a network; one that is not there is success.
func (a applying) removeNetwork(ctx context.Context, t target, o *own.ObjectResult) ([]own.Step, error) {
	o.Action = "unchanged"
	n, ok := a.networks.named(t.name)
	if !ok || !n.view().exists() {
		return nil, nil
	}
	o.UUID, o.Action = n.uuid.String(), "removed"
	if a.request.DryRun {
		if v := n.view(); v.live != nil {
			return a.planNetwork(ctx, v.live, false)
		}
		return nil, nil
	}
	if err := a.DestroyNetwork(ctx, n.uuid); err != nil && !virterrIs(err, virterr.OperationInvalid, virterr.NoNetwork) {
		return nil, err
	}
	if n.view().def == nil {
		return nil, nil
	}
	return nil, a.UndefineNetwork(ctx, n.uuid)
}

// step names the object a command is for.
func steps(object string, commands []string) []own.Step {
	out := make([]own.Step, len(commands))
	for i, c := range commands {
		out[i] = own.Step{Object: object, Command: c}
	}
	return out
}

// planStop is what stopping a domain does.
func (e *Engine) planStop(d *domain) []own.Step {
	run := d.view().run
	if run == nil {
		return nil
	}
	return steps("domain "+d.label, []string{fmt.Sprintf("kill -TERM %d", run.rec().PID)})
}
