package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"sync"
	"time"

	"taproom/internal/network/helper"
	"taproom/internal/network/helper/backend"
	"taproom/internal/network/lease"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// replacedWithin is how long a request waits for the helper that takes the place of one that ended. A process that starts
// takes 20 ms, and setting a network 2 ms.
const replacedWithin = 5 * time.Second

// helperService is the network helper as a plan sees it: the process that answers for addresses, names and files. It is
// there while a network needs it and no longer.
type helperService struct {
	options helper.HelperOptions
	lost    func(context.Context) // serves everything again after the helper ended unasked and another one is there
	event   func(helper.Event)
	fail    func(error)

	mu        sync.Mutex
	backend   *backend.Backend   // nil while nothing needs it
	cancel    context.CancelFunc // ends what runs beside the backend
	resolvers []netip.AddrPort   // of the host
	known     bool               // whether they are
	there     moment             // another helper has taken the place of one that ended
	served    moment             // and serves everything
	empty     bool               // the first is true and the second not yet
	beside    sync.WaitGroup
}

var _ state.ServiceBackend = (*helperService)(nil)

// open returns the helper, and starts one when there is none.
func (s *helperService) open(ctx context.Context) (*backend.Backend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.backend != nil {
		return s.backend, nil
	}
	b, err := backend.Open(ctx, s.options)
	if err != nil {
		return nil, err
	}
	s.begin(ctx, b)
	return b, nil
}

// begin is called with the lock held.
func (s *helperService) begin(ctx context.Context, b *backend.Backend) {
	s.tellResolvers(ctx, b)
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.backend, s.cancel = b, cancel
	s.beside.Go(func() { _ = b.Run(own) })
	s.beside.Go(func() { s.listen(own, b) })
}

// listen passes on what happens, and has everything served again when a helper was replaced.
func (s *helperService) listen(ctx context.Context, b *backend.Backend) {
	var again sync.WaitGroup // beside the events, which must not wait
	defer again.Wait()
	for {
		select {
		case e := <-b.Events():
			s.event(e)
		case err := <-b.Restarted():
			if err != nil {
				s.fail(err)
				continue
			}
			s.mu.Lock()
			s.empty = true
			s.there.happens()
			s.mu.Unlock()
			again.Wait() // what met the end of this one too goes on with the next
			again.Go(func() { s.serveAgain(ctx, b) })
		case <-ctx.Done():
			return
		}
	}
}

func (s *helperService) serveAgain(ctx context.Context, b *backend.Backend) {
	s.mu.Lock()
	s.tellResolvers(ctx, b)
	s.mu.Unlock()
	s.lost(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.empty = false
	s.served.happens()
}

// setResolvers tells which resolvers the host has, now and each time that a helper takes another one's place.
func (s *helperService) setResolvers(ctx context.Context, to []netip.AddrPort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resolvers, s.known = to, true
	if s.backend != nil {
		s.tellResolvers(ctx, s.backend)
	}
}

// tellResolvers is called with the lock held.
func (s *helperService) tellResolvers(ctx context.Context, b *backend.Backend) {
	if !s.known {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, replacedWithin)
	defer cancel()
	if err := b.SetResolvers(ctx, s.resolvers); err != nil && ctx.Err() == nil && !backend.IsLost(err) {
		s.fail(fmt.Errorf("tell it the host's resolvers: %w", err))
	}
}

// present returns the helper, running now or left by an earlier daemon, or nil. It starts none: reading the served networks
// must not fail because no helper can be started, or a failed start could not be reverted.
func (s *helperService) present(ctx context.Context) (*backend.Backend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.backend != nil {
		return s.backend, nil
	}
	b, err := backend.Find(ctx, s.options)
	if err != nil || b == nil {
		return nil, err
	}
	s.begin(ctx, b)
	return b, nil
}

// opened reports whether there is one that this daemon knows of.
func (s *helperService) opened() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.backend != nil
}

// moment is something that happens again and again. The zero value is ready; a lock guards it.
type moment struct{ next chan struct{} }

// wait returns what is closed when it happens next.
func (m *moment) wait() <-chan struct{} {
	if m.next == nil {
		m.next = make(chan struct{})
	}
	return m.next
}

func (m *moment) happens() {
	if m.next != nil {
		close(m.next)
		m.next = nil
	}
}

// change makes a request again that met a helper at its end. It does not wait for what other networks are served: that
// waits for whoever is changing a network.
func (s *helperService) change(ctx context.Context, request func() error) error {
	return s.twice(ctx, &s.there, backend.IsLost, request)
}

