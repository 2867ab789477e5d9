package engine

import (
	"context"
	"strconv"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/guest/tune"
	"taproom/internal/spec"
)

// retuneTo changes what a document says of the host's resources, where the guest runs and in its definition, as the flags
// say. What runs is brought to the change first; when that fails, it is brought back and nothing has changed. changed is what
// is told of a guest that runs, by its document then.
func (e *Engine) retuneTo(ctx context.Context, uuid spec.UUID, what string, flags uint32, change func(*spec.Domain) error,
	changed func(*spec.Domain) []server.Param,
) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	j, err := d.slot.BeginWithin(ctx, answerWithin, what+" domain '"+d.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	live, config, err := d.affects(flags)
	if err != nil {
		return err
	}
	var defined *spec.Domain
	if config {
		if defined, err = e.edited(j.Context(), d, what, change); err != nil {
			return err
		}
	}
	if live {
		doc, err := e.retuneLive(j.Context(), d, change)
		if err != nil {
			return err
		}
		e.tellTunables(d, changed(doc))
	}
	if config {
		_, err = e.redefine(d, defined)
	}
	return err
}

// retuneLive changes the document of what runs, and brings the guest to it. The record is written first: a daemon that is
// killed in between leaves it to the next one.
func (e *Engine) retuneLive(ctx context.Context, d *domain, change func(*spec.Domain) error) (*spec.Domain, error) {
	run, err := d.running()
	if err != nil {
		return nil, err
	}
	before := run.hardware()
	after := *before
	after.doc = before.doc.Clone()
	if err := change(after.doc); err != nil {
		return nil, err
	}
	if err := after.doc.Validate(); err != nil {
		return nil, documentError(err)
	}
	run.has.Store(&after)
	err = e.saveRecord(run)
	if err == nil {
		err = tuneError(d, virterr.OperationInvalid, e.tune(ctx, run, before.doc, after.doc))
	}
	if err == nil {
		return after.doc, nil
	}
	run.has.Store(before)
	ctx, cancel := settingBack(ctx, answerWithin)
	defer cancel()
	if back := e.tune(ctx, run, after.doc, before.doc); back != nil {
		e.problem.add(e.log, "domain '"+d.label+"' is not as its document says: "+back.Error())
	}
	if back := e.saveRecord(run); back != nil {
		e.problem.add(e.log, "domain '"+d.label+"': "+back.Error())
	}
	return nil, err
}

// pinned is what is told of threads that were pinned.
func pinned(name string, cpus []int) func(*spec.Domain) []server.Param {
	return func(*spec.Domain) []server.Param {
		return []server.Param{remote.StringParam("cputune."+name, spec.FormatCPUSet(cpus))}
	}
}

// cpuTune is what a document says of processors; it is there afterwards.
func cpuTune(doc *spec.Domain) *spec.CPUTune {
	if doc.CPUTune == nil {
		doc.CPUTune = &spec.CPUTune{}
	}
	return doc.CPUTune
}

// PinVCPU implements server.Placements.
func (e *Engine) PinVCPU(ctx context.Context, uuid spec.UUID, vcpu uint32, cpus []int, flags uint32) error {
	return e.retuneTo(ctx, uuid, "pin a virtual CPU of", flags, func(doc *spec.Domain) error {
		if most, err := doc.MaxVCPUs(); err != nil || uint(vcpu) >= most {
			return virterr.New(virterr.InvalidArg, "vcpu %d is out of range of the %d that domain '%s' has", vcpu, most, doc.Name)
		}
		t, number, set := cpuTune(doc), strconv.Itoa(int(vcpu)), spec.FormatCPUSet(cpus)
		at := 0
		for ; at < len(t.VCPUPins); at++ {
			if t.VCPUPins[at].VCPU == number {
				t.VCPUPins[at].CPUSet = set
				return nil
			}
		}
		t.VCPUPins = append(t.VCPUPins, spec.VCPUPin{VCPU: number, CPUSet: set})
		guest.SortPins(t)
		return nil
	}, pinned("vcpupin"+strconv.Itoa(int(vcpu)), cpus))
}

// PinEmulator implements server.Placements.
func (e *Engine) PinEmulator(ctx context.Context, uuid spec.UUID, cpus []int, flags uint32) error {
	return e.retuneTo(ctx, uuid, "pin the emulator of", flags, func(doc *spec.Domain) error {
		cpuTune(doc).EmulatorPin = &spec.EmulatorPin{CPUSet: spec.FormatCPUSet(cpus)}
		return nil
	}, pinned("emulatorpin", cpus))
}

