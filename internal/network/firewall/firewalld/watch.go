package firewalld

import (
	"context"
	"errors"
	"strings"
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
	wg.Go(func() { b.Follow(ctx, changed) })
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

// Follow is Watch without the backend below. It watches the bus until ctx is done, also when it comes later or comes again.
func (b *Backend) Follow(ctx context.Context, changed func(who string)) {
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
		sysbus.Rule{Sender: busName, Interface: busName + zoneSignals})
	if err != nil {
		return err
	}
	b.followed(true)
	defer b.followed(false)
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
		b.changed()
		changed(Who)
	}
}

// zoneSignals ends the name of the interface whose signals say what becomes of zones.
const zoneSignals = ".zone"

func (b *Backend) take(ctx context.Context, s sysbus.Signal, changed func(who string)) {
	of, pair := s.Strings(2)
	about := strings.TrimPrefix(s.Name, busName+zoneSignals+".")
	switch {
	case s.Name == busName+".Reloaded":
		b.forgetSeen()
		b.changed()
		changed(Who)
	case s.IsOwnerChange():
		b.forgetSeen()
		if of, ok := s.Strings(3); ok && of[2] != "" {
			b.ready(ctx, changed)
		}
	case pair && about == "InterfaceRemoved":
		if b.noted(of[1], "") == of[0] {
			changed("")
		}
	case pair && (about == "InterfaceAdded" || about == "ZoneOfInterfaceChanged" || about == "ZoneChanged"): // the last, of old, beside the one before
		if want := b.noted(of[1], of[0]); want != "" && want != of[0] {
			changed("")
		}
	default: // of a zone: some say everything that it has, links too
		b.forgetSeen()
	}
}

// followed says whether signals are followed from now on.
func (b *Backend) followed(yes bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen.follow(yes)
}

func (b *Backend) forgetSeen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen.forget()
}

// noted keeps what a signal says of a link. It returns the zone that a bridge of ours should be in; "" when it is none.
func (b *Backend) noted(link, zone string) (want string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen.note(link, zone)
	return b.wants[link]
}
