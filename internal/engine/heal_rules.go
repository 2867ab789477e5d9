package engine

import (
	"context"
	"fmt"
	"maps"
	"time"

	"taproom/internal/engine/job"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/heal"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// followRules watches the firewall's rules until the engine ends.
func (e *Engine) followRules(context.Context) error {
	w, ok := e.fw.(state.FirewallWatcher)
	if err := firewall.UnprobeOf(e.ctx, e.fw); err != nil { // a daemon that was killed may have left it
		e.log.Warn("remove the mark by which flushes of the firewall's rules are noticed", "error", err)
	}
	switch {
	case !ok:
		return nil
	case e.cfg.LeaveRules:
		e.followZones()
		return nil
	}
	e.work.Go(func() {
		if err := w.Watch(e.ctx, e.rulesChanged); err != nil {
			e.problem.add(e.log, fmt.Sprintf("what others do to the firewall's rules of networks is not noticed until the daemon is started again: %v%s", err, remedy(err)))
		}
	})
	return nil
}

// rulesChanged has the rules looked at. They may have been changed by several: who was the first is shown.
func (e *Engine) rulesChanged(who string) {
	h, rules := &e.healer, heal.Thing{Kind: heal.Rules}
	h.mu.Lock()
	if who != "" {
		h.who = who
	}
	if who != firewalld.Who {
		h.patience.Changed(rules, who, e.now())
	}
	_, followed := h.quarrels[rules]
	h.mu.Unlock()
	if followed && who != firewalld.Who { // followQuarrel restores the rules when they are due
		return
	}
	e.heal(e.quarrel(who))
}

// lastWho is who changed the rules at last, and forgets it.
func (h *healer) lastWho() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	who := h.who
	h.who = ""
	return who
}

// healShared looks at what all networks share.
func (e *Engine) healShared(o owned, look func(context.Context) error) {
	for _, t := range e.healer.next(o) {
		if err := look(e.ctx); err != nil && e.ctx.Err() == nil {
			e.troubled(t, fmt.Sprintf("the %s of networks cannot be put right: %v%s", t.Kind, err, remedy(err)))
			if r, due := e.healer.quarrelOf(t); !due {
				if r.what == "" {
					r = repair{thing: t, what: "the " + string(t.Kind) + " of networks", instead: "look at what the last failure says", removed: t.Kind == heal.Rules}
				}
				e.stuck(r.byHand(""), err)
			}
		}
	}
}

// healRules makes the firewall have what all active networks have in it, in one transaction. Those that somebody is at work
// on come when that has ended. Then it is looked again whose rules are in the way: while firewalld reloads it lets nothing
// through, and who looked then saw that.
func (e *Engine) healRules(ctx context.Context) error {
	for {
		busy, again, err := e.healIdleRules(ctx)
		if err != nil {
			return err
		}
		if again { // networks are opened by a look that finds the rules
			if !e.awaitFlush(ctx) {
				return nil
			}
			continue
		}
		if busy == nil {
			e.glanceSoon(e.networks.all()...)
			return nil
		}
		j, err := busy.slot.Begin(ctx, "look after the firewall")
		if err != nil {
			if _, there := e.networks.uuid(busy.uuid); !there && ctx.Err() == nil { // its elements went with it
				continue
			}
			return nil //nolint:nilerr // the engine ends
		}
		j.End()
	}
}

// awaitFlush waits until another flush would be noticed, where the kernel sends no notification of it: the older of its interfaces for iptables.
// A look right after a repair would find the rules between two flushes. It returns false if the engine ends.
func (e *Engine) awaitFlush(ctx context.Context) bool {
	if !e.polls {
		return true
	}
	select {
	case <-time.After(standsFor):
		return true
	case <-ctx.Done():
		return false
	}
}

// healIdleRules does that for the networks whose slots are free, and returns a network whose slot is not. While there is a busy network,
// elements that belong to none of the others may be its own. If rules were gone that protect guests, it closes networks before the repair; again
// reports that the repair is made, and another look has to confirm that it lasts.
func (e *Engine) healIdleRules(ctx context.Context) (busy *network, again bool, err error) {
	env := e.env()
	var got state.Observed
	var held map[*network]*job.Job
	var before map[spec.UUID]*spec.Network
	var losses int
	letGo := func() {
		for _, j := range held {
			j.End()
		}
	}
	for {
		before = e.activeNetworks()
		losses = e.healer.lossesNow()
		if got, err = state.Observe(ctx, env, state.Scope{AllElements: true}); err != nil {
			e.healer.unseen(heal.Thing{Kind: heal.Rules})
			return nil, false, err
		}
		held, busy = e.holdNetworks(ctx)
		// What was observed is without those that have come since, and with those that have gone: nobody changed that.
		if maps.Equal(before, e.activeNetworks()) {
			break
		}
		letGo()
	}
	defer letGo()
	want, all := state.State{Elements: map[state.Element]bool{}}, state.State{Elements: map[state.Element]bool{}}
	used := map[state.Element]bool{} // by networks whose slots are held by others, without ports of guests that come and go
	for _, n := range e.networks.all() {
		live := n.view().live
		if live == nil {
			continue
		}
		s, err := e.compileNetwork(live)
		if err != nil {
			return nil, false, err
		}
		if maps.Copy(all.Elements, s.Elements); held[n] != nil {
			maps.Copy(want.Elements, s.Elements)
		} else if before[n.uuid] == live {
			if s, err = e.compiled(live); err != nil {
				return nil, false, err
			}
			maps.Copy(used, s.Elements)
		}
	}
	rules, gone, there := heal.Thing{Kind: heal.Rules}, e.unprotected(got, want), !e.unprotected(got, all)
	lost := gone || e.unprotected(got, state.State{Elements: e.healer.notWithdrawn(used, all.Elements)})
	if busy != nil {
		maps.DeleteFunc(got.Elements, func(el state.Element, _ bool) bool { return !want.Elements[el] })
	}
	plan, err := state.Diff(env, got, want)
	if err != nil {
		return nil, false, err
	}
	if lost || there { // a network whose rules are being changed does not close the others, and does not open them
		e.protected(there, losses)
	}
	err = e.putBack(ctx, env, plan, repair{
		thing: rules, what: "the firewall's rules of networks", who: e.healer.lastWho(), removed: gone,
		instead: "for other rules use a table of your own; heal_firewall = false in taproomd.toml leaves these alone too",
	})
	return busy, gone && err == nil && !e.healer.wrong(rules), err
}

