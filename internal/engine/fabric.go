package engine

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"taproom/internal/engine/job"
	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/choice"
	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/helper"
	"taproom/internal/network/ovs"
	"taproom/internal/network/state"
	"taproom/internal/version"
)

const (
	tapTemplate     = "vnet%d"
	macvtapTemplate = "macvtap%d"
	macvlanTemplate = "macvlan%d"
	bridgeTemplate  = "virbr%d"
)

// fabric is the host side of networks: what carries a plan out.
type fabric struct {
	nft     *nft.Conn // nil where the kernel has no nf_tables
	chosen  *choice.Chosen
	fw      state.FirewallBackend // the one chosen, where requests that arrive together share a transaction, beside zones
	zones   *firewalld.Backend
	helper  *helperService
	ovs     *ovs.Switch
	idle    idle
	subnets subnets
	lowers  lowers
	polls   bool // changes of the firewall's rules are found by polling
	// noFences is why bridges have none that keep packets from being forwarded whatever rules there are; nil: they have.
	noFences error
	// fairQueues is whether flows of a limited NIC take turns; without, its frames wait in their order.
	fairQueues bool
	// loopback is the process for ports of the loopback that lead to guests, and targets where those are.
	loopback *helperService
	targets  targets
	// hostPorts are those that networks forward and are just getting.
	hostPorts portClaims
}

// openFabric connects to the firewall and prepares the network helper.
func (e *Engine) openFabric(ctx context.Context) error {
	record, err := e.openZoneRecord()
	if err != nil {
		return err
	}
	conn, chosen, err := e.openFirewall(ctx)
	if err != nil {
		return err
	}
	zones := firewalld.New(firewall.NewGroup(chosen.Backend), firewalld.Config{
		Kernel: e.k, Socket: e.cfg.SystemBus, Group: e.cfg.Identity.LinkGroup, Record: record,
	})
	e.fabric = &fabric{nft: conn, chosen: chosen, fw: zones, zones: zones, ovs: &ovs.Switch{
		Kernel: e.k, Socket: cmp.Or(e.cfg.OVSSocket, ovs.DefaultSocket), Within: cmp.Or(e.cfg.OVSWithin, ovs.DefaultWithin), Group: e.cfg.Identity.LinkGroup,
	}, noFences: e.tryFences(), fairQueues: e.tryFairQueues()}
	if p, ok := chosen.Backend.(state.FirewallPoller); ok {
		e.polls = p.Polls()
	}
	if err := e.openWhy(); err != nil {
		return err
	}
	uid, err := e.uids.Take()
	if err != nil {
		return err
	}
	e.helper = &helperService{
		options: helper.HelperOptions{
			Kernel: e.k, Program: e.cfg.Vnet, Dir: e.paths.Helper(), LeaseDir: e.paths.Leases(),
			Cgroup: filepath.Join(e.cgroup, "vnet"), UID: int(uid), GID: int(uid), Build: version.Known(),
		},
		lost: e.serveAgain, event: e.helperEvent, fail: e.helperFailed,
	}
	return e.openLoopback()
}

func (e *Engine) closeFabric() {
	if e.fabric == nil || e.helper == nil {
		return
	}
	e.helper.close()
	if e.loopback != nil {
		e.loopback.close()
	}
	e.dropZones()
	if e.nft != nil {
		e.nft.Close()
	}
}

// env is what a plan is made for and carried out on. Each has its own taps.
func (e *Engine) env() *state.Env {
	env := &state.Env{Kernel: e.k, Group: e.cfg.Identity.LinkGroup, NoFences: e.fabric == nil || e.noFences != nil, FairQueues: e.fabric != nil && e.fairQueues, Sheltered: e.healer.sheltered.Load()}
	if e.helper != nil { // a session has neither
		env.Firewall, env.Services, env.Switch = e.fw, services{e.helper, e.loopback}, e.ovs
	}
	return env
}

// converge makes what the scope names on the host be as want says. The taps it made are in the Env; when it fails they
// are closed, and with them gone.
func (e *Engine) converge(ctx context.Context, want state.State, scope state.Scope) (*state.Env, error) {
	return e.convergeTimed(ctx, want, scope, nil)
}

