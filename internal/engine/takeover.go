package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/server"
	"taproom/internal/engine/store"
	"taproom/internal/guest"
	"taproom/internal/network/state"
	"taproom/internal/qemu"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// adoptWithin is how long a guest's QEMU may take to answer a daemon that has just started.
const adoptWithin = 5 * time.Second

// takeOver brings what is written down and what there is together: guests that run are adopted, those that ended or never
// came to be are cleared away, and the host's side of networks is made as it should be. There is one difference for all
// of it, over everything that is ours on this host.
func (e *Engine) takeOver(ctx context.Context) error {
	want := state.State{}
	if err := e.recallNetworks(&want); err != nil {
		return err
	}
	guests, err := e.recallGuests(ctx)
	if err != nil {
		return err
	}
	for _, g := range guests {
		want = want.Merge(state.State{Ports: e.portsNow(g.rec)})
	}
	if err := e.findOrphans(ctx, guests); err != nil {
		return err
	}
	want = want.Merge(e.orphans.links())
	if err := e.convergeAll(ctx, want); err != nil {
		return err
	}
	return errors.Join(e.sweepGuests(guests), e.sweepLeases(ctx), e.helperIfIdle(ctx))
}

// recallNetworks reads which networks should be up, and adds what they mean to want.
func (e *Engine) recallNetworks(want *state.State) error {
	items, damaged, err := e.actives.Load()
	if err != nil {
		return err
	}
	e.problem.damaged(e.log, damaged, "; where the network is defined, it goes on as it is defined")
	again, err := e.asDefined(damaged)
	if err != nil {
		return err
	}
	for _, i := range append(items, again...) {
		doc, err := spec.ParseNetwork(i.Doc)
		if err != nil {
			e.problem.add(e.log, fmt.Sprintf("network '%s' was active and its document cannot be read: %v", i.Head.Name, err))
			continue
		}
		n, err := e.claimNetwork(doc)
		if err != nil {
			e.problem.add(e.log, fmt.Sprintf("network '%s' was active: %v", i.Head.Name, err))
			continue
		}
		s, err := e.compileNetwork(doc)
		if err != nil {
			e.problem.add(e.log, fmt.Sprintf("network '%s' was active: %v", i.Head.Name, err))
			if !n.view().exists() {
				e.networks.remove(n)
			}
			continue
		}
		n.update(func(v *netView) { v.live, v.ref.Active, v.ref.Bridge = doc, true, doc.Bridge.Name })
		_, _ = e.bridges.Reserve(doc.Bridge.Name) // a name that is not the template's needs no reserving
		*want = want.Merge(s)
	}
	for _, n := range e.networks.all() {
		_, _ = e.bridges.Reserve(n.view().ref.Bridge)
	}
	return nil
}

// asDefined puts definitions in the place of damaged records of active networks: guests may be on them.
func (e *Engine) asDefined(damaged []*store.Damaged) ([]store.Item[activeNetwork], error) {
	var items []store.Item[activeNetwork]
	for _, f := range damaged {
		uuid, err := spec.ParseUUID(f.Key)
		if err != nil {
			continue
		}
		n, ok := e.networks.uuid(uuid)
		if !ok {
			continue
		}
		def := n.view().def // they are loaded, and none is active yet
		i := store.Item[activeNetwork]{
			Key: f.Key, Head: activeNetwork{Name: n.label, UUID: uuid, Bridge: def.head.Bridge, Persistent: true}, Doc: def.xml,
		}
		if err := e.actives.Put(i); err != nil {
			return nil, err
		}
		items = append(items, i)
	}
	return items, nil
}

// recallGuests adopts the guests that run and clears away the others; it returns the adopted ones.
func (e *Engine) recallGuests(ctx context.Context) ([]*running, error) {
	items, damaged, err := e.records.Load()
	if err != nil {
		return nil, err
	}
	e.problem.damaged(e.log, damaged, "")
	var adopted []*running
	for _, i := range items {
		e.nextID.Store(max(e.nextID.Load(), i.Head.ID))
		e.reserve(i.Head)
		run, err := e.recallGuest(ctx, i)
		if err != nil {
			e.problem.add(e.log, fmt.Sprintf("domain '%s': %v", i.Head.Name, err))
			continue
		}
		if run != nil {
			adopted = append(adopted, run)
		}
	}
	return adopted, nil
}

// reserve marks what a record holds as in use.
func (e *Engine) reserve(r record) {
	for _, p := range r.Ports {
		_, _ = e.names.Reserve(p.Name)
	}
	if r.VNCPort != 0 {
		_ = e.ports.Reserve(r.VNCPort)
	}
	_ = e.uids.Reserve(r.UID) // several records cannot hold one: each was taken
}

// recallGuest adopts the guest of one record, or clears it away and returns nil.
func (e *Engine) recallGuest(ctx context.Context, i store.Item[record]) (*running, error) {
	doc, err := spec.ParseDomain(i.Doc)
	if err != nil {
		return nil, fmt.Errorf("the document it was started from cannot be read: %w", err)
	}
	d, err := e.claim(doc)
	if err != nil {
		return nil, err
	}
	run := newRunning(i.Head, doc)
	status, err := e.adopt(ctx, d, run)
	if err != nil || status == statusGone || status == statusPrelaunch && run.rec.Phase == phaseStarting {
		run.letGo()
		_ = e.clearAway(ctx, d, i.Head) // stays a problem until it can be
		e.letGoOf(d)
		if run.rec.Phase == phaseRunning {
			d.update(func(v *view) { v.ref.Reason = server.ShutoffCrashed })
		}
		return nil, err
	}
	e.settleAdopted(d, run, status)
	return run, nil
}