// ask makes a request again that met a helper at its end, or the next one before it served everything.
func (s *helperService) ask(ctx context.Context, request func() error) error {
	return s.twice(ctx, &s.served, func(err error) bool {
		var refused *helper.RefusedError
		return backend.IsLost(err) || s.empty && errors.As(err, &refused)
	}, request)
}

func (s *helperService) twice(ctx context.Context, when *moment, again func(error) bool, request func() error) error {
	s.mu.Lock()
	better := when.wait()
	s.mu.Unlock()
	err := request()
	s.mu.Lock()
	wait := again(err)
	s.mu.Unlock()
	if !wait {
		return err
	}
	t := time.NewTimer(replacedWithin)
	defer t.Stop()
	select {
	case <-better:
		return request()
	case <-t.C:
	case <-ctx.Done():
	}
	return err
}

// Observe implements state.ServiceBackend.
func (s *helperService) Observe(ctx context.Context, networks ...string) (map[string]state.Service, error) {
	b, err := s.present(ctx)
	if err != nil || b == nil {
		return nil, err
	}
	var m map[string]state.Service
	err = s.change(ctx, func() (err error) {
		m, err = b.Observe(ctx, networks...)
		return err
	})
	if backend.IsLost(err) { // a helper that has ended serves nothing, and its successor must not be waited for
		return nil, nil
	}
	return m, err
}

// Set implements state.ServiceBackend.
func (s *helperService) Set(ctx context.Context, network string, sv state.Service, index int) error {
	b, err := s.open(ctx)
	if err != nil {
		return err
	}
	return s.change(ctx, func() error { return b.Set(ctx, network, sv, index) })
}

// Remove implements state.ServiceBackend.
func (s *helperService) Remove(ctx context.Context, network string) error {
	b, err := s.present(ctx)
	if err != nil || b == nil {
		return err
	}
	if err = s.change(ctx, func() error { return b.Remove(ctx, network) }); backend.IsLost(err) {
		return nil
	}
	return err
}

// settle is for after links of networks that were removed have gone.
func (s *helperService) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.backend != nil {
		s.backend.Settle()
	}
}

// leases returns the leases of a network that is served.
func (s *helperService) leases(ctx context.Context, id spec.UUID) ([]lease.Record, error) {
	b, err := s.present(ctx)
	if err != nil || b == nil {
		return nil, err
	}
	var all []lease.Record
	err = s.ask(ctx, func() (err error) {
		all, err = b.Leases(ctx, id)
		return err
	})
	return all, err
}

// lookup asks the DNS of a network that is served.
func (s *helperService) lookup(ctx context.Context, id spec.UUID, name, kind string) (helper.Answer, error) {
	b, err := s.open(ctx)
	if err != nil {
		return helper.Answer{}, err
	}
	var a helper.Answer
	err = s.ask(ctx, func() (err error) {
		a, err = b.Lookup(ctx, id, name, kind)
		return err
	})
	return a, err
}

// damaged returns how many lines of lease files could not be read, of networks that have such.
func (s *helperService) damaged(ctx context.Context) (map[spec.UUID]int, error) {
	s.mu.Lock()
	b := s.backend
	s.mu.Unlock()
	if b == nil {
		return nil, nil
	}
	return b.Damaged(ctx)
}

// forget removes the leases of a network that will not come back.
func (s *helperService) forget(ctx context.Context, id spec.UUID) error {
	b, err := s.present(ctx)
	if err != nil {
		return err
	}
	if b == nil {
		return helper.ForgetLeases(s.options, id)
	}
	return b.Forget(id)
}

// stopIfIdle ends the helper if it serves nothing, and removes its directory, with the files that a failed start left there.
// The helper must not be opened at the same time.
func (s *helperService) stopIfIdle(ctx context.Context) error {
	if _, err := s.options.Kernel.ReadDir(s.options.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	b, err := s.present(ctx)
	if err != nil {
		return err
	}
	if b != nil {
		serves, err := b.Observe(ctx)
		if err != nil && !backend.IsLost(err) || len(serves) > 0 {
			return err
		}
	}
	for {
		s.close()
		if done, err := s.stop(ctx); done {
			return err
		}
	}
}

// stop ends the helper, unless another goroutine has found it again since it was closed: that goroutine would replace it.
func (s *helperService) stop(ctx context.Context) (done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.backend != nil {
		return false, nil
	}
	if err := backend.Stop(ctx, s.options); err != nil {
		return true, fmt.Errorf("stop the network helper: %w", err)
	}
	return true, s.options.Kernel.RemoveAll(s.options.Dir)
}

// close lets go of the helper, which goes on answering.
func (s *helperService) close() {
	s.mu.Lock()
	cancel := s.cancel
	s.backend, s.cancel = nil, nil
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	s.beside.Wait()
}