// convergeTimed is converge with the durations of steps added to a trace. If networks are closed or opened while a plan with bridges
// is applied, the plan may have set fences of before; they are set again.
func (e *Engine) convergeTimed(ctx context.Context, want state.State, scope state.Scope, trace *job.Trace) (*state.Env, error) {
	if len(want.Bridges) == 0 {
		return e.convergeOnce(ctx, want, scope, trace)
	}
	flips := e.flipsNow()
	env, err := e.convergeOnce(ctx, want, scope, trace)
	bridges := state.State{Bridges: want.Bridges}
	for now := e.flipsNow(); err == nil && now != flips; now = e.flipsNow() {
		flips = now
		if _, err = e.convergeOnce(ctx, bridges, bridges.Scope(), nil); err != nil {
			return nil, errors.Join(err, env.CloseTaps())
		}
	}
	return env, err
}

// convergeOnce is convergeTimed with the fences of its beginning.
func (e *Engine) convergeOnce(ctx context.Context, want state.State, scope state.Scope, trace *job.Trace) (*state.Env, error) {
	env := e.timedEnv(trace)
	plan, err := planFor(ctx, env, want, scope)
	if err == nil {
		err = e.writeDown(plan)
	}
	if err == nil {
		e.healer.withdraws(scope.Elements, want.Elements)
		opened := e.openBeside(ctx, plan)
		err = e.explainDirect(plan.Apply(ctx, env))
		opened()
	}
	if err == nil {
		e.healer.restored(want.Elements)
	}
	if err != nil {
		return nil, errors.Join(err, env.CloseTaps())
	}
	return env, nil
}

// openBeside begins to start the processes that a plan needs to serve networks, if there are none: that takes longer than the
// steps before them. It returns what waits for that. What goes wrong is for the step that needs the process.
func (e *Engine) openBeside(ctx context.Context, plan state.Plan) (opened func()) {
	var beside sync.WaitGroup
	begun := map[*helperService]bool{}
	for _, s := range plan {
		set, ok := s.(state.SetService)
		if !ok {
			continue
		}
		if who, _ := (services{e.helper, e.loopback}).of(set.Network); !begun[who] && !who.opened() {
			begun[who] = true
			beside.Go(func() { _, _ = who.open(ctx) })
		}
	}
	return beside.Wait
}

// convergeRest is converge for what guests have: a link that one holds and that somebody marked as his own stands in nobody's
// way. It stays as it is, and is a problem until it is marked again.
func (e *Engine) convergeRest(ctx context.Context, want state.State, scope state.Scope) error {
	env := e.env()
	plan, others, err := planRest(ctx, env, want, scope)
	if err == nil {
		err = e.writeDown(plan)
	}
	if err == nil {
		err = e.explainDirect(plan.Apply(ctx, env))
	}
	for _, o := range others {
		e.estranged(o)
	}
	return errors.Join(err, env.CloseTaps())
}

// planRest is planFor without what DiffRest leaves as it is.
func planRest(ctx context.Context, env *state.Env, want state.State, scope state.Scope) (state.Plan, []state.Stranger, error) {
	got, err := state.Observe(ctx, env, scope)
	if err != nil {
		return nil, nil, err
	}
	return state.DiffRest(env, got, want)
}

// timedEnv is an Env whose steps are timed, where there is a trace.
func (e *Engine) timedEnv(trace *job.Trace) *state.Env {
	env := e.env()
	if trace != nil {
		env.Timed = func(s state.Step, began, ended time.Time) { trace.Add(stageOf(s), began, ended) }
	}
	return env
}

// stageOf is the stage of a start that a step belongs to.
func stageOf(s state.Step) string {
	switch s.(type) {
	case state.ChangeElements:
		return "firewall"
	case state.SetService:
		return "dhcp server"
	case state.SetSwitchPorts:
		return "switch"
	}
	return "links"
}

func planFor(ctx context.Context, env *state.Env, want state.State, scope state.Scope) (state.Plan, error) {
	got, err := state.Observe(ctx, env, scope)
	if err != nil {
		return nil, err
	}
	return state.Diff(env, got, want)
}

// writeDown keeps the settings of the machine that a plan changes, with their old values: they carry no label. Those of
// links go with the links. What cannot be written down is not to be changed.
func (e *Engine) writeDown(plan state.Plan) error {
	for _, s := range plan {
		if set, ok := s.(state.SetSysctl); ok && set.Old != set.Value && !set.OfOurs {
			if err := e.sysctls.put(set); err != nil {
				return err
			}
		}
	}
	return nil
}
