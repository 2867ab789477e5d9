package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/guest/saveimage"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// dumpFormats are QEMU's names of libvirt's formats of a dump of memory alone, by number.
var dumpFormats = [...]string{
	"elf", "kdump-zlib", "kdump-lzo", "kdump-snappy", "win-dmp", "kdump-raw-zlib", "kdump-raw-lzo", "kdump-raw-snappy",
}

// DumpDomain implements server.DomainStates. It is a job: the guest's memory goes to a file, alone or with the state of its
// devices, and the guest goes on, ends or is reset.
func (e *Engine) DumpDomain(ctx context.Context, uuid spec.UUID, r server.DumpRequest) error {
	if err := checkDump(r); err != nil {
		return err
	}
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	j, err := d.slot.BeginWithin(ctx, answerWithin, "dump domain '"+d.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	run, err := d.running()
	if err != nil {
		return err
	}
	s := &dumping{e: e, d: d, run: run, request: r, work: d.jobs.begin(j, run, server.JobOperationDump)}
	s.work.dump = r.Flags&server.DumpMemoryOnly != 0
	err = s.do(s.work.ctx)
	e.endJob(d, s.work, err)
	if err == nil {
		err = s.afterwards(j.Context())
	}
	return err
}

func checkDump(r server.DumpRequest) error {
	exclusive := 0
	for _, f := range []uint32{server.DumpCrash, server.DumpLive, server.DumpReset} {
		if r.Flags&f != 0 {
			exclusive++
		}
	}
	switch {
	case !filepath.IsAbs(r.Path):
		return virterr.New(virterr.InvalidArg, "the file to dump to is '%s'; name it from / on", r.Path)
	case exclusive > 1:
		return virterr.New(virterr.InvalidArg, "of live, crash and reset there can be one")
	case r.Format != server.CoreDumpRaw && r.Flags&server.DumpMemoryOnly == 0:
		return virterr.New(virterr.InvalidArg, "the format %s is only supported with memory-only dump", dumpFormats[r.Format])
	}
	return nil
}

// dumping is one dump under way. The caller holds the domain's slot.
type dumping struct {
	e       *Engine
	d       *domain
	run     *running
	request server.DumpRequest
	work    *domainJob
}

// do writes the file. The guest is as it was before when it returns an error.
func (s *dumping) do(ctx context.Context) error {
	e, run := s.e, s.run
	device, err := inPlace(s.request.Path)
	if err != nil {
		return s.cannot(fileError(s.request.Path, err))
	}
	run.saving = &saving{Path: s.request.Path, Resume: s.d.view().ref.State == server.DomainRunning, Dump: true}
	if !device {
		run.saving.Temp = tempName(s.request.Path, s.d.uuid.String())
	}
	if err := e.saveRecord(run); err != nil {
		run.saving = nil
		return s.cannot(err)
	}
	err = s.write(ctx)
	if err == nil {
		if err = publishImage(e.k, *run.saving); err != nil {
			err = fileError(s.request.Path, err)
		}
	}
	if err != nil {
		return besides(s.cannot(err), e.goOnAfterSave(ctx, s.d, run))
	}
	return nil
}

func (s *dumping) write(ctx context.Context) error {
	e, run := s.e, s.run
	bypass := s.request.Flags&server.DumpBypassCache != 0
	to, err := e.createImage(*run.saving, bypass, false)
	if err != nil {
		return fileError(s.request.Path, err)
	}
	defer to.f.Close()
	if run.saving.Resume && s.request.Flags&server.DumpLive == 0 {
		if err := e.standStill(ctx, s.d, run, server.PausedDump); err != nil {
			return err
		}
	}
	format, err := saveimage.ParseFormat(cmp.Or(e.cfg.DumpFormat, rawFormat))
	if err != nil {
		return err
	}
	dump := func() error { return e.stream(ctx, run, s.work, to, 0, format) }
	if s.work.dump {
		dump = func() error { return s.memory(ctx, to) }
	}
	if err := run.command(dump); err != nil { // QEMU stops a guest that it dumps: that is no news
		return err
	}
	if err := errors.Join(to.complete(), run.saving.identify(e.k, to)); err != nil {
		return fileError(s.request.Path, err)
	}
	return nil
}

// dumpProgress is query-dump.
type dumpProgress struct {
	Status    string `json:"status"`
	Completed uint64 `json:"completed"`
	Total     uint64 `json:"total"`
}

// memory has QEMU write the memory alone, into the file itself: some formats are not written from front to back.
func (s *dumping) memory(ctx context.Context, to *imageFile) error {
	mon, format := s.run.mon, dumpFormats[s.request.Format]
	var can struct {
		Formats []string `json:"formats"`
	}
	if err := mon.Execute(ctx, "query-dump-guest-memory-capability", nil, &can); err != nil {
		return err
	}
	if !slices.Contains(can.Formats, format) {
		return virterr.New(virterr.OperationUnsupported, "unsupported dumpformat '%s' for this QEMU binary", format)
	}
	if err := mon.GetFD(ctx, stateFD, to.f); err != nil {
		return err
	}
	args := map[string]any{"paging": false, "protocol": "fd:" + stateFD, "detach": true, "format": format}
	over := s.run.expected.next("DUMP_COMPLETED")
	defer s.run.expected.forget("DUMP_COMPLETED", over)
	s.run.dumpError.Store(nil)
	if err := mon.Execute(ctx, "dump-guest-memory", args, nil); err != nil {
		return err
	}
	select {
	case <-over:
	case <-mon.Done():
		return errors.Join(errors.New("QEMU is gone"), mon.Err())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p, err := s.run.queryDump(ctx)
	switch {
	case err != nil:
		return err
	case p.Status != "completed":
		return s.run.dumpFailed()
	}
	return to.k.Bulk(to.f, int64(p.Total), to.bypass).Flush()
}

// onDumped keeps why QEMU could not write a guest's memory: it says so once.
func (e *Engine) onDumped(_ context.Context, _ *domain, run *running, ev qmp.Event) {
	var data struct {
		Error *string `json:"error"`
	}
	_ = json.Unmarshal(ev.Data, &data) // without an error there was none
	run.dumpError.Store(data.Error)
}

// dumpFailed is why QEMU could not write the memory.
func (run *running) dumpFailed() error {
	if why := run.dumpError.Load(); why != nil {
		return errors.New("QEMU cannot write the memory: " + *why)
	}
	return errors.New("QEMU did not write the memory to the end")
}

func (run *running) queryDump(ctx context.Context) (p dumpProgress, err error) {
	err = run.mon.Execute(ctx, "query-dump", nil, &p)
	return p, err
}

// dumpFigures are those of a dump of memory alone.
func (w *domainJob) dumpFigures(ctx context.Context) server.Job {
	f := w.figures(nil)
	if p, err := w.run.queryDump(ctx); err == nil {
		f.Dump = true
		f.Memory = server.JobAmount{Total: p.Total, Processed: p.Completed, Remaining: p.Total - min(p.Completed, p.Total)}
		f.Data = f.Memory
	}
	return f
}

// afterwards does with the guest what the client wants.
func (s *dumping) afterwards(ctx context.Context) error {
	e, d, run := s.e, s.d, s.run
	if s.request.Flags&server.DumpCrash != 0 {
		return e.stop(context.WithoutCancel(ctx), d, run, server.ShutoffCrashed, server.EventStoppedCrashed)
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	resume := run.saving.Resume
	run.saving = nil
	if s.request.Flags&server.DumpReset != 0 {
		if err := run.mon.Execute(ctx, "system_reset", nil, nil); err != nil {
			return monitorError(d, "reset", err)
		}
	}
	if resume {
		if err := e.runAgain(ctx, d, run, server.RunningUnpaused); err != nil {
			return monitorError(d, "resume", err)
		}
	} else if err := e.leavePostMigrate(ctx, d, run); err != nil {
		return monitorError(d, "suspend", err)
	}
	return e.remember(d, run)
}

// cannot says which guest could not be dumped, and why.
func (s *dumping) cannot(err error) error {
	return jobError("dump domain '"+s.d.label+"'", "domain core dump job", err)
}
