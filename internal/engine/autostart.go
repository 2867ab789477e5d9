package engine

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"taproom/internal/api/own"
	"taproom/internal/spec"
)

// autostart starts what should start by itself, once after each boot: the run directory does not outlive one. A network
// or guest that cannot be started is a problem, and none of the others'. A daemon that is told to end on the way leaves the
// rest to the next one.
func (e *Engine) autostart(ctx context.Context) error {
	done := filepath.Join(e.paths.Run, "autostarted")
	if _, err := e.k.SweepTemp(e.paths.Run); err != nil {
		return err
	}
	_, err := e.k.ReadFile(done)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	e.Pools.Autostart(ctx)
	for _, n := range e.networks.all() {
		if v := n.view(); v.ref.Autostart && v.live == nil {
			if err := e.StartNetwork(ctx, n.uuid); err != nil {
				e.problem.add(e.log, "autostart: "+err.Error())
			}
		}
	}
	for _, d := range e.domains.all() {
		v := d.view()
		once := v.def != nil && v.def.head.AutostartOnce
		if (v.ref.Autostart || once) && v.run == nil {
			if _, err := e.StartDomain(ctx, d.uuid, 0); err != nil {
				e.problem.add(e.log, "autostart: "+err.Error())
			}
		}
		if once && ctx.Err() == nil { // it had its start, also when that failed
			if err := e.SetDomainAutostartOnce(ctx, d.uuid, false); err != nil {
				e.problem.add(e.log, "autostart: "+err.Error())
			}
		}
	}
	if err := e.applyConfigured(ctx); err != nil {
		e.problem.add(e.log, "autostart: "+err.Error())
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := e.k.WriteFile(done, nil, 0o600, false); err != nil {
		e.problem.add(e.log, "what starts by itself will be started again with the daemon: "+err.Error()+remedy(err))
	}
	return nil
}

// applyConfigured applies the documents in the configuration directory.
func (e *Engine) applyConfigured(ctx context.Context) error {
	entries, err := e.k.ReadDir(e.paths.Config)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var docs []own.Document
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".xml") {
			continue
		}
		path := filepath.Join(e.paths.Config, entry.Name())
		b, err := e.k.ReadFileLimit(path, own.MaxDocument)
		if err != nil {
			return err
		}
		docs = append(docs, own.Document{Name: path, XML: string(b)})
	}
	if len(docs) == 0 {
		return nil
	}
	result, err := e.Apply(ctx, own.ApplyRequest{Documents: docs})
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range result.Objects {
		if o.Error != "" {
			errs = append(errs, errors.New(o.Error))
		}
	}
	return errors.Join(errs...)
}

// SetDomainAutostartOnce implements server.Tunables.
func (e *Engine) SetDomainAutostartOnce(ctx context.Context, uuid spec.UUID, on bool) error {
	return e.setAutostart(ctx, uuid, func(head *definition) { head.AutostartOnce = on })
}

// DomainAutostartOnce implements server.Tunables.
func (e *Engine) DomainAutostartOnce(uuid spec.UUID) (bool, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return false, err
	}
	def := d.view().def
	return def != nil && def.head.AutostartOnce, nil
}
