package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"taproom/internal/host"
	"taproom/internal/network/heal"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// healer puts back what others change of links that are ours, as the kernel tells of it.
type healer struct {
	mu       sync.Mutex
	queued   map[owned]map[heal.Thing]bool // what is to be looked at, by whose it is; there is one goroutine for each
	patience heal.Patience
	troubles map[heal.Thing]string // of what is not as it should be and is not put back
	quarrels map[heal.Thing]repair // the troubles repaired later, since other programs changed the object again
	who      string                // changed the firewall's rules at last, where that was told
	exposed  bool                  // rules that protect guests were gone at the last look
	losses   int                   // how often they were found gone
	// withdrawn are elements of the firewall that the daemon itself removes: an active network that lacks them is stopped or changed.
	withdrawn map[state.Element]bool
	// sheltered says that networks that the firewall's rules protect are closed, since these rules are gone, or other programs keep
	// removing them.
	sheltered  atomic.Bool
	sheltering sync.Mutex // held while they are closed and opened
	unsettled  bool       // some could not be; guarded by sheltering
	flips      int        // how often sheltered changed; guarded by sheltering
	// unfenced is what was logged of bridges that could not be closed or opened, by network; guarded by sheltering.
	unfenced map[spec.UUID]string
	// filtersBy is who changed those of network filters at last, where that was told.
	filtersBy string
}

// owned is whose things are.
type owned struct {
	kind  heal.Kind
	owner string
}

// followLinks watches the links of the host until the engine ends.
func (e *Engine) followLinks(context.Context) error {
	w, err := e.k.WatchLinks()
	if err != nil {
		e.unwatched(err)
		return nil
	}
	m := &heal.Mind{Group: e.cfg.Identity.LinkGroup}
	look := func() {
		links, err := e.k.Links()
		if err != nil && !errors.Is(err, host.ErrPartial) {
			e.log.Warn("look at all links", "error", err)
			return
		}
		e.knowLinks(links)
		things := append(m.Look(links, err != nil, healView{e}), heal.Thing{Kind: heal.Forwarding})
		e.heal(append(things, healView{e}.bounded()...))
	}
	e.work.Go(func() {
		look()
		err := w.Run(e.ctx, func(changes []host.LinkChange, missed bool) {
			if missed {
				look()
				return
			}
			e.linksChanged(changes)
			e.heal(m.Take(changes, healView{e}))
		})
		if err != nil {
			e.unwatched(err)
		}
	})
	return nil
}

func (e *Engine) unwatched(err error) {
	e.problem.add(e.log, fmt.Sprintf("what others do to the links of guests and networks is not noticed until the daemon is started again: %v%s", err, remedy(err)))
}

// heal has things looked at, those of one guest or network together, as soon as nobody else is busy with it; none where
// that is switched off.
func (e *Engine) heal(things []heal.Thing) {
	h := &e.healer
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range things {
		if t.Kind.IsLink() && e.cfg.LeaveLinks || !t.Kind.IsLink() && e.cfg.LeaveRules {
			continue
		}
		if o, first := h.queue(t); first {
			e.work.Go(func() { e.healOwned(o) })
		}
	}
}

// queue schedules the examination of an object, and reports whether it is its owner's first. The caller holds the lock.
func (h *healer) queue(t heal.Thing) (o owned, first bool) {
	o = owned{t.Kind, t.Owner}
	if first = h.queued[o] == nil; first {
		if h.queued == nil {
			h.queued = map[owned]map[heal.Thing]bool{}
		}
		h.queued[o] = map[heal.Thing]bool{}
	}
	h.queued[o][t] = true
	return o, first
}

