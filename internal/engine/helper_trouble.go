package engine

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"taproom/internal/api/own"
	"taproom/internal/api/server"
	"taproom/internal/network/helper"
	"taproom/internal/spec"
)

// maxTroubles is how many a network shows. Guests can cause them, and must not fill the list.
const maxTroubles = 8

// troubles are problems of networks' services. They are forgotten when the network stops.
type troubles struct {
	mu sync.Mutex
	of map[spec.UUID][]string
}

func newTroubles() *troubles { return &troubles{of: map[spec.UUID][]string{}} }

// add reports whether it is new and there was room for it.
func (t *troubles) add(id spec.UUID, what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.Contains(t.of[id], what) || len(t.of[id]) >= maxTroubles {
		return false
	}
	t.of[id] = append(t.of[id], what)
	return true
}

// solved takes back those that begin with a text.
func (t *troubles) solved(id spec.UUID, begin string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[id] = slices.DeleteFunc(slices.Clone(t.of[id]), func(s string) bool { return strings.HasPrefix(s, begin) })
}

// instead puts some in the place of those that begin with a text, all at once, and returns those that are new and that there
// was room for.
func (t *troubles) instead(id spec.UUID, begin string, what ...string) (fresh []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.of[id]
	now := slices.DeleteFunc(slices.Clone(before), func(s string) bool { return strings.HasPrefix(s, begin) && !slices.Contains(what, s) })
	for _, s := range what {
		if !slices.Contains(now, s) && len(now) < maxTroubles {
			now, fresh = append(now, s), append(fresh, s)
		}
	}
	t.of[id] = now
	return fresh
}

func (t *troubles) forget(id spec.UUID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, id)
}

func (t *troubles) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(func(yield func(string) bool) {
		for _, list := range t.of {
			for _, s := range list {
				if !yield(s) {
					return
				}
			}
		}
	})
}

// helperEvent deals with what the network helper tells.
func (e *Engine) helperEvent(ev helper.Event) {
	n, known := e.networks.uuid(ev.Network)
	switch {
	case ev.Failed != "":
		what := "the network helper: " + ev.Failed
		if known {
			what = fmt.Sprintf("network '%s': %s", n.label, ev.Failed)
		}
		if e.troubles.add(ev.Network, what) {
			e.log.Error(what)
		}
	case ev.Missed:
		e.publish(server.LeaseChange{Event: own.LeaseEvent{Kind: own.LeasesMissed}})
	case ev.Change != nil && known:
		v := n.view()
		if v.live == nil {
			return // it has stopped meanwhile
		}
		l := ownLease(n, v, ev.Change.Lease)
		e.publish(server.LeaseChange{Network: v.ref, Event: own.LeaseEvent{Kind: string(ev.Change.Kind), Lease: &l}})
	}
}

// helperFailed is told that the helper ended and the next one does not start.
func (e *Engine) helperFailed(err error) {
	what := "the network helper cannot do its work, so guests get no addresses and names: " + err.Error()
	if e.troubles.add(spec.UUID{}, what) {
		e.log.Error(what)
	}
}

// serviceProblems are what is wrong with the services of networks now.
func (e *Engine) serviceProblems(ctx context.Context) []string {
	list := e.troubles.all()
	if e.helper == nil {
		return list
	}
	damaged, err := e.helper.damaged(ctx)
	if err != nil {
		list = append(list, "the network helper does not say how it is: "+err.Error())
	}
	for _, id := range slices.SortedFunc(maps.Keys(damaged), func(a, b spec.UUID) int { return strings.Compare(a.String(), b.String()) }) {
		name := id.String()
		if n, ok := e.networks.uuid(id); ok {
			name = n.label
		}
		list = append(list, fmt.Sprintf(
			"network '%s': %d lines of its lease file %s cannot be read and are passed over; a client whose lease was in one of them asks for it again, and gets it if nobody else has the address",
			name, damaged[id], filepath.Join(e.paths.Leases(), id.String()+".leases"),
		))
	}
	return list
}
