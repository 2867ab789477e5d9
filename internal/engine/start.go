package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/job"
	"taproom/internal/engine/store"
	"taproom/internal/guest"
	"taproom/internal/network/state"
	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// StartDomain implements server.DomainJobs.
func (e *Engine) StartDomain(ctx context.Context, uuid spec.UUID, flags uint32) (server.Domain, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return server.Domain{}, err
	}
	j, err := d.slot.BeginWithin(ctx, answerWithin, "start domain '"+d.label+"'")
	if err != nil {
		return server.Domain{}, virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	if !d.view().exists() { // undefined while the job waited
		return server.Domain{}, virterr.DomainNotFound("uuid", uuid.String())
	}
	if d.view().run != nil {
		return server.Domain{}, alreadyRuns(d)
	}
	trace := job.NewTrace()
	read := trace.Stage("parse")
	doc, err := e.definitionOf(d)
	if err != nil {
		return server.Domain{}, err
	}
	read()
	if flags&server.StartForceBoot != 0 && d.view().ref.ManagedSave {
		if err := e.dropManaged(d); err != nil {
			return server.Domain{}, err
		}
	}
	if d.view().ref.ManagedSave {
		return e.startManaged(j, d, flags, trace)
	}
	return e.start(j.Context(), d, doc, flags, trace, nil)
}

func alreadyRuns(d *domain) error {
	return virterr.New(virterr.OperationInvalid, "domain is already running: '%s'", d.label)
}

// CreateDomain implements server.DomainJobs.
func (e *Engine) CreateDomain(ctx context.Context, xml string, flags uint32) (server.Domain, error) {
	trace := job.NewTrace()
	read := trace.Stage("parse")
	doc, err := e.completeDomain(ctx, []byte(xml))
	if err != nil {
		return server.Domain{}, err
	}
	read()
	d, j, err := e.hold(ctx, doc, "start")
	if err != nil {
		return server.Domain{}, err
	}
	defer j.End()
	if err := startsElsewhere(d); err != nil {
		return server.Domain{}, err
	}
	ref, err := e.start(j.Context(), d, doc, flags, trace, nil)
	e.letGoOf(d)
	return ref, err
}

// start runs a completed document: the host's side first, which goes back by difference when something fails; then QEMU;
// and last, past what can be undone, its processors. It boots, or goes on from a saved state. The caller holds the slot.
func (e *Engine) start(ctx context.Context, d *domain, doc *spec.Domain, flags uint32, trace *job.Trace, from *source) (server.Domain, error) {
	if err := e.acceleratorOf(doc); err != nil {
		return server.Domain{}, err
	}
	if err := e.nothingLeft(ctx, d.uuid); err != nil {
		return server.Domain{}, e.startError(d, err)
	}
	doc, err := e.withCPU(ctx, doc)
	if err != nil {
		return server.Domain{}, e.startError(d, errors.Join(context.Cause(ctx), about("cannot start domain", d.label, err)))
	}
	if doc, err = e.withVHost(doc, func(*spec.Interface) bool { return false }); err != nil {
		return server.Domain{}, e.startError(d, err)
	}
	for try := 1; ; try++ {
		s := &starting{e: e, d: d, doc: doc, from: from, trace: trace, paused: flags&server.StartPaused != 0, resetNVRAM: flags&server.StartResetNVRAM != 0, autodestroy: flags&server.StartAutodestroy != 0}
		err := s.run(ctx)
		if err == nil {
			return e.publishStart(d, s), nil
		}
		s.undo(context.WithoutCancel(ctx))
		if !s.outrun || try == portTries || ctx.Err() != nil || e.left.has(d.uuid) {
			return server.Domain{}, e.startError(d, err)
		}
		e.log.Info("somebody was quicker with a port; the guest is started with another", "domain", d.label, "error", err)
	}
}

// portTries is how often a guest is started when somebody else listens on a port that was free a moment before: nobody is
// quicker that often by accident, and each time costs the start of a QEMU.
const portTries = 5

// publishStart makes a started guest visible and watches it.
func (e *Engine) publishStart(d *domain, s *starting) server.Domain {
	run := s.running
	run.settling.Store(false)
	e.healer.asked(d.uuid.String())
	watch := e.watcher(d, run)
	v := d.update(func(v *view) {
		v.run, v.ref.ID, v.ref.State, v.ref.Reason, v.ref.Updated = run, run.rec().ID, run.did.state, run.did.reason, false
	})
	if !maps.Equal(s.plugged, e.networksOf(*run.rec())) {
		e.replug(e.ctx, d, run)
	}
	watch()
	if how := guest.Crowded(s.doc); how != "" {
		e.log.Warn("a guest has very many NICs: "+how, "domain", d.label)
	}
	told := s.events()
	e.publish(server.DomainLifecycle{Domain: v.ref, Event: server.EventStarted, Detail: told.started})
	if s.paused {
		e.publish(server.DomainLifecycle{Domain: v.ref, Event: server.EventSuspended, Detail: told.suspended})
	} else {
		e.publish(server.DomainLifecycle{Domain: v.ref, Event: server.EventResumed, Detail: told.resumed})
	}
	return v.ref
}