// holdNetworks takes the slots of all networks that nobody is at work on, and returns one of the others.
func (e *Engine) holdNetworks(ctx context.Context) (held map[*network]*job.Job, busy *network) {
	held = map[*network]*job.Job{}
	for _, n := range e.networks.all() {
		if j, ok := n.slot.Try(ctx, "look after the firewall"); ok {
			held[n] = j
		} else {
			busy = n
		}
	}
	return held, busy
}

// beginAfresh is after a client has started a network: what was left alone is its own again, and what all networks share.
func (e *Engine) beginAfresh(n *network) {
	e.healer.asked(n.uuid.String())
	e.heal(e.healer.asked(""))
}

// healForwarding makes the host forward as the active networks need it. Nobody's forwarding ends when a network goes, so it
// does not matter who is just going.
func (e *Engine) healForwarding(ctx context.Context) error {
	sysctls, err := e.wantedSysctls()
	if err != nil || len(sysctls) == 0 {
		return err
	}
	env, want := e.env(), state.State{Sysctls: sysctls}
	plan, err := planFor(ctx, env, want, want.Scope())
	if err != nil {
		return err
	}
	return e.putBack(ctx, env, plan, repair{
		thing: heal.Thing{Kind: heal.Forwarding}, what: "what the host forwards for networks",
		instead: "stop the networks that need it (virsh net-destroy), or set heal_firewall = false in taproomd.toml",
	})
}

// wantedSysctls are the settings of the machine that active networks need.
func (e *Engine) wantedSysctls() (map[string]string, error) {
	var want state.State
	for _, live := range e.activeNetworks() {
		s, err := e.compileNetwork(live)
		if err != nil {
			return nil, err
		}
		want = want.Merge(state.State{Sysctls: s.Sysctls})
	}
	return want.Sysctls, nil
}

// activeNetworks are the documents of the networks that are active, by UUID.
func (e *Engine) activeNetworks() map[spec.UUID]*spec.Network {
	out := map[spec.UUID]*spec.Network{}
	for _, n := range e.networks.all() {
		if live := n.view().live; live != nil {
			out[n.uuid] = live
		}
	}
	return out
}

// settingsPoll is how often settings are looked at of which the kernel tells nothing when they change.
const settingsPoll = 10 * time.Second

// pollSettings looks at the settings of networks' bridges, and at those of the machine, again and again until the engine
// ends.
func (e *Engine) pollSettings(context.Context) error {
	e.work.Go(func() {
		tick := time.NewTicker(settingsPoll)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				e.shelter()
				e.heal(e.otherSettings())
			case <-e.ctx.Done():
				return
			}
		}
	})
	return nil
}

// otherSettings are the things whose settings are otherwise than they should be. What cannot be looked at is not.
func (e *Engine) otherSettings() (out []heal.Thing) {
	env := e.env()
	if e.zonesUnseen() != nil {
		out = append(out, heal.Thing{Kind: heal.Rules})
	}
	if !env.NoFences {
		e.healer.sheltering.Lock()
		wrong, _ := e.misfenced() // a bridge that cannot be read is read at the next poll
		e.healer.sheltering.Unlock()
		for _, m := range wrong {
			out = append(out, heal.Thing{Kind: heal.Bridge, Owner: m.live.UUID.String(), Name: m.live.BridgeName()})
		}
	}
	sysctls := map[string]string{}
	for uuid, live := range e.activeNetworks() {
		want, err := e.compileNetwork(live)
		if err != nil {
			continue
		}
		maps.Copy(sysctls, want.Sysctls)
		for name, w := range want.Bridges {
			if state.AsWanted(e.k, name, w) { // so are nearly all, and there may be a thousand
				continue
			}
			got, err := state.Observe(e.ctx, env, state.Scope{Bridges: []string{name}})
			have, there := got.Bridges[name]
			if err == nil && there && (have.NoIPv6 != w.NoIPv6 || w.Static && !have.Static) {
				out = append(out, heal.Thing{Kind: heal.Bridge, Owner: uuid.String(), Name: name})
			}
		}
	}
	for path, w := range sysctls {
		if have, err := e.k.Sysctl(path); err == nil && have != w {
			out = append(out, heal.Thing{Kind: heal.Forwarding})
		}
	}
	return out
}
