package iptables

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"taproom/internal/host/xtables"
	"taproom/internal/network/firewall"
)

// Firewall is the chains. What they hold is read at each look, and only how that is to be understood is kept. Its methods may be
// called from several goroutines, they wait for each other.
type Firewall struct {
	programs xtables.Programs
	table    string
	interval time.Duration // of a Watch that has to look
	told     Watcher       // nil: nobody tells of changes

	busy  sync.Mutex // no look of ours sees half a change of ours: its tables change one after the other
	known [2]known   // of each of the families
	saved saved
}

// Watcher is a state.FirewallWatcher's Watch.
type Watcher func(ctx context.Context, changed func(who string)) error

// WatchedBy returns the firewall with another way to learn of changes than to look every Interval, and to learn that there was
// none since the look before.
func (f *Firewall) WatchedBy(w Watcher, g Generation) *Firewall {
	return &Firewall{programs: f.programs, table: f.table, interval: f.interval, told: w, saved: saved{generation: g}}
}

var _ firewall.Backend = (*Firewall)(nil)

// New returns the firewall in chains named after a table, of at most 20 characters without a dash at its end.
func New(p xtables.Programs, table string) (*Firewall, error) {
	for _, c := range (layout{prefix: table, v6: true}).chains() {
		if name := table + "-" + c.name; len(name) > longest {
			return nil, fmt.Errorf("chain %s: the kernel has names of at most %d characters", name, longest)
		}
	}
	return &Firewall{programs: p, table: table, interval: Interval}, nil
}

// families in the order in which they are changed.
var families = [...]bool{false, true}

// look reads what a family has. Only who holds busy asks the sight for its elements.
func (f *Firewall) look(ctx context.Context, v6 bool) (sight, error) {
	l, err := f.saved.look(ctx, v6, func() (*xtables.Listing, error) {
		text, err := f.programs.Save(ctx, v6)
		if err != nil {
			return nil, err
		}
		l, err := xtables.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s-save: %w", f.programs.Name(v6), err)
		}
		return l, nil
	})
	if err != nil {
		return sight{}, fmt.Errorf("look at the firewall: %w", err)
	}
	return sight{layout{f.table, v6}, l, &f.known[family(v6)]}, nil
}

// family is the place of a family in families.
func family(v6 bool) int {
	if v6 {
		return 1
	}
	return 0
}

// Observe returns the elements that are in force, ordered: those of the ones named, or all; none of a family whose chains are
// not as they should be.
func (f *Firewall) Observe(ctx context.Context, only ...firewall.Element) ([]firewall.Element, error) {
	f.busy.Lock()
	defer f.busy.Unlock()
	var all []firewall.Element
	for _, v6 := range families {
		s, err := f.look(ctx, v6)
		if err != nil {
			return nil, err
		}
		if !s.any() {
			continue
		}
		if es, intact := s.elements(); intact {
			all = append(all, es...)
		}
	}
	all = firewall.Of(all, only)
	firewall.Sort(all)
	return all, nil
}

// Apply makes all of add exist and none of del; an element in both is deleted. When a table refuses, what was changed
// before is put back.
func (f *Firewall) Apply(ctx context.Context, add, del []firewall.Element) error {
	requests, err := f.requests(add, del)
	if err != nil {
		return err
	}
	f.busy.Lock()
	defer f.busy.Unlock()
	var sights []sight // before anything changes, as one that was taken a moment ago still counts
	for _, r := range requests {
		s, err := f.look(ctx, r.v6)
		if err != nil {
			return fmt.Errorf("change the firewall: %w", err)
		}
		sights = append(sights, s)
	}
	var changed []sight // as they were
	for i, r := range requests {
		text := sights[i].toward(r)
		if text == "" {
			continue
		}
		changed = append(changed, sights[i])
		if err := f.programs.Restore(ctx, r.v6, text); err != nil {
			// Nobody is served by half a change, also not who gave up waiting.
			return errors.Join(fmt.Errorf("change the firewall: %w", err), f.restore(context.WithoutCancel(ctx), changed))
		}
	}
	return nil
}

