package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"taproom/internal/api/virterr"
	"taproom/internal/engine/nwfilters"
	"taproom/internal/engine/store"
	"taproom/internal/network/heal"
	"taproom/internal/network/lease"
	"taproom/internal/network/nwfilter"
	"taproom/internal/network/nwfilter/learn"
	"taproom/internal/spec"
)

// openFilters reads the network filters. What keeps their rules is opened with the first NIC that has one.
func (e *Engine) openFilters(context.Context) (err error) {
	shipped, err := nwfilter.ShippedSet()
	if err != nil {
		return err
	}
	e.nwfilters, err = nwfilters.Open(nwfilters.Config{
		Shipped: shipped,
		Kernel:  e.k, Log: e.log, Definitions: e.paths.NWFilters(), Bindings: e.paths.FilterBindings(), DocumentFits: notTooLong,
		Open: e.openFilterRules, Learn: e.learnAddresses, Around: e.aroundFiltered, Learned: e.paths.LearnedAddresses(), Context: e.ctx,
		Damaged: func(files []*store.Damaged) {
			e.problem.damaged(e.log, files, ": restore it from a backup, or define the network filter again")
		},
		Problem: func(what string) { e.problem.add(e.log, what) },
	})
	e.NWFilters = e.nwfilters
	return err
}

// filterWatcher is a back end that notices when others change it; see state.FirewallWatcher.
type filterWatcher interface {
	Watch(ctx context.Context, changed func(who string)) error
}

// learnAddresses begins to learn the addresses of NICs that nobody says.
func (e *Engine) learnAddresses(changed func([]learn.Change)) (nwfilters.Learner, error) {
	clock, err := lease.System()
	if err != nil {
		return nil, err
	}
	return learn.Start(e.ctx, learn.Options{Kernel: e.k, Clock: clock, Changed: changed, Failed: func(err error) {
		e.problem.add(e.log, "addresses of filtered NICs are not all learned until the daemon is started again: "+err.Error()+remedy(err))
	}}), nil
}

// followFilterRules watches what others do to filters' rules until the engine ends.
func (e *Engine) followFilterRules(b nwfilter.Backend) {
	w, ok := b.(filterWatcher)
	if !ok || e.cfg.LeaveRules {
		return
	}
	e.work.Go(func() {
		if err := w.Watch(e.ctx, e.filterRulesChanged); err != nil {
			e.problem.add(e.log, fmt.Sprintf("what others do to the rules of network filters is not noticed until the daemon is started again: %v%s", err, remedy(err)))
		}
	})
}

// filterRulesChanged has the rules looked at.
func (e *Engine) filterRulesChanged(who string) {
	e.healer.mu.Lock()
	if who != "" {
		e.healer.filtersBy = who
	}
	e.healer.mu.Unlock()
	e.heal([]heal.Thing{{Kind: heal.Filters}})
}

// healFilters puts back what others changed of filters' rules, in one transaction.
func (e *Engine) healFilters(ctx context.Context) error {
	h := &e.healer
	h.mu.Lock()
	who := h.filtersBy
	h.filtersBy = ""
	h.mu.Unlock()
	r := repair{
		thing: heal.Thing{Kind: heal.Filters}, what: "the rules of network filters", who: who,
		instead: "for other rules use a table of your own; heal_firewall = false in taproomd.toml leaves these alone too",
	}
	repaired := false
	err := e.nwfilters.Look(ctx, e.orphaned, func(d nwfilters.Difference) bool {
		ports := d.Ports()
		repaired = e.mayPutBack(r, len(ports) == 0, "the filters of "+strings.Join(ports, ", "))
		return repaired
	})
	switch {
	case repaired && err == nil:
		h.repaired(r.thing)
	case repaired:
		e.stuck(r.byHand(""), err)
	}
	return err
}

// orphaned reports whether a link is that of a guest that runs and of which nothing is known.
func (e *Engine) orphaned(port string) bool {
	_, ok := e.orphans.links().Ports[port]
	return ok
}

// restoreFilters has the NICs of guests that run filtered as their records say.
func (e *Engine) restoreFilters(ctx context.Context, guests []*running) {
	var all []nwfilters.Binding
	for _, g := range guests {
		all = append(all, bindingsOf(*g.rec())...)
	}
	if err := e.nwfilters.Restore(ctx, all, e.orphaned); err != nil {
		e.problem.add(e.log, "the network filters of guests are not as they should be; stop and start the daemon to try it again: "+err.Error())
	}
}

// bindingOf is what the link of a port is filtered by, which has something.
func bindingOf(r record, p port) nwfilters.Binding {
	return nwfilters.Binding{Use: *p.Filter, Port: p.Name, Guest: r.Name, Owner: r.UUID, MAC: p.Guest, Bridge: p.Bridge}
}