// PinIOThread implements server.Placements.
func (e *Engine) PinIOThread(ctx context.Context, uuid spec.UUID, thread uint32, cpus []int, flags uint32) error {
	return e.retuneTo(ctx, uuid, "pin an I/O thread of", flags, func(doc *spec.Domain) error {
		threads, err := guest.IOThreads(doc)
		if err != nil {
			return documentError(err)
		}
		number, set := strconv.Itoa(int(thread)), spec.FormatCPUSet(cpus)
		for _, t := range threads {
			if t.ID != number {
				continue
			}
			pins := cpuTune(doc)
			for i := range pins.IOThreadPins {
				if pins.IOThreadPins[i].IOThread == number {
					pins.IOThreadPins[i].CPUSet = set
					return nil
				}
			}
			pins.IOThreadPins = append(pins.IOThreadPins, spec.IOThreadPin{IOThread: number, CPUSet: set})
			return nil
		}
		return virterr.New(virterr.InvalidArg, "iothread %d not found in domain '%s'", thread, doc.Name)
	}, pinned("iothreadpin"+strconv.Itoa(int(thread)), cpus))
}

// placed is the document that a question with these flags is about, and the CPUs of this host.
func (e *Engine) placed(uuid spec.UUID, flags uint32) (*spec.Domain, []int, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return nil, nil, err
	}
	live, config, err := d.affects(flags)
	if err != nil {
		return nil, nil, err
	}
	if live && config {
		return nil, nil, virterr.New(virterr.InvalidArg, "a question is about what runs or about the definition, not about both")
	}
	online, err := e.k.OnlineCPUs()
	if err != nil {
		return nil, nil, virterr.Wrap(virterr.SystemError, err)
	}
	if run := d.view().run; live && run != nil {
		return run.doc(), online, nil
	}
	doc, err := e.definitionOf(d)
	return doc, online, err
}

// cpusOf is where a thread of that name runs: everywhere, where the document does not say.
func cpusOf(doc *spec.Domain, name string, online []int) ([]int, error) {
	p, err := tune.PlaceOf(doc, name)
	if err != nil {
		return nil, documentError(err)
	}
	if p.CPUs == nil {
		return online, nil
	}
	return p.CPUs, nil
}

// VCPUPins implements server.Placements.
func (e *Engine) VCPUPins(_ context.Context, uuid spec.UUID, flags uint32) ([][]int, error) {
	doc, online, err := e.placed(uuid, flags)
	if err != nil {
		return nil, err
	}
	most, err := doc.MaxVCPUs()
	if err != nil {
		return nil, documentError(err)
	}
	var out [][]int
	for i := range int(most) {
		cpus, err := cpusOf(doc, tune.VCPUGroup+strconv.Itoa(i), online)
		if err != nil {
			return nil, err
		}
		out = append(out, cpus)
	}
	return out, nil
}

// EmulatorPin implements server.Placements.
func (e *Engine) EmulatorPin(_ context.Context, uuid spec.UUID, flags uint32) ([]int, error) {
	doc, online, err := e.placed(uuid, flags)
	if err != nil {
		return nil, err
	}
	return cpusOf(doc, tune.EmulatorGroup, online)
}

// IOThreadPins implements server.Placements.
func (e *Engine) IOThreadPins(_ context.Context, uuid spec.UUID, flags uint32) ([]server.IOThreadPin, error) {
	doc, online, err := e.placed(uuid, flags)
	if err != nil {
		return nil, err
	}
	threads, err := guest.IOThreads(doc)
	if err != nil {
		return nil, documentError(err)
	}
	var out []server.IOThreadPin
	for _, t := range threads {
		cpus, err := cpusOf(doc, tune.IOThreadGroup+t.ID, online)
		if err != nil {
			return nil, err
		}
		id, _ := strconv.ParseUint(t.ID, 10, 32)
		out = append(out, server.IOThreadPin{ID: uint32(id), CPUs: cpus})
	}
	return out, nil
}

// CellsFreeMemory implements server.Placements.
func (e *Engine) CellsFreeMemory() ([]uint64, error) {
	nodes, err := e.k.NUMANodes()
	if err != nil {
		return nil, virterr.Wrap(virterr.SystemError, err)
	}
	var out []uint64
	for _, n := range nodes {
		out = append(out, n.FreeKiB<<10)
	}
	return out, nil
}