// request is what one family is asked.
type request struct {
	layout
	add, del map[firewall.Element]firewall.Member
	order    []firewall.Element // of add, each once
}

// requests takes the elements apart, and leaves out families that nobody asks anything of.
func (f *Firewall) requests(add, del []firewall.Element) ([]request, error) {
	var rs []request
	for _, v6 := range families {
		r := request{layout: layout{f.table, v6}, add: map[firewall.Element]firewall.Member{}, del: map[firewall.Element]firewall.Member{}}
		for _, e := range del {
			m, err := r.parse(e)
			if err != nil {
				return nil, err
			}
			if m.V6 == v6 {
				r.del[e] = m
			}
		}
		for _, e := range add {
			m, err := r.parse(e)
			if err != nil {
				return nil, err
			}
			_, deleted := r.del[e]
			if _, twice := r.add[e]; m.V6 == v6 && !deleted && !twice {
				r.add[e], r.order = m, append(r.order, e)
			}
		}
		if len(r.add)+len(r.del) > 0 {
			rs = append(rs, r)
		}
	}
	return rs, nil
}

// toward is the script that leads from what is there to what is asked.
func (s sight) toward(r request) string {
	var have []firewall.Element
	ours, intact := s.any(), true
	if ours {
		have, intact = s.elements()
	}
	there := make(map[firewall.Element]bool, len(have))
	var add, del []firewall.Member
	for _, e := range have {
		there[e] = true
		if m, gone := r.del[e]; gone {
			del = append(del, m)
		}
	}
	for _, e := range r.order {
		if !there[e] {
			add = append(add, r.add[e])
		}
	}
	switch stay := len(have) - len(del); {
	case stay+len(add) == 0 && ours:
		return s.clear()
	case stay+len(add) == 0 || intact && len(add)+len(del) == 0:
		return ""
	case !intact || !ours:
		return s.build(append(s.but(have, r.del), add...))
	}
	return s.change(add, del)
}

// but are elements without those that go, taken apart.
func (s sight) but(have []firewall.Element, gone map[firewall.Element]firewall.Member) []firewall.Member {
	var out []firewall.Member
	for _, e := range have {
		if _, goes := gone[e]; goes {
			continue
		}
		if m, err := s.parse(e); err == nil {
			out = append(out, m)
		}
	}
	return out
}

// restore puts the families back as they were seen, the last first.
func (f *Firewall) restore(ctx context.Context, was []sight) error {
	var errs []error
	for _, before := range slices.Backward(was) {
		now, err := f.look(ctx, before.v6)
		if err == nil {
			if text := now.back(before); text != "" {
				err = f.programs.Restore(ctx, before.v6, text)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("put %s back as it was: %w", f.programs.Name(before.v6), err))
		}
	}
	return errors.Join(errs...)
}

// Any reports whether there is anything of ours, sound or not.
func (f *Firewall) Any(ctx context.Context) (bool, error) {
	for _, v6 := range families {
		if s, err := f.look(ctx, v6); err != nil || s.any() {
			return err == nil, err
		}
	}
	return false, nil
}

// Clear removes all that is ours, in both families, sound or not, and says whether there was anything.
func (f *Firewall) Clear(ctx context.Context) (bool, error) {
	f.busy.Lock()
	defer f.busy.Unlock()
	found := false
	for _, v6 := range families {
		s, err := f.look(ctx, v6)
		if err != nil {
			return found, err
		}
		if text := s.clear(); text != "" {
			found = true
			if err := f.programs.Restore(ctx, v6, text); err != nil {
				return found, fmt.Errorf("remove the rules of %s: %w", f.programs.Name(v6), err)
			}
		}
	}
	return found, nil
}
