package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"taproom/internal/api/server"
	"taproom/internal/network/helper"
	"taproom/internal/network/portforward"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// notForwarded begins what is wrong with a network's forwards.
const notForwarded = "network '%s': not all of its ports of the host lead to their guests"

// leasedBy are the addresses that guests have from a network's DHCP, by MAC.
func (e *Engine) leasedBy(ctx context.Context, n *network, doc *spec.Network) (map[string][]netip.Addr, error) {
	out := map[string][]netip.Addr{}
	if !e.serves(doc) {
		return out, nil
	}
	all, err := e.helper.leases(ctx, n.uuid)
	var refused *helper.RefusedError
	if errors.As(err, &refused) { // it is not served yet
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the leases of network '%s': %w", n.label, err)
	}
	for _, l := range all {
		mac := macText(l.MAC)
		out[mac] = append(out[mac], l.IP)
	}
	return out, nil
}

// followTargets has forwards follow the guests that they name, until the engine ends.
func (e *Engine) followTargets(context.Context) error {
	changes := newNameChanges()
	cancel := e.Subscribe(changes.note)
	changes.note(server.NetworkLifecycle{})
	e.work.Go(func() {
		defer cancel()
		for {
			select {
			case <-changes.some:
				changes.take()
				e.followAll(e.ctx)
			case <-e.ctx.Done():
				return
			}
		}
	})
	return nil
}

// followAll looks at every network whose forwards name guests.
func (e *Engine) followAll(ctx context.Context) {
	for _, n := range e.networks.all() {
		if !e.follows(n) {
			continue
		}
		j, err := n.slot.Begin(ctx, "forward ports of network '"+n.label+"'")
		if err != nil { // the engine ends
			return
		}
		e.followNow(j.Context(), n)
		j.End()
	}
}

// followLater is for a network whose forwards could not follow: a program may have had one of its ports, which it lets go of
// unheard. It is tried again until the forwards follow, or there is nothing to follow any more.
func (e *Engine) followLater(n *network) {
	if !e.targets.waits(n.uuid, true) {
		return
	}
	e.work.Go(func() {
		tryAgain(e.ctx, func(ctx context.Context) error {
			j, err := n.slot.Begin(ctx, "forward ports of network '"+n.label+"'")
			if err != nil { // the engine ends
				return err
			}
			defer j.End()
			if err = e.followOnce(j.Context(), n); err == nil {
				e.targets.waits(n.uuid, false)
			}
			return err
		})
	})
}

// follows reports whether a network's forwards name guests, or did, or have to be tried again.
func (e *Engine) follows(n *network) bool {
	live := n.view().live
	return len(e.targets.known(n.uuid)) > 0 || len(e.targets.bars(n.uuid)) > 0 || live != nil && len(portforward.Named(live)) > 0
}

// followNow is changeForwards; what goes wrong is listed as a problem of the network, and tried again. The process for ports of
// the loopback ends when no network needs it any more. The caller holds the slot.
func (e *Engine) followNow(ctx context.Context, n *network) {
	if err := e.followOnce(ctx, n); err != nil && ctx.Err() == nil {
		e.followLater(n)
	}
}

// followOnce is followNow for who tries again by himself.
func (e *Engine) followOnce(ctx context.Context, n *network) error {
	trouble := fmt.Sprintf(notForwarded, n.label)
	var err error
	if e.follows(n) {
		err = e.changeForwards(ctx, n)
	}
	if err == nil && e.loopback.opened() {
		e.helperIfIdle(ctx)
	}
	if err == nil || ctx.Err() != nil {
		e.troubles.solved(n.uuid, trouble)
		return err
	}
	if len(e.troubles.instead(n.uuid, trouble, trouble+": "+err.Error()+remedy(err))) > 0 {
		e.log.Error(trouble, "error", err)
	}
	return err
}

// recallForwards finds the guests again that an earlier daemon's forwards led to, so that these do not go for a moment, and
// adds them to want.
func (e *Engine) recallForwards(ctx context.Context, want *state.State) {
	for _, n := range e.networks.all() {
		live := n.view().live
		if live == nil {
			continue
		}
		known, err := e.lookForTargets(ctx, n, live)
		if err != nil {
			e.log.Warn("look where ports of the host lead", "network", n.label, "error", err)
			continue
		}
		e.targets.learn(n.uuid, known)
		s, err := e.compileNetwork(live)
		if err != nil { // so it was not in force before, and is told of when it is looked at again
			e.targets.learn(n.uuid, nil)
			continue
		}
		e.targets.done(n.uuid) // clients are not served before it is
		*want = want.Merge(s)
	}
}

// portsAreFree refuses a document that wants ports of the host which programs have. Those that the network has already are its
// own; what other networks have, claimPorts knows.
func (e *Engine) portsAreFree(from, to *spec.Network) error {
	all, err := to.PortForwards()
	if err != nil || len(all) == 0 {
		return err
	}
	var had []spec.ForwardedPorts
	if from != nil {
		if had, err = from.PortForwards(); err != nil {
			return err
		}
	}
	var sockets []portforward.Socket
	for _, proto := range []string{"tcp", "udp"} {
		bound, err := e.k.BoundSockets(proto)
		if err != nil {
			return err
		}
		for _, b := range bound {
			if b.UID != uint32(e.loopback.options.UID) || b.At.Addr().IsUnspecified() { // ours are a network's that is just going
				sockets = append(sockets, portforward.Socket{Protocol: proto, At: b.At})
			}
		}
	}
	f, s := portforward.Taken(to, portforward.New(all, had), sockets)
	if f == nil {
		return nil
	}
	who := "somebody"
	if h, err := e.k.PortHolder(s.Protocol, s.At); err == nil {
		who = h.String()
	}
	return fmt.Errorf("%s cannot lead to %s: it is in use by %s; forward another port, or at another address of the host", f.At(), f.To(), who)
}
