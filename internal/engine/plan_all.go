package engine

import (
	"context"

	"taproom/internal/api/own"
	"taproom/internal/api/virterr"
	"taproom/internal/network/state"
)

// Plan implements server.Documents: what differs between the host and what it should be, over everything that is ours.
func (e *Engine) Plan(ctx context.Context) (own.PlanResult, error) {
	want, err := e.desired()
	if err != nil {
		return own.PlanResult{}, err
	}
	want.SwitchPorts = nil
	plan, _, err := planRest(ctx, e.env(), want, e.everything(want))
	if err == nil {
		var ports state.Plan
		ports, err = e.planSwitch(ctx)
		plan = append(plan, ports...)
	}
	if err != nil {
		return own.PlanResult{}, virterr.New(virterr.OperationFailed, "cannot compare the host with what it should be: %w", err)
	}
	return own.PlanResult{Steps: append([]own.Step{}, planSteps("host", plan)...)}, nil
}

// desired is all that should be on the host now.
func (e *Engine) desired() (state.State, error) {
	want := state.State{}
	for _, n := range e.networks.all() {
		v := n.view()
		if v.live == nil {
			continue
		}
		s, err := e.compileNetwork(v.live)
		if err != nil {
			return want, err
		}
		want = want.Merge(s)
	}
	for _, d := range e.domains.all() {
		if run := d.view().run; run != nil {
			want = want.Merge(e.linksNow(*run.rec()))
		}
	}
	return want.Merge(e.orphans.links()).Merge(e.accessNow()), nil
}

// everything is the scope of all that is ours, and of what want names.
func (e *Engine) everything(want state.State) state.Scope {
	s := want.Scope()
	if e.cfg.Session != nil { // nothing but guests
		return s
	}
	s.All = true
	s.Pattern = e.matchesOurs
	return s
}
