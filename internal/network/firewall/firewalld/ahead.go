package firewalld

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"taproom/internal/host"
	"taproom/internal/network/firewall"
)

// Ahead is bridges that are being bound to their zones while their network is made. Firewalld takes as long for one as all
// the rest takes, and does not ask whether there is such a link.
type Ahead struct {
	b     *Backend
	bind  map[string]string
	leave context.CancelFunc
	done  chan struct{} // closed when err is set
	err   error
}

// Ahead is an Apply of elements of new bridges that does not wait for firewalld: Wait or Stop it. Until then its bridges count
// as bound. It does nothing where that would gain or risk something: when firewalld did not run when it was looked at last,
// and when there is a link of such a name, which may be somebody else's.
//
// The rules come first, since firewalld reads all that nf_tables has for each change, and begins again when that changes.
func (b *Backend) Ahead(ctx context.Context, add []firewall.Element) (*Ahead, error) {
	below, zones := split(add)
	a := &Ahead{b: b, leave: func() {}, done: make(chan struct{})}
	if !b.worthAhead(bridgesOf(below), zones) {
		close(a.done)
		return a, nil
	}
	if err := b.below.Apply(ctx, below, nil); err != nil {
		return nil, err
	}
	bind := maps.Clone(zones)
	for link := range bridgesOf(below) {
		bind[link] = cmp.Or(zones[link], Zone)
	}
	b.mu.Lock()
	a.bind = b.unbound(bind)
	maps.Copy(b.ahead, a.bind)
	b.mu.Unlock()
	b.remember(bridgesOf(below), nil, zones, nil)
	ctx, a.leave = context.WithCancel(ctx)
	go a.run(ctx) // Wait and Stop wait for it
	return a, nil
}

// worthAhead reports whether firewalld is there, and has to do with bridges that are not there yet.
func (b *Backend) worthAhead(bridges map[string]bool, zones map[string]string) bool {
	b.mu.Lock()
	running := b.running
	b.mu.Unlock()
	if !running || len(bridges)+len(zones) == 0 {
		return false
	}
	for _, link := range slices.Concat(slices.Collect(maps.Keys(bridges)), slices.Collect(maps.Keys(zones))) {
		if _, err := b.cfg.Kernel.LinkByName(link); !errors.Is(err, host.ErrNoLink) {
			return false
		}
	}
	return true
}

func (a *Ahead) run(ctx context.Context) {
	defer close(a.done)
	a.err = a.b.settle(ctx, a.bind, nil)
	a.b.mu.Lock()
	defer a.b.mu.Unlock()
	for link := range a.bind {
		delete(a.b.ahead, link)
	}
}

// unbound leaves out what is bound already, or about to be. It is called with mu held.
func (b *Backend) unbound(zones map[string]string) map[string]string {
	out := map[string]string{}
	for link, zone := range zones {
		if b.ahead[link] != zone && b.seen.bound[link] != zone {
			out[link] = zone
		}
	}
	return out
}

// Busy reports whether there is something to wait for.
func (a *Ahead) Busy() bool { return len(a.bind) > 0 }

// Wait returns when the bridges are bound, or why they are not.
func (a *Ahead) Wait() error {
	<-a.done
	a.leave()
	return a.err
}

// Stop ends it, however far it has come. An Apply that deletes the elements takes back what it did.
func (a *Ahead) Stop() {
	a.leave()
	<-a.done
}
