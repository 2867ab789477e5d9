package engine

import (
	"context"

	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// boundAnew bounds a network whose bridge was just made.
func (e *Engine) boundAnew(ctx context.Context, doc *spec.Network) error {
	e.floors.bridgeThere(doc.Name, true)
	if doc.Bandwidth == nil {
		return nil
	}
	return e.reboundAs(ctx, doc)
}

// reboundTo bounds an active network as another document says.
func (e *Engine) reboundTo(ctx context.Context, from, to *spec.Network) error {
	if from.Bandwidth == nil && to.Bandwidth == nil || !to.Routed() {
		return nil
	}
	return e.reboundAs(ctx, to)
}

// boundAsSeen bounds an active network once more, when all see its document: who changed a floor meanwhile went by the one before.
func (e *Engine) boundAsSeen(ctx context.Context, from, to *spec.Network) {
	if err := e.reboundTo(ctx, from, to); err != nil && ctx.Err() == nil {
		e.log.Error("a network is not bounded as its guests' floors say", "network", to.Name, "error", err)
	}
}

// boundNetworks adds what bounds the networks that are active, once the floors of all guests are known.
func (e *Engine) boundNetworks(want *state.State) error {
	for _, n := range e.networks.all() {
		live := n.view().live
		if live == nil {
			continue
		}
		s, err := e.networkShape(live)
		if err != nil {
			return err
		}
		*want = want.Merge(s)
		e.floors.bridgeThere(live.Name, true)
	}
	return nil
}
