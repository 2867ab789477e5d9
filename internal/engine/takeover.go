package engine

import (
	"context"
	"errors"
	"fmt"

	"taproom/internal/api/server"
	"taproom/internal/engine/store"
	"taproom/internal/guest"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// takeOver brings what is written down and what there is together: guests that run are adopted, those that ended or never
// came to be are cleared away, and the host's side of networks is made as it should be. There is one difference for all
// of it, over everything that is ours on this host.
func (e *Engine) takeOver(ctx context.Context) error {
	want := state.State{}
	if err := e.recallNetworks(&want); err != nil {
		return err
	}
	e.followResolvers(ctx)
	guests, err := e.recallGuests(ctx)
	if err != nil {
		return err
	}
	for _, g := range guests {
		want = want.Merge(e.linksNow(*g.rec()))
	}
	if err := e.boundNetworks(&want); err != nil {
		return err
	}
	if err := e.withoutMissing(guests, &want); err != nil {
		return err
	}
	if err := e.findOrphans(ctx, guests); err != nil {
		return err
	}
	e.restoreFilters(ctx, guests)
	e.recallForwards(ctx, &want)
	want = want.Merge(e.orphans.links()).Merge(e.accessNow())
	want.SwitchPorts = nil // whether Open vSwitch answers is no matter of the others
	if err := e.convergeAll(ctx, want); err != nil {
		return err
	}
	e.restoreAccess(ctx)
	e.clearOtherFirewalls(ctx)
	if err := e.takeOverSwitch(ctx); err != nil {
		return err
	}
	if err := e.settleRepairs(ctx); err != nil {
		return err
	}
	e.glance(ctx, e.networks.all())
	e.helperIfIdle(ctx)
	return errors.Join(e.sweep(guests), e.sweepLeases(ctx), e.sweepPorts())
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
		n.update(func(v *netView) { v.live, v.ref.Active, v.ref.Bridge = doc, true, doc.BridgeName() })
		_, _ = e.bridges.Reserve(doc.BridgeName()) // a name that is not the template's needs no reserving
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
	for _, i := range items {
		e.recallAccess(i.Head)
	}
	var adopted []*running
	for _, i := range items {
		e.nextID.Store(max(e.nextID.Load(), i.Head.ID))
		e.reserve(i.Head)
		run, err := e.recallGuest(ctx, i)
		if store.Scarce(err) || ctx.Err() != nil { // the guest goes on, and a daemon that has what it needs adopts it
			return nil, fmt.Errorf("take over domain '%s': %w", i.Head.Name, errors.Join(err, context.Cause(ctx)))
		}
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
		e.reserveName(p.Name)
		if p.Direct != nil {
			e.lowers.take(p.Direct.Lower, p.ID, false)
		}
		e.floors.note(p)
	}
	for _, d := range r.Displays {
		_ = e.ports.Reserve(d.Port)
		_ = e.webPorts.Reserve(d.WebSocket)
	}
	_ = e.uids.Reserve(r.UID) // several records cannot hold one: each was taken
}

// recallGuest adopts the guest of one record, or clears it away and returns nil.
func (e *Engine) recallGuest(ctx context.Context, i store.Item[record]) (*running, error) {
	doc, err := spec.ParseDomain(i.Doc)
	if err != nil {
		return nil, fmt.Errorf("the document it was started from cannot be read: %w", err)
	}
	if err := guest.Name(doc); err != nil {
		return nil, err
	}
	d, err := e.claim(doc)
	if err != nil {
		return nil, err
	}
	if s := i.Head.Saving; s != nil && s.Done {
		if err := e.finishSave(ctx, d, i); !errors.Is(err, errImageGone) {
			return nil, err
		}
		s.Done = false // its QEMU still has the state
	}
	run := newRunning(i.Head, doc)
	status, err := e.adopt(ctx, d, run)
	switch {
	case err == nil, errors.Is(err, errNonsense):
	case !errors.Is(err, errSilent), ctx.Err() != nil: // it may well run: an orphan, or the next daemon's
		run.letGo()
		e.letGoOf(d)
		return nil, err
	case run.rec().Phase == phaseRunning:
		return run, e.keepSilent(d, run, err)
	default: // a start that nobody was told of
		err = nil
	}
	if err != nil || status == statusGone || run.rec().Phase == phaseStarting && status.neverRan(run.rec().Incoming) {
		run.letGo()
		document := func() []byte { return run.live(false).Format() }
		e.tellEnd(ctx, d, "stopped", document)
		e.tellPortsGone(ctx, run.hardware(), nil)
		_ = e.clearAway(ctx, d, i.Head) // stays a problem until it can be
		e.tellEnd(ctx, d, "release", document)
		e.letGoOf(d)
		if run.rec().Phase == phaseRunning {
			d.update(func(v *view) { v.ref.Reason = server.ShutoffCrashed })
		}
		return nil, err
	}
	if err := e.agreeAccess(ctx, run); err != nil {
		e.problem.add(e.log, fmt.Sprintf("domain '%s': host access: %v", d.label, err))
	}
	e.settleAdopted(d, run, status)
	e.tellReconnect(d, run)
	e.goOnIfSaving(ctx, d, run, status) // no other operation has the slot: clients are not served yet
	return run, nil
}

// convergeAll applies one difference to everything of ours on the host. When one network's part cannot be applied, it is
// left out and reported, so that the others come up; when it is a port of the loopback alone, that one.
func (e *Engine) convergeAll(ctx context.Context, want state.State) error {
	err := e.convergeRest(ctx, want, e.everything(want))
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e.log.Warn("bring everything up at once failed; going on network by network", "error", err)
	for _, n := range e.networks.all() {
		v := n.view()
		if v.live == nil {
			continue
		}
		whole, cerr := e.compileNetwork(v.live)
		one := whole
		if cerr == nil {
			one, cerr = e.convergeButBarred(ctx, n, v.live)
		}
		if cerr == nil && len(e.targets.bars(n.uuid)) > 0 { // followTargets tells of it, and tries again
			want = without(want, whole).Merge(one)
		}
		if cerr != nil {
			e.problem.add(e.log, fmt.Sprintf("network '%s' was active and cannot be brought up again: %v", n.label, cerr))
			n.update(func(v *netView) { v.live, v.ref.Active = nil, false })
			want = without(want, whole)
		}
	}
	if err := e.convergeRest(ctx, want, e.everything(want)); err != nil {
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
	for id := range part.Services {
		delete(out.Services, id)
	}
	return out
}
