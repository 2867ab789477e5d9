package engine

import (
	"context"

	"taproom/internal/api/own"
	"taproom/internal/spec"
)

// planStart is what starting a document would do, as commands.
func (e *Engine) planStart(ctx context.Context, doc *spec.Domain, where placement) ([]own.Step, error) {
	doc, err := e.withVHost(doc, func(*spec.Interface) bool { return false })
	if err != nil {
		return nil, err
	}
	rec := record{Name: doc.Name, UUID: *doc.UUID, Accel: accelOf(doc), NICs: len(doc.Devices.Interfaces), Emulator: e.emulatorOf(doc)}
	if rec.Ports, err = where.portsFor(doc); err != nil {
		return nil, err
	}
	defer func() { e.releaseNames(rec) }()
	if rec.Displays, err = e.displaysFor(doc); err != nil {
		return nil, err
	}
	vsock, cid, err := e.claimVsock(doc)
	if err != nil {
		return nil, err
	}
	if vsock != nil {
		defer vsock.Close()
	}
	rec.CID = cid
	d := newDomain(*doc.UUID, doc.Name, nil)
	rt, err := e.runtime(d, rec)
	if err != nil {
		return nil, err
	}
	compiled, err := e.compileGuest(doc, rt)
	if err != nil {
		return nil, err
	}
	want := linksOf(rec)
	if rec.Access, err = e.accessFor(doc); err != nil {
		return nil, err
	}
	release, err := e.planAccess(rec, &want)
	defer release()
	if err != nil {
		return nil, err
	}
	plan, err := planFor(ctx, e.env(), want, want.Scope())
	if err != nil {
		return nil, err
	}
	filters, err := e.planFilters(ctx, rec)
	if err != nil {
		return nil, err
	}
	out := append(filters, planSteps("domain "+doc.Name, plan)...)
	about := map[string]string{}
	for _, n := range compiled.Needs {
		about[n.Name] = n.Device + ": " + n.Path
	}
	command, err := compiled.Config.Shell(about)
	if err != nil {
		return nil, err
	}
	return append(out, own.Step{Object: "domain " + doc.Name, Command: command}), nil
}
