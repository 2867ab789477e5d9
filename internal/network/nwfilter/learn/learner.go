package learn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"taproom/internal/host"
	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

// Options are what a Learner works with.
type Options struct {
	Kernel *host.Kernel
	Clock  lease.Clock
	// Changed is told what NICs' addresses have become, one call at a time and from one goroutine: what changes while it runs
	// comes together in the next call. It may call the Learner's methods, Close excepted.
	Changed func([]Change)
	// Failed is told why nothing is learned any more of a kind of message, or not as it should. May be nil; it must not call the
	// Learner.
	Failed func(error)
}

// Learner learns the addresses of NICs from the frames that pass them.
type Learner struct {
	o      Options
	ctx    context.Context // the life of the goroutines that Start and Watch begin
	cancel context.CancelFunc
	done   sync.WaitGroup
	begun  time.Time

	life sync.Mutex // held while the sockets are opened or closed

	mu      sync.Mutex
	ears    *ears // nil while no NIC is watched; set with life held too
	table   Table
	limits  limits
	links   links
	told    map[string][]netip.Addr // what Changed or Watch said last
	pending map[string]bool         // who is to be told of
	refused map[packet.Refusal]uint64
	wake    chan struct{}
}

// Start makes a Learner. It opens nothing before the first NIC is watched. It ends with ctx or with Close.
func Start(ctx context.Context, o Options) *Learner {
	ctx, cancel := context.WithCancel(ctx)
	l := &Learner{
		o: o, ctx: ctx, cancel: cancel, begun: time.Now(),
		told: map[string][]netip.Addr{}, pending: map[string]bool{}, refused: map[packet.Refusal]uint64{}, wake: make(chan struct{}, 1),
	}
	l.done.Go(l.tell)
	return l
}

// Close ends the Learner and returns when nothing of it is left. It must be called, and not from Changed.
func (l *Learner) Close() {
	l.cancel()
	l.life.Lock()
	l.shut()
	l.life.Unlock()
	l.done.Wait()
}

// Watch begins to learn a NIC's addresses, or changes how they are learned. It returns those that it has by now: of what was
// known, and of what was learned before. A NIC of mode None has none and is not watched. The link may come later and go
// before Forget is called.
func (l *Learner) Watch(p Port) ([]netip.Addr, error) {
	l.life.Lock()
	defer l.life.Unlock()
	if err := l.ctx.Err(); err != nil {
		return nil, fmt.Errorf("learn the addresses of %s: the learner has ended: %w", p.Name, err)
	}
	if p.Mode == None {
		l.leave(p.Name)
		return nil, nil
	}
	if l.ears == nil {
		e, err := l.listen()
		if err != nil {
			return nil, fmt.Errorf("learn the addresses of %s: %w", p.Name, err)
		}
		l.mu.Lock()
		l.ears = e
		l.mu.Unlock()
	}
	index := l.indexOf(p.Name)
	l.mu.Lock()
	defer l.mu.Unlock()
	var known []Address
	for _, k := range p.Known {
		if a, ok := k.load(l.o.Clock, p.MAC); ok {
			known = append(known, a)
		}
	}
	l.note(l.table.Watch(p, known, l.o.Clock.Now()))
	l.links.watch(p.Name, p.Mode == Any, index)
	now := addrs(l.table.Addresses(p.Name))
	l.told[p.Name] = now
	l.knock()
	return now, l.ears.let(&l.links)
}

// Forget ends the learning of a NIC's addresses. One that is not watched is forgotten already.
func (l *Learner) Forget(name string) {
	l.life.Lock()
	defer l.life.Unlock()
	l.leave(name)
}

// leave is Forget with life held.
func (l *Learner) leave(name string) {
	l.mu.Lock()
	h := l.table.ports[name]
	if h == nil {
		l.mu.Unlock()
		return
	}
	l.table.Forget(name)
	last := true
	for _, o := range l.table.ports {
		last = last && o.Network != h.Network
	}
	l.limits.forget(name, h.Network, last)
	l.links.forget(name)
	delete(l.told, name)
	delete(l.pending, name)
	idle := len(l.table.ports) == 0
	if !idle {
		l.fail(l.ears.let(&l.links))
	}
	l.mu.Unlock()
	if idle {
		l.shut()
	}
}

// Refused returns why frames taught nothing, and how many each: a name of packet.Refusal, or "lost" for those that the
// kernel had no room for.
func (l *Learner) Refused() map[packet.Refusal]uint64 {
	l.life.Lock()
	defer l.life.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ears != nil {
		if n := l.ears.dropped(); n > 0 {
			l.refused["lost"] += n
		}
	}
	return maps.Clone(l.refused)
}

// take learns from a frame.
func (l *Learner) take(k kind, h heard) {
	name, known := l.nameOf(h.link)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !known {
		return
	}
	p := l.table.ports[name]
	if p == nil {
		return
	}
	at := time.Since(l.begun)
	if !l.limits.take(k, h.way, name, p.Network, at) {
		l.refused[packet.RefuseRate]++
		l.links.mute(k, h.way, h.link, at)
		l.knock()
		return
	}
	changed, err := l.table.Frame(name, h.way, h.data, h.partial, l.o.Clock.Now())
	var why packet.Refusal
	if errors.As(err, &why) {
		l.refused[why]++
	}
	if len(changed) > 0 {
		l.note(changed)
		l.knock()
	}
}

// note remembers whom to tell of.
func (l *Learner) note(changed []string) {
	for _, n := range changed {
		l.pending[n] = true
	}
}

// knock wakes tell.
func (l *Learner) knock() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// tell hands out changes, ends what has ended, and keeps the filters until ctx is done.
func (l *Learner) tell() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-l.wake:
		case <-timer.C:
		}
		changes, again := l.due()
		if len(changes) > 0 && l.o.Changed != nil {
			l.o.Changed(changes)
		}
		timer.Reset(again)
	}
}

// due returns what there is to tell and how long there will be nothing more unless somebody knocks.
func (l *Learner) due() (changes []Change, again time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(l.table.Expire(l.o.Clock.Now()))
	for _, name := range slices.Sorted(maps.Keys(l.pending)) {
		changes = append(changes, l.change(name))
	}
	clear(l.pending)
	const longest = time.Hour
	again = longest
	if next := l.table.NextExpiry() - l.o.Clock.Now(); next < int64(longest/time.Second) {
		again = time.Duration(max(next, 1)) * time.Second
	}
	if l.ears != nil {
		if left := l.links.unmute(time.Since(l.begun)); left > 0 {
			again = min(again, left)
		}
		l.fail(l.ears.let(&l.links))
	}
	return changes, again
}

// change is what to tell of a NIC.
func (l *Learner) change(name string) Change {
	has := l.table.Addresses(name)
	c := Change{Port: name, Addresses: addrs(has)}
	for _, a := range has {
		c.State = append(c.State, store(l.o.Clock, l.table.ports[name].MAC, a))
	}
	c.Renewed = slices.Equal(c.Addresses, l.told[name])
	l.told[name] = c.Addresses
	return c
}

func addrs(of []Address) []netip.Addr {
	out := make([]netip.Addr, len(of))
	for i, a := range of {
		out[i] = a.Addr
	}
	return out
}

func (l *Learner) fail(err error) {
	if err != nil && l.o.Failed != nil {
		l.o.Failed(err)
	}
}
