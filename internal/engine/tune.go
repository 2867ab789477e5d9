package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"taproom/internal/api/virterr"
	"taproom/internal/engine/tuning"
	"taproom/internal/guest/tune"
	"taproom/internal/host"
	"taproom/internal/spec"
)

// tuned is where the kernel has a guest, for what brings it to its document. Without a PID there is the cgroup alone.
func (e *Engine) tuned(rec *record) tuning.Guest {
	return tuning.Guest{Kernel: e.k, Root: filepath.Dir(e.cgroup), Cgroup: rec.Cgroup, PID: rec.PID}
}

// tune brings a guest that runs to its document: its cgroup, and where its threads run. before is the document that it was
// brought to last; nil where nobody did.
func (e *Engine) tune(ctx context.Context, run *running, before, doc *spec.Domain) error {
	g := e.tuned(run.rec())
	if !tune.Threads(doc) && (before == nil || !tune.Threads(before)) {
		g.PID = 0
		return g.Limit(doc)
	}
	var err error
	if g.Threads, err = e.threads(ctx, run); err != nil {
		return err
	}
	return errors.Join(g.Limit(doc), g.Place(doc))
}

// threads asks QEMU which of its threads play processors, and which are I/O threads.
func (e *Engine) threads(ctx context.Context, run *running) ([]tune.Thread, error) {
	cpus, err := e.vcpuThreads(ctx, run)
	if err != nil {
		return nil, err
	}
	var out []tune.Thread
	for _, c := range cpus {
		out = append(out, tune.Thread{Name: tune.VCPUGroup + strconv.Itoa(c.Index), TID: c.Thread})
	}
	var io []struct {
		ID     string `json:"id"`
		Thread int    `json:"thread-id"`
	}
	if err := run.mon.Execute(ctx, "query-iothreads", nil, &io); err != nil {
		return nil, err
	}
	for _, t := range io {
		if strings.HasPrefix(t.ID, tune.IOThreadGroup) {
			out = append(out, tune.Thread{Name: t.ID, TID: t.Thread})
		}
	}
	return out, nil
}

// tuneError gives a limit that this host cannot set libvirt's number.
func tuneError(d *domain, code virterr.Code, err error) error {
	var missing *host.Missing
	var unsupported *spec.UnsupportedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing), errors.As(err, &unsupported):
		return virterr.New(code, "domain '%s': %w", d.label, err)
	}
	return virterr.Wrap(virterr.SystemError, fmt.Errorf("domain '%s': %w", d.label, err))
}

// retune brings a guest that was taken over to its document: a daemon that was killed in the middle of a change has left
// it anywhere.
func (e *Engine) retune(ctx context.Context, d *domain, run *running) {
	if !tune.Any(run.doc()) {
		return
	}
	if err := e.tune(ctx, run, nil, run.doc()); err != nil && ctx.Err() == nil {
		e.problem.add(e.log, fmt.Sprintf("domain '%s' is not as its document says: %v", d.label, err))
	}
}