// runStatus is QEMU's word for what a guest's processors do (qapi/run-state.json).
type runStatus string

const (
	statusGone      runStatus = "" // there is no process
	statusPrelaunch runStatus = "prelaunch"
	statusRunning   runStatus = "running"
	statusShutdown  runStatus = "shutdown"
	statusPanicked  runStatus = "guest-panicked"
)

// adopt takes hold of a guest's QEMU and asks how it is. A QEMU that does not answer is an error: nobody could control it.
func (e *Engine) adopt(ctx context.Context, d *domain, run *running) (runStatus, error) {
	p := e.places(d)
	proc, err := qemu.Adopt(e.ctx, e.k, p.pid(), p.log)
	if errors.Is(err, qemu.ErrNotRunning) {
		return statusGone, nil
	}
	if err != nil {
		return statusGone, err
	}
	run.proc = proc
	ctx, cancel := context.WithTimeout(ctx, adoptWithin)
	defer cancel()
	if err := proc.Connect(ctx, p.qmp()); err != nil {
		return statusGone, unanswered(ctx, proc, err)
	}
	run.mon = proc.QMP()
	run.rec.PID, run.rec.PIDStart = proc.PID(), proc.StartTime()
	var reply struct {
		Status runStatus `json:"status"`
	}
	if err := run.mon.Execute(ctx, "query-status", nil, &reply); err != nil {
		return statusGone, unanswered(ctx, proc, err)
	}
	run.rt, err = e.runtime(d, run.rec)
	if err != nil {
		return statusGone, err
	}
	compiled, err := guest.Compile(run.doc, run.rt)
	if err != nil {
		return statusGone, documentError(err)
	}
	run.compiled = compiled
	e.learnBalloon(ctx, run)
	return reply.Status, e.learnTerminals(ctx, run)
}

// unanswered tells a QEMU that is just ending, which is no error, from one that lives and says nothing. The daemon before
// may have asked it to end, or have died with it between its first steps.
func unanswered(ctx context.Context, proc *qemu.Process, err error) error {
	if errors.Is(err, qmp.ErrPeerClosed) || errors.Is(err, unix.ECONNREFUSED) {
		select {
		case <-proc.Exited():
			return nil
		case <-ctx.Done():
		}
	}
	return fmt.Errorf("its QEMU does not answer and is ended: %w", err)
}

// settleAdopted publishes an adopted guest in the state it was found in. A power-off or a panic while no daemon was there
// is read from the status, and followed now.
func (e *Engine) settleAdopted(d *domain, run *running, status runStatus) {
	state, reason := int32(server.DomainPaused), int32(server.PausedUnknown)
	switch status {
	case statusRunning:
		state, reason = server.DomainRunning, server.RunningUnknown
	case statusPrelaunch:
		reason = server.PausedUser
	case statusShutdown:
		state, reason = server.DomainShutdown, server.ShutdownUnknown
	case statusPanicked:
		state, reason = server.DomainCrashed, server.CrashedPanicked
	}
	if run.rec.State == state {
		reason = run.rec.Reason
	}
	d.update(func(v *view) {
		v.run, v.ref.ID, v.ref.State, v.ref.Reason = run, run.rec.ID, state, reason
	})
	if run.rec.Phase != phaseRunning { // it passed the point of no return, and nobody wrote that down
		run.rec.Phase = phaseRunning
		if err := e.saveRecord(run); err != nil {
			e.problem.add(e.log, fmt.Sprintf("domain '%s': %v", d.label, err))
		}
	}
	e.watchRun(d, run)
	switch status {
	case statusShutdown:
		action := run.doc.OnPoweroff
		if run.rebooting.Load() {
			action = actionRestart
		}
		e.afterEnd(e.ctx, d, run, action, server.ShutoffShutdown, server.EventStoppedShutdown)
	case statusPanicked:
		e.afterEnd(e.ctx, d, run, run.doc.OnCrash, server.ShutoffCrashed, server.EventStoppedCrashed)
	}
}

// convergeAll applies one difference to everything of ours on the host. When one network's part cannot be applied, it is
// left out and reported, so that the others come up.
func (e *Engine) convergeAll(ctx context.Context, want state.State) error {
	_, err := e.converge(ctx, want, e.everything(want))
	if err == nil {
		return nil
	}
	e.log.Warn("bring everything up at once failed; going on network by network", "error", err)
	for _, n := range e.networks.all() {
		v := n.view()
		if v.live == nil {
			continue
		}
		one, cerr := e.compileNetwork(v.live)
		if cerr == nil {
			_, cerr = e.converge(ctx, one, one.Scope())
		}
		if cerr != nil {
			e.problem.add(e.log, fmt.Sprintf("network '%s' was active and cannot be brought up again: %v", n.label, cerr))
			n.update(func(v *netView) { v.live, v.ref.Active = nil, false })
			want = without(want, one)
		}
	}
	if _, err := e.converge(ctx, want, e.everything(want)); err != nil {
		e.problem.add(e.log, "the host is not as it should be: "+err.Error())
	}
	return nil
}

// without takes a network's bridges, elements and DHCP out of a state.
func without(s, part state.State) state.State {
	out := s.Clone()
	for name := range part.Bridges {
		delete(out.Bridges, name)
	}
	for el := range part.Elements {
		delete(out.Elements, el)
	}
	for id := range part.DHCP {
		delete(out.DHCP, id)
	}
	return out
}
