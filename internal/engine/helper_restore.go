package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// setsAtOnce is how many networks are set on a helper at a time.
const setsAtOnce = 8

// serveAgain serves every network on a helper that took the place of one that ended. Nothing else of the host changes, so
// nothing else is looked at: guests wait.
func (e *Engine) serveAgain(ctx context.Context) {
	began := time.Now()
	e.troubles.forget(spec.UUID{}) // there is a helper
	e.log.Warn("the network helper ended and was started again")
	same := func(uuid string) string { return uuid }
	e.setAgain(ctx, e.helper, same, "is without DHCP and DNS: the helper ended, and its service cannot be brought back")
	e.log.Info("networks are served again", "took", time.Since(began))
}

// setAgain sets on a process what it serves of every network, by the key that it has in a state. What cannot be set is tried
// again beside the caller, for as long as it talks to that process.
func (e *Engine) setAgain(ctx context.Context, on *helperService, key func(uuid string) string, otherwise string) {
	slots := make(chan struct{}, setsAtOnce)
	var all sync.WaitGroup
	for _, n := range e.networks.all() {
		if n.view().live == nil {
			continue
		}
		all.Go(func() {
			trouble := fmt.Sprintf("network '%s' %s", n.label, otherwise)
			try := func(ctx context.Context) error {
				err := e.serveNetworkAgain(ctx, n, on, key(n.uuid.String()), slots)
				if err == nil || ctx.Err() != nil {
					e.troubles.solved(n.uuid, trouble)
				} else if len(e.troubles.instead(n.uuid, trouble, trouble+": "+err.Error()+remedy(err))) > 0 {
					e.log.Error(trouble, "error", err)
				}
				return err
			}
			if try(ctx) != nil && ctx.Err() == nil {
				on.beside.Go(func() { tryAgain(ctx, try) })
			}
		})
	}
	all.Wait()
}

// serveNetworkAgain sets a network unless it stops meanwhile: whoever changes it comes first, and finds the new helper too.
func (e *Engine) serveNetworkAgain(ctx context.Context, n *network, on *helperService, key string, slots chan struct{}) error {
	j, err := n.slot.Begin(ctx, "serve network '"+n.label+"' again")
	if err != nil {
		return err
	}
	defer j.End()
	live := n.view().live
	if live == nil {
		return nil
	}
	slots <- struct{}{}
	defer func() { <-slots }()
	barred, err := e.doing(n.uuid, func() error { return e.setOnce(j.Context(), n, live, on, key) })
	if barred {
		e.followNow(j.Context(), n)
	}
	return err
}

// setOnce sets what a process serves of a network.
func (e *Engine) setOnce(ctx context.Context, n *network, live *spec.Network, on *helperService, key string) error {
	want, err := e.compileNetwork(live)
	if err != nil {
		return err
	}
	service, served := want.Services[key]
	if !served {
		return nil
	}
	l, err := e.k.LinkByName(service.Bridge)
	if err != nil {
		return err
	}
	if l.Alias != state.Alias(n.uuid.String()) {
		return fmt.Errorf("link %s is not ours any more: its alias is %q", l.Name, l.Alias)
	}
	return on.Set(ctx, n.uuid.String(), service, l.Index)
}
