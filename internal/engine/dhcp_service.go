package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"taproom/internal/network/helper"
	"taproom/internal/network/helper/backend"
	"taproom/internal/network/lease"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// dhcpService is the helper process as a plan sees it. The process is there while a network needs it and no longer.
type dhcpService struct {
	options helper.HelperOptions
	lost    func() // called when the helper ended unasked and another one is there, which serves nothing yet
	fail    func(error)

	mu      sync.Mutex
	backend *backend.Backend   // nil while nothing needs it
	cancel  context.CancelFunc // ends what runs beside the backend
	beside  sync.WaitGroup
}

var _ state.DHCPBackend = (*dhcpService)(nil)

// open returns the helper, and starts one when there is none.
func (s *dhcpService) open(ctx context.Context) (*backend.Backend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.backend != nil {
		return s.backend, nil
	}
	b, err := backend.Open(ctx, s.options)
	if err != nil {
		return nil, err
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.backend, s.cancel = b, cancel
	s.beside.Go(func() { _ = b.Run(own) })
	s.beside.Go(func() { s.listen(own, b) })
	return b, nil
}

// listen passes on that a helper was replaced. Leases are read when somebody asks.
func (s *dhcpService) listen(ctx context.Context, b *backend.Backend) {
	for {
		select {
		case <-b.Events():
		case err := <-b.Restarted():
			if err != nil {
				s.fail(err)
			} else {
				s.lost()
			}
		case <-ctx.Done():
			return
		}
	}
}

// present returns the helper if there is one, running now or left by an earlier daemon.
func (s *dhcpService) present(ctx context.Context) (*backend.Backend, error) {
	s.mu.Lock()
	b := s.backend
	s.mu.Unlock()
	if b != nil {
		return b, nil
	}
	if _, err := s.options.Kernel.ReadDir(s.options.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return s.open(ctx)
}

// Observe implements state.DHCPBackend.
func (s *dhcpService) Observe(ctx context.Context) (map[string]state.Service, error) {
	b, err := s.present(ctx)
	if err != nil || b == nil {
		return nil, err
	}
	return b.Observe(ctx)
}

// Set implements state.DHCPBackend.
func (s *dhcpService) Set(ctx context.Context, network string, sv state.Service, index int) error {
	b, err := s.open(ctx)
	if err != nil {
		return err
	}
	return b.Set(ctx, network, sv, index)
}

// Remove implements state.DHCPBackend.
func (s *dhcpService) Remove(ctx context.Context, network string) error {
	b, err := s.present(ctx)
	if err != nil || b == nil {
		return err
	}
	return b.Remove(ctx, network)
}

// leases returns the leases of a network.
func (s *dhcpService) leases(ctx context.Context, id spec.UUID) ([]lease.Record, error) {
	b, err := s.present(ctx)
	if err != nil || b == nil {
		return nil, err
	}
	return b.Leases(ctx, id)
}

// forget removes the leases of a network that will not come back.
func (s *dhcpService) forget(ctx context.Context, id spec.UUID) error {
	b, err := s.present(ctx)
	if err != nil {
		return err
	}
	if b == nil {
		return helper.ForgetLeases(s.options, id)
	}
	return b.Forget(id)
}

// stopIfIdle ends the helper when it serves nothing, and removes its directory. Nobody may be opening it meanwhile.
func (s *dhcpService) stopIfIdle(ctx context.Context) error {
	b, err := s.present(ctx)
	if err != nil || b == nil {
		return err
	}
	serves, err := b.Observe(ctx)
	if err != nil || len(serves) > 0 {
		return err
	}
	s.close()
	if err := backend.Stop(ctx, s.options); err != nil {
		return fmt.Errorf("stop the DHCP helper: %w", err)
	}
	return s.options.Kernel.RemoveAll(s.options.Dir)
}

// close lets go of the helper, which goes on answering.
func (s *dhcpService) close() {
	s.mu.Lock()
	cancel := s.cancel
	s.backend, s.cancel = nil, nil
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	s.beside.Wait()
}
