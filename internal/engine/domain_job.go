package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/job"
	"taproom/internal/spec"
)

// jobs are what libvirt calls a domain's job: something that takes long, which clients watch and may abort. There is one
// at a time, and the figures of the last.
type jobs struct {
	mu        sync.Mutex
	current   *domainJob
	completed *server.Job // nil when there was none, or somebody has been told
}

// domainJob is one that is under way.
type domainJob struct {
	operation int32
	began     time.Time
	run       *running // whose QEMU is asked; nil while there is none
	ctx       context.Context
	abort     context.CancelCauseFunc
	last      atomic.Pointer[migration]    // what QEMU said last
	moved     atomic.Pointer[atomic.Int64] // bytes that went through our hands; nil when none do
	dump      bool                         // QEMU writes a core, and not its state
}

// errAborted is why a job ends that a client aborted.
var errAborted = errors.New("canceled by client")

// begin makes a job of the one that holds the domain's slot.
func (s *jobs) begin(j *job.Job, run *running, operation int32) *domainJob {
	w := &domainJob{operation: operation, began: time.Now(), run: run}
	w.ctx, w.abort = context.WithCancelCause(j.Context())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = w
	return w
}

// endJob publishes how a job ended, and keeps its figures.
func (e *Engine) endJob(d *domain, w *domainJob, err error) {
	done := w.figures(w.last.Load())
	done.Type, done.Remaining = server.JobCompleted, 0
	switch {
	case errors.Is(err, errAborted):
		done.Type = server.JobCancelled
	case err != nil:
		done.Type, done.Error = server.JobFailed, err.Error()
	}
	w.abort(nil)
	d.jobs.mu.Lock()
	d.jobs.current, d.jobs.completed = nil, nil
	if err == nil {
		d.jobs.completed = &done
	}
	d.jobs.mu.Unlock()
	e.publish(server.DomainJobCompleted{Domain: d.view().ref, Params: done.Completed()})
}

// jobError gives what ended a job libvirt's number: what is the matter with it is in the words.
func jobError(what, title string, err error) error {
	var (
		preempted *job.Preempted
		known     *virterr.Error
		errno     interface{ Temporary() bool } // of the kernel
	)
	switch {
	case errors.Is(err, errAborted):
		return virterr.New(virterr.OperationAborted, "%s: %w", title, errAborted)
	case errors.As(err, &preempted):
		return virterr.New(virterr.OperationAborted, "cannot %s: %w", what, preempted)
	case errors.As(err, &known):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return virterr.New(virterr.OperationTimeout, "cannot %s: %w", what, err)
	case errors.As(err, &errno):
		return virterr.New(virterr.SystemError, "cannot %s: %w", what, err)
	}
	return virterr.New(virterr.OperationFailed, "cannot %s: %w", what, err)
}

// besides is an error of a job with another that came of it; clients see one.
func besides(err, more error) error {
	var known *virterr.Error
	if more == nil || !errors.As(err, &known) {
		return errors.Join(err, more)
	}
	both := virterr.New(known.Code, "%s; %w", known.Detail, more)
	both.Err = errors.Join(err, more)
	return both
}

// AbortDomainJob implements server.DomainJobControl.
func (e *Engine) AbortDomainJob(_ context.Context, uuid spec.UUID) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	if _, err := d.running(); err != nil {
		return err
	}
	d.jobs.mu.Lock()
	defer d.jobs.mu.Unlock()
	switch w := d.jobs.current; {
	case w == nil:
		return virterr.New(virterr.OperationInvalid, "no job is active on the domain '%s'", d.label)
	case w.dump:
		return virterr.New(virterr.OperationInvalid, "cannot abort memory-only dump of domain '%s': QEMU knows no way", d.label)
	case w.operation == server.JobOperationRestore:
		return virterr.New(virterr.OperationInvalid, "cannot abort the restore of domain '%s'; use virsh destroy", d.label)
	default:
		w.abort(errAborted)
	}
	return nil
}

// figuresWithin is how long a QEMU may take to say how far it is; one that is busy writing answers at once.
const figuresWithin = 5 * time.Second

// DomainJob implements server.DomainJobControl.
func (e *Engine) DomainJob(ctx context.Context, uuid spec.UUID, completed, keep bool) (server.Job, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return server.Job{}, err
	}
	d.jobs.mu.Lock()
	w := d.jobs.current
	if completed {
		defer d.jobs.mu.Unlock()
		if d.jobs.completed == nil || w != nil {
			return server.Job{}, nil
		}
		done := *d.jobs.completed
		if !keep {
			d.jobs.completed = nil
		}
		return done, nil
	}
	d.jobs.mu.Unlock()
	if w == nil {
		_, err := d.running()
		return server.Job{}, err
	}
	return w.ask(ctx), nil
}

// ask asks how far a job is. A QEMU that does not say leaves what it said last.
func (w *domainJob) ask(ctx context.Context) server.Job {
	if w.run == nil || w.operation == server.JobOperationRestore {
		return w.figures(nil)
	}
	ctx, cancel := context.WithTimeout(ctx, figuresWithin)
	defer cancel()
	if w.dump {
		return w.dumpFigures(ctx)
	}
	if m, err := w.run.queryMigration(ctx); err == nil && m.RAM.Total > 0 {
		w.last.Store(&m)
	}
	return w.figures(w.last.Load())
}

// figures are those of a job that QEMU said m of.
func (w *domainJob) figures(m *migration) server.Job {
	f := server.Job{
		Type: server.JobUnbounded, Operation: w.operation, Elapsed: uint64(time.Since(w.began).Milliseconds()),
	}
	if moved := w.moved.Load(); m == nil && moved != nil {
		f.Data.Processed = uint64(moved.Load())
	}
	if m == nil {
		return f
	}
	f.Downtime, f.Setup = m.Downtime, m.SetupTime
	f.Memory = server.JobAmount{Total: m.RAM.Total, Processed: m.RAM.Transferred, Remaining: m.RAM.Remaining}
	f.Data = f.Memory
	f.Pages = server.JobPages{
		Constant: m.RAM.Duplicate, Normal: m.RAM.Normal, NormalBytes: m.RAM.NormalBytes,
		DirtyRate: m.RAM.DirtyRate, Iteration: m.RAM.SyncCount, Size: m.RAM.PageSize,
	}
	f.BytesPerSecond = uint64(m.RAM.Mbps * 1e6 / 8)
	return f
}
