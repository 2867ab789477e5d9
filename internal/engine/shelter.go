package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"taproom/internal/host"
	"taproom/internal/network/heal"
	"taproom/internal/network/state"
	"taproom/internal/network/vnet"
	"taproom/internal/spec"
)

// sheltered closes the bridge of a network that the firewall's rules protect, while other programs keep removing the rules.
func (e *Engine) sheltered(doc *spec.Network, s state.State) state.State {
	name := doc.BridgeName()
	if b, ok := s.Bridges[name]; ok && e.healer.sheltered.Load() {
		b.Fence = b.Fence.Or(vnet.Shelter(doc))
		s.Bridges[name] = b
	}
	return s
}

// unprotected reports whether rules are gone that keep others from guests. While firewalld runs, a bridge that is out of its zone
// counts as missing though the rules for it are there.
func (e *Engine) unprotected(got state.Observed, want state.State) bool {
	zones := e.zones != nil && e.zones.Runs()
	for el := range want.Elements {
		bridge := strings.HasSuffix(el.Set, "bridges") || strings.HasPrefix(el.Set, "zone")
		if !got.Elements[el] && !(zones && bridge) {
			return true
		}
	}
	return false
}

// shelter closes networks, or opens them again, as is needed now. Guests of closed networks are unreachable: without rules, the
// host cannot distinguish replies from other packets. The next call (pollSettings) retries bridges that failed.
func (e *Engine) shelter() {
	h := &e.healer
	h.sheltering.Lock()
	defer h.sheltering.Unlock()
	h.mu.Lock()
	r, quarrel := h.quarrels[heal.Thing{Kind: heal.Rules}]
	h.mu.Unlock()
	on := quarrel && r.removed
	// Set sheltered first: a network that starts now makes its bridge accordingly.
	if e.noFences != nil || h.sheltered.Swap(on) == on && !h.unsettled {
		return
	}
	before := h.unsettled
	h.unsettled = false
	var done []string
	for _, live := range e.activeNetworks() {
		switch changed, err := e.refence(live); {
		case err != nil && !errors.Is(err, host.ErrNoLink):
			h.unsettled = true
			if !before {
				e.log.Error(fmt.Sprintf("bridge %s of network '%s' cannot be closed or opened; it is tried again: %v", live.BridgeName(), live.Name, err))
			}
		case changed:
			done = append(done, live.Name)
		}
	}
	slices.Sort(done)
	if len(done) > 0 {
		e.log.Warn(map[bool]string{
			true:  "nothing is forwarded to guests of these networks until the firewall's rules stand",
			false: "what the firewall's rules let through is forwarded again to guests of these networks",
		}[on], "networks", strings.Join(done, ", "))
	}
}

// refence closes or opens the bridge of a network, and reports whether the fence had to change.
func (e *Engine) refence(live *spec.Network) (changed bool, err error) {
	want, err := e.compileNetwork(live)
	if err != nil {
		return false, err
	}
	env, name := e.env(), live.BridgeName()
	got, err := state.Observe(e.ctx, env, state.Scope{Bridges: []string{name}})
	if err != nil {
		return false, err
	}
	var partial error // an incomplete dump may lack the bridge
	if got.Partial {
		partial = host.ErrPartial
	}
	b, there := got.Bridges[name]
	if !there || b.Fence == want.Bridges[name].Fence {
		return false, partial
	}
	b.Fence = want.Bridges[name].Fence
	plan, err := state.Diff(env, got, state.State{Bridges: map[string]state.Bridge{name: b}})
	if err != nil {
		return false, err
	}
	return true, cmp.Or(plan.Apply(e.ctx, env), partial)
}

// fencedBy reports whether a bridge has the wanted fence.
func (e *Engine) fencedBy(name string, want host.Fence) bool {
	l, err := e.k.LinkByName(name)
	if err != nil {
		return false
	}
	have, err := e.k.Fence(l.Index)
	return err == nil && have == want
}

// closedMeanwhile says which networks are closed without the firewall's rules, and which are open.
func (e *Engine) closedMeanwhile() string {
	names := map[string][]string{}
	for _, live := range e.activeNetworks() {
		s, err := e.compileNetwork(live)
		if err != nil {
			continue
		}
		what := "; open to others without rules: "
		switch fence := s.Bridges[live.BridgeName()].Fence; {
		case fence == host.ClosedFence() && e.noFences == nil:
			what = "; isolated as ever: "
		case fence != host.Fence{} && e.noFences == nil:
			what = "; closed meanwhile, so that nothing is forwarded to guests: "
		case fence == host.Fence{} && vnet.Shelter(live) == host.Fence{}: // this network is open in any case
			continue
		}
		names[what] = append(names[what], live.Name)
	}
	var parts []string
	for what, list := range names {
		slices.Sort(list)
		parts = append(parts, what+strings.Join(list, ", "))
	}
	slices.Sort(parts)
	return strings.Join(parts, "")
}
