package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// networkLeftovers are networks whose start or stop failed, and whose parts could not be removed then: the host refused that too. Each
// is tried again until nothing is left, and before the next start of any network.
type networkLeftovers struct {
	mu  sync.Mutex
	all map[*networkLeftover]bool
}

type networkLeftover struct {
	label string
	uuid  spec.UUID
	made  state.State // the state that its start was to make, or its stop to remove

	mu   sync.Mutex
	gone bool
}

// revertStart removes all parts of a network whose start failed, by the same difference. Parts that cannot be removed now are
// removed as soon as they can be.
func (e *Engine) revertStart(ctx context.Context, n *network, doc *spec.Network) error {
	return e.clearLater(ctx, n, doc, "start")
}

// clearLater removes all parts of a network, now or as soon as they can be removed. An error says that parts are left, and is shown
// until they are gone, with the name of the operation that failed.
func (e *Engine) clearLater(ctx context.Context, n *network, doc *spec.Network, operation string) error {
	e.floors.bridgeThere(doc.Name, false)
	made, err := e.compileNetwork(doc)
	if err != nil {
		return err
	}
	l := &networkLeftover{label: n.label, uuid: n.uuid, made: withoutSysctls(made)}
	if err = e.clearNetwork(ctx, l); err == nil {
		return nil
	}
	e.networksLeft.add(l)
	what := fmt.Sprintf("network '%s' did not %s and left something behind: %v; it is tried again", l.label, operation, err)
	e.problem.add(e.log, what)
	e.work.Go(func() {
		tryAgain(e.ctx, func(ctx context.Context) error { // when the engine ends, the next daemon removes parts of no network
			err := e.clearNetwork(ctx, l)
			if err == nil {
				e.problem.solved(what)
				e.helperIfIdle(ctx) // it may have served this network until now
			}
			return err
		})
	})
	return fmt.Errorf("what was made is still there: %w; removing it is tried again", err)
}

func (s *networkLeftovers) add(l *networkLeftover) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*networkLeftover]bool{}
	}
	s.all[l] = true
}

// clearNetwork removes the parts that a start left, and its record. A part that is gone is no error.
func (e *Engine) clearNetwork(ctx context.Context, l *networkLeftover) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return nil
	}
	scope := l.made.Scope()
	scope.Owner = l.uuid.String() // the name of its bridge may have become another network's
	_, err := e.converge(ctx, state.State{}, scope)
	if err = errors.Join(err, e.actives.Delete(l.uuid.String())); err != nil {
		return err
	}
	l.gone = true
	e.networksLeft.mu.Lock()
	defer e.networksLeft.mu.Unlock()
	delete(e.networksLeft.all, l)
	return nil
}

// of calls remove with the leftovers of a network. It reports whether there are any.
func (s *networkLeftovers) of(uuid spec.UUID, remove func(*networkLeftover) error) (found bool, err error) {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.all))
	s.mu.Unlock()
	for _, l := range all {
		if l.uuid == uuid {
			found, err = true, errors.Join(err, remove(l))
		}
	}
	return found, err
}

// clearNetworks removes the parts that failed starts and stops left, before a network starts: another network may want the same name and
// addresses. It is an error where that fails for the same network or for the same bridge, whose parts would be removed later, under
// the network that started.
func (e *Engine) clearNetworks(ctx context.Context, starts spec.UUID, bridge string) error {
	e.networksLeft.mu.Lock()
	all := slices.Collect(maps.Keys(e.networksLeft.all))
	e.networksLeft.mu.Unlock()
	for _, l := range all {
		err := e.clearNetwork(ctx, l)
		if err != nil && l.uuid == starts {
			return fmt.Errorf("what its last start or stop left cannot be removed: %w", err)
		}
		if _, same := l.made.Bridges[bridge]; err != nil && same {
			return fmt.Errorf("what a start or stop of network '%s' left of bridge %s cannot be removed: %w", l.label, bridge, err)
		}
	}
	return nil
}
