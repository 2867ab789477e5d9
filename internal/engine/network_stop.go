package engine

import (
	"context"
	"errors"
	"fmt"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/job"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// DestroyNetwork implements server.Networks. Guests on it stay, cut off until it starts again.
func (e *Engine) DestroyNetwork(ctx context.Context, uuid spec.UUID) error {
	n, err := e.network(uuid)
	if err != nil {
		return err
	}
	j, err := n.slot.Begin(ctx, "stop network '"+n.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	v := n.view()
	if v.live == nil {
		return e.destroyLeftover(j.Context(), n)
	}
	stopped, failed := e.take(context.WithoutCancel(j.Context()), n, v.live)
	if failed != nil {
		failed = virterr.New(virterr.OperationFailed, "cannot stop network '%s': %w%s", n.label, failed, remedy(failed))
	}
	if !stopped {
		return failed
	}
	e.tellStopped(context.WithoutCancel(j.Context()), v.live)
	v = n.update(func(v *netView) { v.live, v.ref.Active = nil, false })
	n.means.Store(nil)
	e.troubles.forget(n.uuid)
	e.unrepairLate(context.WithoutCancel(j.Context()), n)
	if err := e.madePorts.clear(n.uuid); err != nil {
		e.log.Warn("forget the ports of a network that was stopped", "network", n.label, "error", err)
	}
	e.publish(server.NetworkLifecycle{Network: v.ref, Event: server.NetworkEventStopped})
	if v.def == nil {
		e.forgetNetwork(ctx, n)
	}
	e.helperIfIdle(context.WithoutCancel(ctx))
	return failed
}

// destroyLeftover is DestroyNetwork for a network that is not active: it removes the parts that an earlier stop or start left.
func (e *Engine) destroyLeftover(ctx context.Context, n *network) error {
	found, err := e.networksLeft.of(n.uuid, func(l *networkLeftover) error { return e.clearNetwork(ctx, l) })
	switch {
	case !found:
		return virterr.New(virterr.OperationInvalid, "network '%s' is not active", n.label)
	case err != nil:
		return virterr.New(virterr.OperationFailed, "cannot stop network '%s': what is left of it cannot be removed: %w%s; removing it is tried again", n.label, err, remedy(err))
	}
	return nil
}

// withdraw removes a network from the host.
func (e *Engine) withdraw(ctx context.Context, n *network, doc *spec.Network) error {
	have, err := e.compileNetwork(doc)
	if err != nil {
		return err
	}
	if err := e.actives.Delete(n.uuid.String()); err != nil {
		return err
	}
	e.floors.bridgeThere(doc.Name, false)
	_, err = e.converge(ctx, state.State{}, withoutSysctls(have).Scope())
	return err
}

// take removes an active network from the host. If that fails, the network is put back and stays active; if that fails too, the network
// is stopped, and the parts that cannot be removed now are removed as soon as they can be. A network that is stopped without any
// parts left is no error.
func (e *Engine) take(ctx context.Context, n *network, live *spec.Network) (stopped bool, err error) {
	err = e.withdraw(ctx, n, live)
	if err == nil {
		return true, nil
	}
	_, back := e.tryBring(ctx, n, live, job.NewTrace())
	if back == nil {
		e.replugAll(ctx, n)
		return false, err
	}
	left := e.clearLater(ctx, n, live, "stop")
	if left == nil {
		e.log.Warn("a network was stopped at the second attempt", "network", n.label, "error", errors.Join(err, back))
		return true, nil
	}
	return true, errors.Join(err, fmt.Errorf("it cannot be put back either: %w", back), left)
}