// startEvents are the details of what is told of a start.
type startEvents struct{ started, suspended, resumed int32 }

// events are libvirt's: to it, a guest that goes on from a file resumes as from a snapshot.
func (s *starting) events() startEvents {
	switch {
	case s.from == nil:
		return startEvents{server.EventStartedBooted, server.EventSuspendedPaused, server.EventResumedUnpaused}
	case s.from.image.header.Running: // and the client wants it paused
		return startEvents{server.EventStartedRestored, server.EventSuspendedPaused, server.EventResumedFromSnapshot}
	}
	return startEvents{server.EventStartedRestored, server.EventSuspendedRestored, server.EventResumedFromSnapshot}
}

// reached is the state that the guest is in when it has started, and why.
func (s *starting) reached() told {
	switch {
	case s.paused && s.from != nil:
		return told{server.DomainPaused, server.PausedMigration} // as libvirt has it
	case s.paused:
		return told{server.DomainPaused, server.PausedUser}
	case s.from != nil:
		return told{server.DomainRunning, server.RunningRestored}
	}
	return told{server.DomainRunning, server.RunningBooted}
}

// watcher prepares to read what a guest's QEMU tells, before anybody sees the guest; watch begins to, when everybody does.
func (e *Engine) watcher(d *domain, run *running) (watch func()) {
	ctx, cancel := context.WithCancel(e.ctx)
	run.cancel = cancel
	return func() {
		e.work.Go(func() { e.watch(ctx, d, run) })
		e.followCompanions(d, run)
	}
}

// starting is one start under way.
type starting struct {
	e           *Engine
	d           *domain
	doc         *spec.Domain
	trace       *job.Trace
	from        *source // nil for a guest that boots
	paused      bool
	autodestroy bool // the guest ends with the client that starts it
	resetNVRAM  bool // UEFI variables begin afresh
	running     *running
	compiled    *guest.Compiled
	recorded    bool
	outrun      bool                     // somebody was quicker with a port that we chose
	files       map[string]*os.File      // what QEMU inherits; closed here when it has
	env         *state.Env               // the taps
	plugged     map[string]*spec.Network // what they were plugged into
	vsock       *os.File                 // holds the guest's CID, until it is among the files
}

// run does the stages of a start in their order.
func (s *starting) run(ctx context.Context) error {
	defer s.closeFiles()
	for _, stage := range []struct {
		name string // "" for one that records its parts itself
		do   func(context.Context) error
		idle func() bool // nil is never
	}{
		{"hooks", s.hook("prepare"), s.unhooked},
		{"plan", s.plan, nil},
		{"", s.links, nil},
		{"files", s.open, nil},
		{"companions", s.startCompanions, func() bool { return len(s.compiled.Companions) == 0 }},
		{"hooks", s.hook("start"), s.unhooked},
		{"", s.exec, nil},
		{"load", s.load, func() bool { return s.from == nil }},
		{"hooks", s.hook("started"), s.unhooked},
		{"settle", s.settle, nil},
	} {
		if stage.idle != nil && stage.idle() {
			continue
		}
		began := time.Now()
		if err := stage.do(ctx); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return errors.Join(cause, err)
			}
			return err
		}
		if stage.name != "" {
			s.trace.Add(stage.name, began, time.Now())
		}
	}
	return nil
}

// plan takes names and numbers, compiles the document and writes the record: from here on, whoever finds the record can
// find everything else.
func (s *starting) plan(ctx context.Context) error {
	e, d := s.e, s.d
	rec := record{
		Name: d.label, UUID: d.uuid, ID: e.nextID.Add(1), Phase: phaseStarting, Accel: accelOf(s.doc),
		NICs: len(s.doc.Devices.Interfaces), Emulator: e.emulatorOf(s.doc), Paused: s.paused, Autodestroy: s.autodestroy, Cgroup: e.cgroupOf(d.uuid),
	}
	if s.from != nil {
		rec.Incoming = true
		if s.from.managed {
			rec.Image = s.from.image.path
		}
	}
	if err := guest.Name(s.doc); err != nil {
		return documentError(err)
	}
	s.running = newRunning(rec, s.doc)
	s.running.trace = s.trace
	s.running.settling.Store(true)
	r := s.running.rec()
	var err error
	if r.UID, err = e.uids.Take(); err != nil {
		return fmt.Errorf("a user for its QEMU: %w; stop a guest, or raise uid_count in taproomd.toml", err)
	}
	if r.Ports, err = (placement{e: e}).portsFor(s.doc); err != nil {
		return err
	}
	if r.Access, err = e.accessFor(s.doc); err != nil {
		return err
	}
	if r.Displays, err = e.displaysFor(s.doc); err != nil {
		return err
	}
	if s.vsock, r.CID, err = e.claimVsock(s.doc); err != nil {
		return err
	}
	return s.compile()
}

