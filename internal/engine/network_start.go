package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"taproom/internal/api/own"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/job"
	"taproom/internal/engine/store"
	"taproom/internal/network/portforward"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// StartNetwork implements server.Networks.
func (e *Engine) StartNetwork(ctx context.Context, uuid spec.UUID) error {
	n, err := e.network(uuid)
	if err != nil {
		return err
	}
	j, err := n.slot.Begin(ctx, "start network '"+n.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	v := n.view()
	switch {
	case v.live != nil:
		return alreadyActive(n)
	case v.def == nil: // undefined while the job waited
		return virterr.NetworkNotFound("uuid", uuid.String())
	}
	doc, err := spec.ParseNetwork(v.def.xml)
	if err != nil {
		return err
	}
	return e.activate(j.Context(), n, doc)
}

func alreadyActive(n *network) error {
	return virterr.New(virterr.OperationInvalid, "network is already active: '%s'", n.label)
}

// CreateNetwork implements server.Networks: a network without a definition.
func (e *Engine) CreateNetwork(ctx context.Context, xml string, _ uint32) (server.Network, error) {
	doc, err := e.completeNetwork([]byte(xml))
	if err != nil {
		return server.Network{}, err
	}
	n, j, err := e.holdNetwork(ctx, doc, "start")
	if err != nil {
		return server.Network{}, err
	}
	defer j.End()
	if n.view().live != nil {
		return server.Network{}, alreadyActive(n)
	}
	if err := e.activate(j.Context(), n, doc); err != nil {
		if !n.view().exists() {
			e.forgetNetwork(ctx, n)
		}
		return server.Network{}, err
	}
	return n.view().ref, nil
}

// activate makes a network exist on the host. It is written down first: a daemon that dies on the way finishes it. The
// caller holds the slot.
func (e *Engine) activate(ctx context.Context, n *network, doc *spec.Network) error {
	came := e.comes(n, doc)
	err := e.activateWith(ctx, n, doc)
	came()
	if err != nil {
		e.helperIfIdle(context.WithoutCancel(ctx))
	}
	return err
}

// activateWith is activate while the network helper is kept. The administrator's programs may take a minute each.
func (e *Engine) activateWith(ctx context.Context, n *network, doc *spec.Network) error {
	trace, flips := job.NewTrace(), e.flipsNow()
	bridge := ""
	if doc.Bridge != nil {
		bridge = doc.Bridge.Name
	}
	if err := e.clearNetworks(ctx, n.uuid, bridge); err != nil {
		return virterr.New(virterr.OperationFailed, "cannot start network '%s': %w", n.label, err)
	}
	release, err := e.claimOfHost(n, doc)
	if err == nil {
		defer release()
		err = e.tellNetwork(ctx, doc, "start", "begin", nil)
	}
	if err == nil {
		err = e.bring(ctx, n, doc, trace)
	}
	if err == nil {
		if err = e.tellNetwork(ctx, doc, "started", "begin", nil); err != nil {
			err = errors.Join(err, e.revertStart(context.WithoutCancel(ctx), n, doc))
			e.tellStopped(context.WithoutCancel(ctx), doc)
		}
	}
	if err != nil {
		return virterr.New(virterr.OperationFailed, "cannot start network '%s': %w%s", n.label, err, remedy(err))
	}
	v := n.update(func(v *netView) {
		v.live, v.ref.Active, v.ref.Bridge, v.trace = doc, true, doc.BridgeName(), trace
	})
	e.boundAsSeen(ctx, doc, doc)
	e.refenceSince(flips)
	e.beginAfresh(n)
	e.unrepairLate(ctx, n)
	e.replugAll(ctx, n)
	e.followNow(ctx, n)
	e.glanceSoon(n)
	e.publish(server.NetworkLifecycle{Network: v.ref, Event: server.NetworkEventStarted})
	return nil
}

// bring applies a network's desired state, or goes back to none.
func (e *Engine) bring(ctx context.Context, n *network, doc *spec.Network, trace *job.Trace) error {
	made, err := e.tryBring(ctx, n, doc, trace)
	if err != nil && made {
		err = errors.Join(err, e.revertStart(context.WithoutCancel(ctx), n, doc))
	}
	return err
}

// tryBring applies a network's desired state. made reports whether parts of it may have been made when that fails.
func (e *Engine) tryBring(ctx context.Context, n *network, doc *spec.Network, trace *job.Trace) (made bool, err error) {
	planned := trace.Stage("plan")
	want, err := e.compileNetwork(doc)
	if err != nil {
		return false, err
	}
	if err := e.functionsAreThere(doc); err != nil {
		return false, err
	}
	if err := e.portsAreFree(nil, doc); err != nil {
		return false, err
	}
	if err := e.floors.fit(doc); err != nil {
		return false, err
	}
	if err := e.zoneIsKept(ctx, doc); err != nil {
		return false, err
	}
	if err := e.keepActive(n, doc); err != nil {
		return true, err // it may have been written
	}
	planned()
	err = e.carry(ctx, want.WithoutShapes(), trace)
	if err == nil {
		err = e.boundAnew(ctx, doc)
	}
	return true, err
}

// carry makes the host be as a new network wants it, while firewalld, where there is one, takes its bridge.
func (e *Engine) carry(ctx context.Context, want state.State, trace *job.Trace) error {
	began := time.Now()
	zones, err := e.zones.Ahead(ctx, slices.Collect(maps.Keys(want.Elements)))
	if err != nil {
		return err
	}
	defer zones.Stop()
	if zones.Busy() {
		trace.Add("firewall", began, time.Now())
		defer trace.Stage("firewalld")()
	}
	if _, err := e.convergeTimed(ctx, want, want.Scope(), trace); err != nil {
		return err
	}
	return zones.Wait()
}

// keepActive writes down that a network should be up, as a document says.
func (e *Engine) keepActive(n *network, doc *spec.Network) error {
	head := activeNetwork{Name: n.label, UUID: n.uuid, Bridge: doc.BridgeName(), Persistent: n.view().def != nil}
	return e.actives.Put(store.Item[activeNetwork]{Key: n.uuid.String(), Head: head, Doc: doc.Format()})
}

// withoutSysctls leaves out the settings of the machine, which stay when a network goes.
func withoutSysctls(s state.State) state.State {
	s.Sysctls = nil
	return s
}

// compileNetwork is what a network's document means for the host.
func (e *Engine) compileNetwork(doc *spec.Network) (state.State, error) {
	s, err := e.compiled(doc)
	if err != nil {
		return state.State{}, documentError(err)
	}
	if doc.UUID == nil || e.fabric == nil {
		return s, nil
	}
	ports, err := portforward.Compile(doc, e.targets.known(*doc.UUID), e.targets.without(*doc.UUID)...)
	if err != nil {
		return state.State{}, documentError(err)
	}
	shape, err := e.networkShape(doc)
	return s.Merge(ports).Merge(shape), err
}

// changeNetwork makes an active network be as its definition says, in place: the plan is the difference, so guests stay.
func (e *Engine) changeNetwork(ctx context.Context, uuid spec.UUID) error {
	n, err := e.network(uuid)
	if err != nil {
		return err
	}
	v := n.view()
	if v.live == nil || v.def == nil {
		return nil
	}
	doc, err := spec.ParseNetwork(v.def.xml)
	if err != nil {
		return err
	}
	return e.changeTo(ctx, n, doc)
}

// changeTo makes an active network be as a document says.
func (e *Engine) changeTo(ctx context.Context, n *network, doc *spec.Network) error {
	j, err := n.slot.Begin(ctx, "change network '"+n.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	return e.rechange(j.Context(), n, doc)
}

// rechange is changeTo for a caller that holds the network's slot.
func (e *Engine) rechange(ctx context.Context, n *network, doc *spec.Network) error {
	v := n.view()
	if v.live == nil {
		return virterr.New(virterr.OperationInvalid, "network '%s' is not active", n.label)
	}
	came := sync.OnceFunc(e.comes(n, doc))
	defer came()
	defer e.refenceSince(e.flipsNow()) // shelter goes by the document of before until the end
	release, err := e.claimOfHost(n, doc)
	if err == nil {
		defer release()
		err = e.change(ctx, n, v.live, doc)
	}
	if err == nil {
		if err = e.tellNetwork(ctx, doc, "updated", "begin", nil); err != nil {
			err = errors.Join(err, e.change(context.WithoutCancel(ctx), n, doc, v.live))
		}
	}
	if err != nil {
		return virterr.New(virterr.OperationFailed, "cannot change network '%s': %w%s", n.label, err, remedy(err))
	}
	n.update(func(v *netView) { v.live, v.ref.Bridge = doc, doc.BridgeName() })
	e.boundAsSeen(ctx, v.live, doc)
	e.replugAll(ctx, n)
	came()
	e.followNow(ctx, n)
	return nil
}

// change goes from one document to another, and back when that fails.
func (e *Engine) change(ctx context.Context, n *network, from, to *spec.Network) error {
	have, err := e.compileNetwork(from)
	if err != nil {
		return err
	}
	want, err := e.compileNetwork(to)
	if err != nil {
		return err
	}
	if err := e.zoneIsKept(ctx, to); err != nil {
		return err
	}
	if err := e.portsAreFree(from, to); err != nil {
		return err
	}
	if err := e.floors.fit(to); err != nil {
		return err
	}
	if err := e.keepActive(n, to); err != nil {
		return err
	}
	have, want = have.WithoutShapes(), want.WithoutShapes()
	scope := have.Scope(want)
	if _, err = e.converge(ctx, want, scope); err == nil {
		err = e.reboundTo(ctx, from, to)
	}
	if err == nil {
		return nil
	}
	_, uerr := e.converge(context.WithoutCancel(ctx), have, scope)
	uerr = errors.Join(uerr, e.reboundTo(context.WithoutCancel(ctx), to, from))
	e.replugAll(ctx, n)
	return errors.Join(err, uerr, e.keepActive(n, from))
}

// planNetwork is what starting (or stopping) a network would do, as commands.
func (e *Engine) planNetwork(ctx context.Context, doc *spec.Network, up bool) ([]own.Step, error) {
	s, err := e.compileNetwork(doc)
	if err != nil {
		return nil, err
	}
	want := s
	if !up {
		want, s = state.State{}, withoutSysctls(s)
	}
	plan, err := planFor(ctx, e.env(), want, s.Scope())
	if err != nil {
		return nil, virterr.New(virterr.OperationFailed, "cannot plan network '%s': %w", doc.Name, err)
	}
	return planSteps("network "+doc.Name, plan), nil
}

func planSteps(object string, plan state.Plan) []own.Step {
	commands := make([]string, len(plan))
	for i, s := range plan {
		commands[i] = s.String()
	}
	return steps(object, commands)
}
