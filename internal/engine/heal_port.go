package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"taproom/internal/guest/plug"
	"taproom/internal/host"
	"taproom/internal/network/heal"
	"taproom/internal/network/state"
)

// healPort looks at a tap or macvtap of a guest that runs. The caller holds the domain's slot.
func (e *Engine) healPort(ctx context.Context, d *domain, run *running, t heal.Thing) error {
	if run.proc != nil && run.proc.Ending() { // its links go with it, and it answers nothing
		return nil
	}
	if !known(healView{e}, t) { // it may be one of another name
		return e.healMissing(ctx, d, run, t)
	}
	env := e.env()
	got, err := state.Observe(ctx, env, e.scopeOf(t))
	if err != nil {
		return err
	}
	if !got.Has(t.Name) && got.Foreign[t.Name] == "" {
		if got, err = e.withNamesakes(ctx, env, got, t); err != nil {
			return err
		}
	}
	if t.Kind == heal.Macvtap {
		return e.healMacvtap(ctx, d, run, env, got, t)
	}
	return e.healTap(ctx, d, run, env, got, t)
}

// scopeOf looks at a guest's links, all of one kind, and at what bounds the first.
func (e *Engine) scopeOf(t heal.Thing, others ...string) state.Scope {
	var s state.Scope
	if p := (healView{e}).port(t); p != nil && p.Shape != nil {
		s = shapesOf(*p)
	}
	if t.Kind == heal.Macvtap {
		s.Macvlans = append([]string{t.Name}, others...)
	} else {
		s.Ports = append([]string{t.Name}, others...)
	}
	return s
}

// withNamesakes looks again, for a link of the guest's that is not there under its name: at all that have the guest's label.
func (e *Engine) withNamesakes(ctx context.Context, env *state.Env, before state.Observed, t heal.Thing) (state.Observed, error) {
	links, err := e.k.Links()
	if err != nil { // one that is missed may be the one
		return before, err
	}
	var others []string
	for _, l := range links {
		if l.Group == e.cfg.Identity.LinkGroup && l.Alias == state.Alias(t.Owner) {
			others = append(others, l.Name)
		}
	}
	if len(others) == 0 {
		return before, nil
	}
	return state.Observe(ctx, env, e.scopeOf(t, others...))
}