// next are the queued things of one owner, which are queued no longer.
func (h *healer) next(o owned) []heal.Thing {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []heal.Thing
	for t := range h.queued[o] {
		out = append(out, t)
	}
	delete(h.queued, o)
	slices.SortFunc(out, func(a, b heal.Thing) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// healOwned looks at what is queued of a guest or a network.
func (e *Engine) healOwned(o owned) {
	switch o.kind {
	case heal.Rules:
		e.healShared(o, e.healRules)
		return
	case heal.Forwarding:
		e.healShared(o, e.healForwarding)
		return
	case heal.Filters:
		e.healShared(o, e.healFilters)
		return
	case heal.Access:
		e.healAccess(e.ctx, o)
		return
	}
	uuid, err := spec.ParseUUID(o.owner)
	if err != nil { // a link with our label that we did not write
		e.healer.next(o)
		return
	}
	if o.kind == heal.Bridge {
		e.healNetwork(uuid, o)
		return
	}
	d, ok := e.domains.uuid(uuid)
	if !ok {
		e.healer.next(o)
		return
	}
	j, err := d.slot.Begin(e.ctx, "look after the NICs of domain '"+d.label+"'")
	if err != nil {
		e.healer.next(o)
		return
	}
	defer j.End()
	things := e.healer.next(o)
	run := d.view().run
	if run == nil {
		return
	}
	for _, t := range things {
		if err := e.healPort(j.Context(), d, run, t); j.Context().Err() == nil {
			e.lookedAt(t, d, err)
		}
	}
}

// lookedAt shows why a guest's link is not as it should be, where it is not.
func (e *Engine) lookedAt(t heal.Thing, d *domain, err error) {
	if err != nil {
		e.troubled(t, fmt.Sprintf("NIC %s of domain '%s' is not as it should be: %v%s", t.Name, d.label, err, remedy(err)))
	}
}

// healNetwork looks at the bridge of a network, and at all that hangs on it.
func (e *Engine) healNetwork(uuid spec.UUID, o owned) {
	n, ok := e.networks.uuid(uuid)
	if !ok {
		e.healer.next(o)
		return
	}
	j, err := n.slot.Begin(e.ctx, "look after the bridge of network '"+n.label+"'")
	if err != nil {
		e.healer.next(o)
		return
	}
	defer j.End()
	things := e.healer.next(o)
	live := n.view().live
	if live == nil || len(things) == 0 {
		return
	}
	t := heal.Thing{Kind: heal.Bridge, Owner: o.owner, Name: live.BridgeName()}
	err = e.healBridge(j.Context(), n, live, t)
	if err != nil && j.Context().Err() == nil {
		e.troubled(t, fmt.Sprintf("bridge %s of network '%s' is not as it should be: %v%s", t.Name, n.label, err, remedy(err)))
	}
}

func (e *Engine) healBridge(ctx context.Context, n *network, live *spec.Network, t heal.Thing) error {
	if live.Bandwidth != nil { // its floors do not change meanwhile
		e.floors.applying.Lock()
		defer e.floors.applying.Unlock()
	}
	defer e.refenceSince(e.flipsNow())
	want, err := e.compileNetwork(live)
	if err != nil {
		return err
	}
	scope := want.Scope()
	if scope.Bridges, err = e.alsoCalled(scope.Bridges, n); err != nil {
		return err
	}
	env := e.env()
	plan, err := planFor(ctx, env, want, scope)
	if err != nil {
		return err
	}
	return e.putBack(ctx, env, plan, repair{
		thing: t, what: fmt.Sprintf("bridge %s of network '%s'", t.Name, n.label),
		instead: "to have it otherwise, change the network (virsh net-edit, net-destroy)",
	})
}

// alsoCalled adds to the name that a network's bridge should have, where there is none of that name, the one that somebody gave
// it.
func (e *Engine) alsoCalled(names []string, n *network) ([]string, error) {
	for _, name := range names {
		if _, err := e.k.LinkByName(name); !errors.Is(err, host.ErrNoLink) {
			return names, err
		}
	}
	links, err := e.k.Links()
	if err != nil && !errors.Is(err, host.ErrPartial) {
		return names, err
	}
	for _, l := range links {
		if l.Kind == "bridge" && l.Group == e.cfg.Identity.LinkGroup && l.Alias == state.Alias(n.uuid.String()) {
			names = append(names, l.Name)
		}
	}
	return names, nil
}