// compile turns the document and what was taken for it into a command line, and writes the record.
func (s *starting) compile() error {
	e, r := s.e, s.running.rec()
	var err error
	if *s.running.rt(), err = e.runtime(s.d, *r); err != nil {
		return err
	}
	if s.compiled, err = e.compileGuest(s.doc, *s.running.rt()); err != nil {
		return err
	}
	if s.from != nil {
		s.compiled.Config.Incoming = true
		s.compiled.Startup.BalloonBytes = 0 // the state has it
	}
	r.Tainted, r.Pins = s.compiled.Taints, s.compiled.Pins
	s.running.rt().Pins = r.Pins
	r.Sockets = s.sockets()
	if s.compiled.MemoryDir {
		r.MemoryDir = e.paths.GuestMemory(r.UUID.String())
	}
	s.planCompanions(r)
	if err := e.saveRecord(s.running); err != nil {
		return err
	}
	s.recorded = true
	return nil
}

// saveRecord writes the record with the document it runs from.
func (e *Engine) saveRecord(run *running) error {
	return e.saveHardware(run, run.hardware())
}

// saveHardware writes down that a guest consists of something, before it does.
func (e *Engine) saveHardware(run *running, h *hardware) error {
	return e.records.Put(store.Item[record]{Key: h.rec.UUID.String(), Head: run.record(h), Doc: h.doc.Format()})
}

// links makes the guest's taps on their bridges.
func (s *starting) links(ctx context.Context) error {
	if len(s.running.rec().Ports) == 0 {
		return nil
	}
	r := s.running.rec()
	s.plugged = s.e.networksOf(*r)
	var err error
	if s.env, err = s.e.makeLinks(ctx, *r, r.Ports, s.trace, s.compile); err != nil {
		return err
	}
	if err := s.e.grantAccess(ctx, r, func() error { return s.e.saveRecord(s.running) }); err != nil {
		return err
	}
	return s.e.tellPorts(ctx, "port-created", s.running.hardware(), nil)
}

// exec starts QEMU and waits for its monitor.
func (s *starting) exec(ctx context.Context) error {
	e, p, r := s.e, s.e.places(s.d), s.running.rec()
	ctx, cancel := context.WithTimeout(ctx, e.cfg.ReadyWithin)
	defer cancel()
	began := time.Now()
	proc, err := qemu.Start(ctx, e.k, qemu.StartSpec{
		Launcher: e.cfg.Launch, Config: s.compiled.Config, Files: s.files,
		Confinement: s.confinement(),
		QMPPath:     p.qmp(), PIDFile: p.pid(), LogPath: p.log, Cgroup: r.Cgroup,
	})
	if err != nil {
		return s.explainDeath(err)
	}
	s.running.proc, s.running.mon = proc, proc.QMP()
	r.PID, r.PIDStart = proc.PID(), proc.StartTime()
	s.trace.Add("exec", began, proc.Executed())
	s.trace.Add("qmp", proc.Executed(), time.Now())
	return nil
}

func (s *starting) closeFiles() {
	for _, f := range s.files {
		_ = f.Close()
	}
	s.files = nil
	if s.vsock != nil {
		_ = s.vsock.Close()
	}
	if s.env != nil {
		_ = s.env.CloseTaps()
	}
}

// undo takes back whatever a failed start made. What cannot be taken back now stays a problem until it can.
func (s *starting) undo(ctx context.Context) {
	switch {
	case !s.recorded: // nothing was made yet
		if s.running != nil {
			s.e.releaseNames(*s.running.rec())
		}
		s.e.tellEnd(ctx, s.d, "stopped", s.document)
		s.e.tellEnd(ctx, s.d, "release", s.document)
		return
	}
	s.running.letGo()
	s.e.tellEnd(ctx, s.d, "stopped", s.document)
	s.e.tellPortsGone(ctx, s.running.hardware(), nil)
	_ = s.e.clearAway(ctx, s.d, *s.running.rec())
	s.e.tellEnd(ctx, s.d, "release", s.document)
}
