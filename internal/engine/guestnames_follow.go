package engine

import (
	"context"
	"sync"
	"time"

	"taproom/internal/api/own"
	"taproom/internal/api/server"
	"taproom/internal/spec"
)

const (
	// namesPause is the least time between two writes of a file.
	namesPause = time.Second
	// namesAtEnd is how long the last write may take, when the daemon ends.
	namesAtEnd = 5 * time.Second
)

// changedNames is what changed since the files were written.
type changedNames struct {
	any    bool
	all    bool // leases of every network
	leases map[spec.UUID]bool
}

// nameChanges gathers what changed. It may be told from several goroutines, with locks held.
type nameChanges struct {
	mu   sync.Mutex
	what changedNames
	some chan struct{} // has room for one
}

func newNameChanges() *nameChanges { return &nameChanges{some: make(chan struct{}, 1)} }

// note takes down what an event changes.
func (c *nameChanges) note(ev server.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch ev := ev.(type) {
	case server.LeaseChange:
		if c.what.leases == nil {
			c.what.leases = map[spec.UUID]bool{}
		}
		c.what.leases[ev.Network.UUID] = true
		c.what.all = c.what.all || ev.Event.Kind == own.LeasesMissed
	case server.DomainLifecycle, server.DomainDeviceAdded, server.DomainDeviceRemoved, server.NetworkLifecycle:
	default:
		return
	}
	c.what.any = true
	select {
	case c.some <- struct{}{}:
	default:
	}
}

// take returns what was gathered, and begins anew.
func (c *nameChanges) take() changedNames {
	c.mu.Lock()
	defer c.mu.Unlock()
	what := c.what
	c.what = changedNames{}
	return what
}

// follow calls write after changes, at most once in a pause, and once more at the end.
func (c *nameChanges) follow(ctx context.Context, pause time.Duration, write func(context.Context, changedNames)) {
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-wait.C:
		case <-ctx.Done():
			c.last(ctx, write)
			return
		}
		select {
		case <-c.some:
			write(ctx, c.take())
			wait.Reset(pause)
		case <-ctx.Done():
			c.last(ctx, write)
			return
		}
	}
}

func (c *nameChanges) last(ctx context.Context, write func(context.Context, changedNames)) {
	what := c.take()
	if !what.any {
		return
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), namesAtEnd)
	defer cancel()
	write(end, what)
}

// followGuestNames keeps the files for libnss_libvirt up to date, until the engine ends. What cannot be written is tried
// again with the next change.
func (e *Engine) followGuestNames(context.Context) error {
	g := newGuestNames(e.k, e.log, e.paths.GuestNames())
	active := e.activeBridges()
	if err := g.open(func(bridge string) bool { return active[bridge] != nil }); err != nil {
		e.log.Warn("look at the files of guests' names", "error", err)
	}
	if g.off {
		return nil
	}
	changes := newNameChanges()
	cancel := e.Subscribe(changes.note)
	if len(active) > 0 {
		changes.note(server.LeaseChange{Event: own.LeaseEvent{Kind: own.LeasesMissed}})
	}
	e.work.Go(func() {
		defer cancel()
		changes.follow(e.ctx, namesPause, func(ctx context.Context, what changedNames) {
			if err := e.writeGuestNames(ctx, g, what); err != nil && ctx.Err() == nil {
				e.log.Warn("write the files of guests' names", "directory", g.dir, "error", err)
			}
		})
	})
	return nil
}