// healMissing looks at the links of a guest that are not there, when it has one of another name.
func (e *Engine) healMissing(ctx context.Context, d *domain, run *running, t heal.Thing) error {
	var errs []error
	for _, p := range run.rec().Ports {
		m := heal.Thing{Kind: kindOf(p), Owner: t.Owner, Name: p.Name}
		_, err := e.k.LinkByName(p.Name)
		if errors.Is(err, host.ErrNoLink) && m.Kind == t.Kind && known(healView{e}, m) {
			e.lookedAt(m, d, e.healPort(ctx, d, run, m))
		} else if err != nil && !errors.Is(err, host.ErrNoLink) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func kindOf(p port) heal.Kind {
	if p.Direct != nil {
		return heal.Macvtap
	}
	return heal.Port
}

// planOne is what puts one link back as it should be. It renames where it has to; without such a step the link is not there.
func planOne(env *state.Env, got state.Observed, want state.State, name string) (plan state.Plan, there bool, err error) {
	plan, err = state.Diff(env, got, want)
	return plan, got.Has(name) || plan.Names(name), err
}

// healTap makes a tap as it should be.
func (e *Engine) healTap(ctx context.Context, d *domain, run *running, env *state.Env, got state.Observed, t heal.Thing) error {
	want, _ := healView{e}.Port(t.Owner, t.Name)
	if got.Foreign[t.Name] != "" {
		return e.lostPort(ctx, d, run, t.Name)
	}
	have := got.Ports[t.Name]
	want.Up = want.Up || have.Up
	missing := want.Master != have.Master && want.Master != ""
	if missing {
		l, err := e.k.LinkByName(want.Master)
		if err != nil && !errors.Is(err, host.ErrNoLink) {
			return err
		}
		missing = err != nil || l.Kind != "bridge"
	}
	bridge := want.Master
	if missing { // it is plugged in when there is one
		want.Master = have.Master
	}
	plan, there, err := planOne(env, got, healView{e}.bounds(t, state.State{Ports: map[string]state.Port{t.Name: want}}), t.Name)
	if err != nil {
		return err
	}
	if !there {
		return e.lostPort(ctx, d, run, t.Name)
	}
	if !missing || len(plan) > 0 {
		err = e.putBack(ctx, env, plan, repair{thing: t, what: fmt.Sprintf("NIC %s of domain '%s'", t.Name, d.label), instead: "to have it elsewhere, use virsh update-device"})
	}
	// The bridge of a network is a matter of its own: it is being put back, or is just going.
	network := slices.ContainsFunc(run.rec().Ports, func(p port) bool { return p.Name == t.Name && p.Network != "" })
	if err == nil && missing && !network {
		err = fmt.Errorf("there is no bridge %s; it is plugged in as soon as there is one", bridge)
	}
	return err
}

// healMacvtap makes a macvtap as it should be. The link that it lies on is somebody else's: that one is down is said, and
// changed by nobody here.
func (e *Engine) healMacvtap(ctx context.Context, d *domain, run *running, env *state.Env, got state.Observed, t heal.Thing) error {
	want, _ := healView{e}.Macvtap(t.Owner, t.Name)
	if got.Foreign[t.Name] != "" {
		return e.lostPort(ctx, d, run, t.Name)
	}
	want.Up = want.Up || got.Macvlans[t.Name].Up
	plan, there, err := planOne(env, got, healView{e}.bounds(t, state.State{Macvlans: map[string]state.Macvlan{t.Name: want}}), t.Name)
	if err != nil {
		return err
	}
	if !there {
		return e.lostPort(ctx, d, run, t.Name)
	}
	low, err := e.k.LinkByName(want.Lower)
	if err != nil && !errors.Is(err, host.ErrNoLink) {
		return err
	}
	down := err == nil && !low.Up
	if err = nil; !down || len(plan) > 0 {
		err = e.putBack(ctx, env, plan, repair{thing: t, what: fmt.Sprintf("NIC %s of domain '%s'", t.Name, d.label), instead: "to have it otherwise, use virsh update-device"})
	}
	if err == nil && down {
		err = fmt.Errorf("%s, which it lies on, is down; bring it up (ip link set dev %s up)", want.Lower, want.Lower)
	}
	return err
}

// estranged shows a link of a guest that somebody marked as his own, or that somebody's link stands in the way of.
func (e *Engine) estranged(o state.Stranger) {
	t := heal.Thing{Kind: heal.Macvtap, Owner: o.Owner, Name: o.Name}
	if o.Tap {
		t.Kind = heal.Port
	}
	e.troubled(t, fmt.Sprintf("NIC %s of domain %s is left as it is: %v; where it is the guest's, mark it again (ip link set dev %s group %d alias %s)",
		o.Name, o.Owner, o.Err, o.Name, e.cfg.Identity.LinkGroup, state.Alias(o.Owner)))
}

// withoutMissing leaves ports off bridges that somebody made and removed again: they are plugged in when there is one of that
// name (followLinks), and stand in nobody's way until then.
func (e *Engine) withoutMissing(guests []*running, want *state.State) error {
	missing := map[string]bool{}
	for _, g := range guests {
		for _, p := range g.rec().Ports {
			w, ok := want.Ports[p.Name]
			if p.Network != "" || !ok || w.Master == "" {
				continue
			}
			if _, looked := missing[w.Master]; !looked {
				_, err := e.k.LinkByName(w.Master)
				if err != nil && !errors.Is(err, host.ErrNoLink) {
					return err
				}
				missing[w.Master] = err != nil
			}
			if missing[w.Master] {
				w.Master = ""
				want.Ports[p.Name] = w
			}
		}
	}
	return nil
}

// lostPort is a tap that is not there. One that somebody deleted is lost: a tap lives by its descriptors, and those that QEMU
// has lead nowhere for ever: the guest is told that its cable is out, and goes on. A guest that is just ending loses its taps
// as well, so QEMU has to answer first.
func (e *Engine) lostPort(ctx context.Context, d *domain, run *running, name string) error {
	now := run.hardware()
	i := slices.IndexFunc(now.rec.Ports, func(p port) bool { return p.Name == name })
	if i < 0 || run.isLost(name) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if _, err := run.status(ctx); err != nil {
		return nil //nolint:nilerr // it is ending, or does not answer: then that is its problem
	}
	look := e.stillOpen
	if now.rec.Ports[i].Direct != nil {
		look = e.stillMarked
	}
	if alive, err := look(now, run.proc.PID(), name); err != nil || alive {
		return err
	}
	run.setLost(name, true)
	nic := now.nic(now.rec.Ports[i])
	e.log.Error(lostLink(d, name, nic.MAC.Address))
	return e.step(ctx, run, plug.Cut(nic.Alias.Name), nil)
}

// stillOpen looks whether QEMU's end of a tap leads somewhere, though no tap of ours has the name: what carries a guest's
// frames is not taken away from it because somebody called it otherwise. The error says what became of it. A guest that has
// ended meanwhile has lost nothing.
func (e *Engine) stillOpen(now *hardware, pid int, name string) (alive bool, err error) {
	open, err := e.k.OpenTaps(pid)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at what its QEMU has open: %w", err)
	}
	if slices.Contains(open, name) {
		alias := state.Alias(now.rec.UUID.String())
		return true, fmt.Errorf("its tap is in another network namespace, or not marked as ours any more; move it back, or mark it again (ip link set dev %s group %d alias %s)", name, e.cfg.Identity.LinkGroup, alias)
	}
	known := map[string]bool{}
	for _, p := range now.rec.Ports {
		known[p.Name] = true
	}
	for _, n := range now.doc.Devices.Interfaces {
		if n.GivenTap() {
			known[n.Target.Dev] = true
		}
	}
	other := slices.DeleteFunc(open, func(name string) bool { return known[name] })
	if len(other) > 0 {
		return true, fmt.Errorf("its tap was given another name (%s); give it its own back (ip link set dev %s name %s)", strings.Join(other, ", "), other[0], name)
	}
	return false, nil
}

// stillMarked looks whether there is a macvtap of that name, though it is not ours: which ones QEMU has open, nothing says.
func (e *Engine) stillMarked(now *hardware, _ int, name string) (alive bool, err error) {
	l, err := e.k.LinkByName(name)
	switch {
	case errors.Is(err, host.ErrNoLink):
		return false, nil
	case err != nil:
		return false, err
	case l.Kind != "macvtap":
		return false, nil
	}
	return true, fmt.Errorf("its macvtap is not marked as ours any more; mark it again (ip link set dev %s group %d alias %s)", name, e.cfg.Identity.LinkGroup, state.Alias(now.rec.UUID.String()))
}

func lostLink(d *domain, name, mac string) string {
	return fmt.Sprintf("NIC %s of domain '%s' (%s) was deleted by somebody, and QEMU's end of it cannot be connected again: the guest runs without it; detach it and attach it again (virsh detach-interface, attach-interface)", name, d.label, mac)
}

// lostLinks are the NICs whose taps somebody deleted.
func (e *Engine) lostLinks() (out []string) {
	for _, d := range e.domains.all() {
		run := d.view().run
		if run == nil {
			continue
		}
		now := run.hardware()
		for _, p := range now.rec.Ports {
			if run.isLost(p.Name) {
				out = append(out, lostLink(d, p.Name, now.nic(p).MAC.Address))
			}
		}
	}
	return out
}

// isLost reports whether somebody deleted the tap of that name.
func (run *running) isLost(name string) bool {
	_, lost := run.lost.Load(name)
	return lost
}

// setLost notes that, or that the name is another tap's.
func (run *running) setLost(name string, lost bool) {
	if lost {
		run.lost.Store(name, true)
	} else {
		run.lost.Delete(name)
	}
}
