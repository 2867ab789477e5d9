// Package backend keeps one network helper at the daemon's service: what a plan observes and changes goes to the helper
// there is, and when that ends another one is started and its owner told to set every network again.
package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"taproom/internal/network/helper"
	"taproom/internal/network/lease"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// Backend is a state.ServiceBackend. Its methods may be called from several goroutines.
type Backend struct {
	options  helper.HelperOptions
	events   chan helper.Event
	restarts chan error
	patience patience // Run's own

	mu     sync.RWMutex
	helper *helper.Helper
}

var _ state.ServiceBackend = (*Backend)(nil)

// Open finds the running helper or starts one. Run must be called for it to be replaced when it ends.
func Open(ctx context.Context, o helper.HelperOptions) (*Backend, error) {
	h, err := helper.OpenHelper(ctx, o)
	if err != nil {
		return nil, err
	}
	return newBackend(o, h), nil
}

// Find is Open where a helper runs; where none does it starts none and returns nil.
func Find(ctx context.Context, o helper.HelperOptions) (*Backend, error) {
	h, err := helper.FindHelper(ctx, o)
	if err != nil || h == nil {
		return nil, err
	}
	return newBackend(o, h), nil
}

func newBackend(o helper.HelperOptions, h *helper.Helper) *Backend {
	b := &Backend{options: o, events: make(chan helper.Event), restarts: make(chan error, 1), helper: h}
	b.patience.began(time.Now())
	return b
}

// Events delivers what clients do, from whichever helper there is. After a restart, and when they were read too slowly,
// there is one with Missed set.
func (b *Backend) Events() <-chan helper.Event { return b.events }

// Restarted delivers after a helper was replaced: nil, and nothing is served any more until it is set again, or why there
// is no new one yet. Deliveries that nobody took are merged.
func (b *Backend) Restarted() <-chan error { return b.restarts }

// Run replaces the helper when it ends: at once, unless it ends again and again, and then with pauses of up to five seconds,
// until ctx is done. Then it lets go of the helper, which goes on answering.
func (b *Backend) Run(ctx context.Context) error {
	for lost := b.pump(ctx); lost; lost = b.pump(ctx, helper.Event{Missed: true}) {
		if !b.replace(ctx) {
			break
		}
	}
	return b.current().Close()
}

// Stop ends the helper, if any, for a daemon that will not come back. A Run must have returned before.
func Stop(ctx context.Context, o helper.HelperOptions) error {
	return helper.StopHelper(ctx, o)
}

// pump passes events on, after some of its own, until the helper is lost, which gives true, or ctx is done. A daemon
// that does not read its events holds up nothing else: the helper's connection drops what is too much and says so.
func (b *Backend) pump(ctx context.Context, next ...helper.Event) bool {
	h := b.current()
	for {
		in, out := h.Events(), b.events
		var e helper.Event
		if len(next) > 0 {
			in, e = nil, next[0]
		} else {
			out = nil
		}
		select {
		case e := <-in:
			next = append(next, e)
		case out <- e:
			next = next[1:]
		case <-h.Lost():
			return ctx.Err() == nil
		case <-ctx.Done():
			return false
		}
	}
}

// replace gets another helper, trying until ctx is done.
func (b *Backend) replace(ctx context.Context) bool {
	for pause(ctx, b.patience.ended(time.Now())) {
		h, err := helper.OpenHelper(ctx, b.options)
		if err != nil {
			b.tell(err)
			continue
		}
		b.patience.began(time.Now())
		b.mu.Lock()
		old := b.helper
		h.Inherit(old)
		b.helper = h
		b.mu.Unlock()
		_ = old.Close() // gives back what is left of a process that has ended
		b.tell(nil)
		return true
	}
	return false
}

// tell replaces what was not heard yet.
func (b *Backend) tell(err error) {
	select {
	case <-b.restarts: //nolint:errcheck // replaced below
	default:
	}
	b.restarts <- err // has room: only Run's goroutine writes
}

func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (b *Backend) current() *helper.Helper {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.helper
}

// Service returns a network in the form of a state.
func Service(n helper.Network) state.Service {
	return state.Service{Bridge: n.Bridge, Fingerprint: n.Fingerprint(), Config: string(n.JSON())}
}

// Observe implements state.ServiceBackend.
func (b *Backend) Observe(ctx context.Context, networks ...string) (map[string]state.Service, error) {
	ids := make([]spec.UUID, len(networks))
	for i, n := range networks {
		var err error
		if ids[i], err = spec.ParseUUID(n); err != nil {
			return nil, err
		}
	}
	all, err := b.current().Observe(ctx, ids...)
	if err != nil {
		return nil, err
	}
	m := make(map[string]state.Service, len(all))
	for _, o := range all {
		m[o.UUID.String()] = state.Service{Bridge: o.Bridge, Fingerprint: o.Fingerprint, Index: o.Index}
	}
	return m, nil
}

// Set implements state.ServiceBackend. The service's configuration is a helper.Network as Service writes it.
func (b *Backend) Set(ctx context.Context, network string, s state.Service, index int) error {
	var n helper.Network
	if err := json.Unmarshal([]byte(s.Config), &n); err != nil {
		return fmt.Errorf("serve network %s: read its configuration: %w", network, err)
	}
	if n.UUID.String() != network || n.Bridge != s.Bridge {
		return fmt.Errorf("serve network %s on %s: its configuration is that of %s on %s", network, s.Bridge, n.UUID, n.Bridge)
	}
	return b.current().Set(ctx, n, index)
}

// Remove implements state.ServiceBackend. Leases stay for when the network starts again.
func (b *Backend) Remove(ctx context.Context, network string) error {
	id, err := spec.ParseUUID(network)
	if err != nil {
		return err
	}
	return b.current().Remove(ctx, id)
}

// Settle is for after links of networks that were removed have gone.
func (b *Backend) Settle() { b.current().Settle() }

// Leases returns the leases of a network that hold now, by address.
func (b *Backend) Leases(ctx context.Context, id spec.UUID) ([]lease.Record, error) {
	return b.current().Leases(ctx, id)
}

// SetResolvers tells which resolvers of the host names are forwarded to. A helper that is replaced must be told again.
func (b *Backend) SetResolvers(ctx context.Context, to []netip.AddrPort) error {
	return b.current().SetResolvers(ctx, to)
}

// Lookup returns what a guest of a network would be answered.
func (b *Backend) Lookup(ctx context.Context, id spec.UUID, name, kind string) (helper.Answer, error) {
	return b.current().Lookup(ctx, id, name, kind)
}

// Damaged returns how many lines of lease files could not be read, of the networks that have such.
func (b *Backend) Damaged(ctx context.Context) (map[spec.UUID]int, error) {
	all, err := b.current().Observe(ctx)
	m := map[spec.UUID]int{}
	for _, o := range all {
		if o.Damaged > 0 {
			m[o.UUID] = o.Damaged
		}
	}
	return m, err
}

// Stats returns a network's counters.
func (b *Backend) Stats(ctx context.Context, id spec.UUID) (helper.Stats, error) {
	return b.current().Stats(ctx, id)
}

// Forget removes the leases of a network that was undefined. It must not be served any more.
func (b *Backend) Forget(id spec.UUID) error { return b.current().Forget(id) }

// IsLost reports whether an error only says that the helper has just ended: observe again after Restarted.
func IsLost(err error) bool { return errors.Is(err, helper.ErrLost) }
