package firewalld

import (
	"context"
	"errors"
	"sync"
	"time"

	"taproom/internal/host/sysbus"
)

// Who is what Watch calls firewalld itself when it began anew and forgot what it had been told at run time.
const Who = "firewalld"

// startWithin is how long a firewalld that came to be may take to load its configuration.
const startWithin = 5 * time.Minute

// How long Watch waits before it looks again for a bus that is not there.
const (
	againAfter  = 100 * time.Millisecond
	againWithin = 2 * time.Second
)

// watcher is a backend below that notices when others change it.
type watcher interface {
	Watch(ctx context.Context, changed func(who string)) error
}

// Watch calls changed when firewalld came, or forgot its bindings at a reload, or somebody took one away; and whenever the
// backend below says so. It returns when ctx is done, or when the one below cannot watch any more.
func (b *Backend) Watch(ctx context.Context, changed func(who string)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { b.follow(ctx, changed) })
	var err error
	if w, ok := b.below.(watcher); ok {
		err = w.Watch(ctx, changed)
		if err != nil {
			cancel()
		}
	}
	wg.Wait()
	return err
}

// follow watches the bus until ctx is done, also when it comes later or comes again.
func (b *Backend) follow(ctx context.Context, changed func(who string)) {
	pause := againAfter
	for ctx.Err() == nil {
		err := b.followBus(ctx, func(who string) {
			pause = againAfter
			changed(who)
		})
		if !noBus(err) && !errors.Is(err, sysbus.ErrClosed) {
			pause = againWithin // it refuses us
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, againWithin)
	}
}

// followBus watches through one connection until that ends.
func (b *Backend) followBus(ctx context.Context, changed func(who string)) error {
	bounded, cancel := context.WithTimeoutCause(ctx, askWithin, errSlow)
	defer cancel()
	c, err := sysbus.Dial(bounded, b.cfg.Kernel, b.bus.socket)
	if err != nil {
		return err
	}
	defer c.Close()
	s, err := c.Signals(bounded,
		sysbus.OwnerChanges(busName),
		sysbus.Rule{Sender: busName, Interface: busName, Member: "Reloaded"},
		sysbus.Rule{Sender: busName, Interface: busName + ".zone", Member: "InterfaceRemoved"},
		sysbus.Rule{Sender: busName, Interface: busName + ".zone", Member: "ZoneOfInterfaceChanged"})
	if err != nil {
		return err
	}
	b.ready(ctx, changed)
	for {
		one, err := s.Next(ctx)
		if err != nil {
			return err
		}
		b.take(ctx, one, changed)
	}
}

// ready calls changed once a firewalld that is there has loaded its configuration: it has its name before.
func (b *Backend) ready(ctx context.Context, changed func(who string)) {
	err := b.bus.talk(ctx, startWithin, func(ctx context.Context, s *session) error {
		_, err := s.bindings(ctx)
		return err
	})
	if err == nil {
		changed(Who)
	}
}

func (b *Backend) take(ctx context.Context, s sysbus.Signal, changed func(who string)) {
	switch s.Name {
	case busName + ".Reloaded":
		changed(Who)
	case busName + ".zone.InterfaceRemoved":
		if of, ok := s.Strings(2); ok && b.wanted(of[1]) == of[0] {
			changed("")
		}
	case busName + ".zone.ZoneOfInterfaceChanged":
		if of, ok := s.Strings(2); ok && b.wanted(of[1]) != "" && b.wanted(of[1]) != of[0] {
			changed("")
		}
	default:
		if of, ok := s.Strings(3); ok && s.IsOwnerChange() && of[2] != "" {
			b.ready(ctx, changed)
		}
	}
}

// wanted is the zone that a bridge of ours should be in; "" when it is none.
func (b *Backend) wanted(link string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wants[link]
}