// bindingsOf are those of a record's ports.
func bindingsOf(r record) []nwfilters.Binding {
	var out []nwfilters.Binding
	for _, p := range r.Ports {
		if p.Filter != nil {
			out = append(out, bindingOf(r, p))
		}
	}
	return out
}

// filteredNames are the names of the links that have something.
func filteredNames(ports []port) []string {
	var out []string
	for _, p := range ports {
		if p.Filter != nil {
			out = append(out, p.Name)
		}
	}
	return out
}

// filterLinks has a record's links filtered that are about to be made.
func (e *Engine) filterLinks(ctx context.Context, r record) error {
	all := bindingsOf(r)
	if len(all) == 0 {
		return nil
	}
	return e.nwfilters.Attach(ctx, all)
}

// unfilterLinks takes off what links had that are gone.
func (e *Engine) unfilterLinks(ctx context.Context, owner spec.UUID, names []string) error {
	if len(names) == 0 || e.nwfilters == nil {
		return nil
	}
	return e.nwfilters.Detach(ctx, owner, names)
}

// unfiltered refuses a filter for a NIC that has no link of ours.
func unfiltered(doc *spec.Domain, nic *spec.Interface) error {
	if nic.FilterRef == nil {
		return nil
	}
	how := fmt.Sprintf("a NIC of type='%s' has no link on a bridge; take <filterref> out, or put the NIC on a network or a bridge", nic.Type)
	if nic.GivenTap() {
		how = "its tap is somebody else's; bind the filter to that (virsh nwfilter-binding-create), and take <filterref> out"
	}
	return virterr.New(virterr.ConfigUnsupported, "domain '%s': NIC %s: network filter '%s': %s", doc.Name, nic.MAC.Address, nic.FilterRef.Filter, how)
}

// filterOf is what a NIC is to be filtered by at its port; nil is nothing. It refuses what cannot be.
func (e *Engine) filterOf(doc *spec.Domain, nic *spec.Interface, p port) (*nwfilters.Use, error) {
	use := nwfilters.UseOf(nic.FilterRef)
	pins, err := doc.MACFilters()
	if err != nil {
		return nil, err
	}
	pin, said := pins[strings.ToLower(nic.MAC.Address)]
	use.PinMAC = pin || e.cfg.MACFilter && !said
	if use.None() || use.Filter == "" && !said && (p.Direct != nil || p.Switch != nil) { // the host's setting is for bridges
		return nil, nil
	}
	refused := func(how string) error {
		if use.Filter == "" {
			return virterr.New(virterr.ConfigUnsupported, "domain '%s': NIC %s is to send with its own address alone: %s", doc.Name, nic.MAC.Address, how)
		}
		return virterr.New(virterr.ConfigUnsupported, "domain '%s': NIC %s: network filter '%s': %s", doc.Name, nic.MAC.Address, use.Filter, how)
	}
	switch {
	case p.Direct != nil:
		return nil, refused("the frames of a macvtap pass no bridge, where they would be filtered; take <filterref> out, or put the NIC on a network or a bridge")
	case p.Switch != nil:
		return nil, refused("Open vSwitch passes the host's filters by; take <filterref> out, or put the NIC on a Linux bridge")
	}
	p.Filter = &use
	return &use, e.nwfilters.Check(bindingOf(record{Name: doc.Name, UUID: *doc.UUID}, p))
}

// screens are NICs of a running guest that are filtered otherwise from now on, by the ids of their ports.
type screens []string

// refiltered finds them in the next hardware, and says there how. The guest is not told.
func (e *Engine) refiltered(now, next *hardware) (screens, error) {
	var out screens
	for i, p := range next.rec.Ports {
		at := slices.IndexFunc(now.rec.Ports, func(o port) bool { return o.ID == p.ID })
		if at < 0 {
			continue
		}
		use, err := e.filterOf(next.doc, &next.doc.Devices.Interfaces[p.NIC], p)
		if err != nil {
			return nil, err
		}
		if was := now.rec.Ports[at].Filter; use == nil && was == nil || use != nil && was != nil && use.Same(*was) {
			continue
		}
		next.rec.Ports = slices.Clone(next.rec.Ports)
		next.rec.Ports[i].Filter = use
		out = append(out, p.ID)
	}
	return out, nil
}

// carryOut has the NICs filtered as they are in h, in one transaction where none goes unfiltered.
func (s screens) carryOut(ctx context.Context, e *Engine, h *hardware) error {
	if len(s) == 0 {
		return nil
	}
	r := h.rec
	r.Ports = slices.DeleteFunc(slices.Clone(r.Ports), func(p port) bool { return !slices.Contains(s, p.ID) })
	if err := e.filterLinks(ctx, r); err != nil {
		return err
	}
	var none []string
	for _, p := range r.Ports {
		if p.Filter == nil {
			none = append(none, p.Name)
		}
	}
	return e.unfilterLinks(ctx, r.UUID, none)
}
