package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"taproom/internal/network/dhcp"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// dhcpService is the helper process as a plan sees it. The process is there while a network needs it and no longer.
type dhcpService struct {
	options dhcp.HelperOptions
	lost    func() // called, from a goroutine of its own, when the helper ended unasked

	mu     sync.Mutex
	helper *dhcp.Helper
	watch  sync.WaitGroup
}

var _ state.DHCPBackend = (*dhcpService)(nil)

// open returns the helper, and starts one when there is none.
func (s *dhcpService) open(ctx context.Context) (*dhcp.Helper, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.helper != nil {
		select {
		case <-s.helper.Lost():
			s.drop()
		default:
			return s.helper, nil
		}
	}
	h, err := dhcp.OpenHelper(ctx, s.options)
	if err != nil {
		return nil, err
	}
	s.helper = h
	s.watch.Go(func() { s.tell(h) })
	return h, nil
}

// tell waits for the end of a helper; one that ends while it is still ours ended unasked.
func (s *dhcpService) tell(h *dhcp.Helper) {
	for {
		select {
		case <-h.Lost():
			s.mu.Lock()
			unasked := s.helper == h
			s.mu.Unlock()
			if unasked {
				s.lost()
			}
			return
		case <-h.Events(): // leases are read when somebody asks
		}
	}
}

// drop forgets a helper that is gone. The lock is held.
func (s *dhcpService) drop() {
	_ = s.helper.Close() // there is nobody left to close
	s.helper = nil
}

// present returns the helper if there is one, running now or left by an earlier daemon.
func (s *dhcpService) present(ctx context.Context) (*dhcp.Helper, error) {
	s.mu.Lock()
	have := s.helper != nil
	s.mu.Unlock()
	if !have {
		if _, err := s.options.Kernel.ReadDir(s.options.Dir); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return s.open(ctx)
}

// Observe implements state.DHCPBackend.
func (s *dhcpService) Observe(ctx context.Context) (map[string]state.Service, error) {
	h, err := s.present(ctx)
	if err != nil || h == nil {
		return nil, err
	}
	networks, err := h.Observe(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[string]state.Service, len(networks))
	for _, n := range networks {
		out[n.UUID.String()] = state.Service{Bridge: n.Bridge, Fingerprint: n.Fingerprint, Index: n.Index}
	}
	return out, nil
}

// Set implements state.DHCPBackend.
func (s *dhcpService) Set(ctx context.Context, _ string, sv state.Service, index int) error {
	var n dhcp.Network
	if err := json.Unmarshal([]byte(sv.Config), &n); err != nil {
		return fmt.Errorf("read the DHCP configuration of bridge %s back: %w", sv.Bridge, err)
	}
	h, err := s.open(ctx)
	if err != nil {
		return err
	}
	return h.Set(ctx, n, index)
}

// Remove implements state.DHCPBackend.
func (s *dhcpService) Remove(ctx context.Context, network string) error {
	id, err := spec.ParseUUID(network)
	if err != nil {
		return err
	}
	h, err := s.present(ctx)
	if err != nil || h == nil {
		return err
	}
	return h.Remove(ctx, id)
}

// leases returns the leases of a network.
func (s *dhcpService) leases(ctx context.Context, id spec.UUID) ([]dhcp.Lease, error) {
	h, err := s.present(ctx)
	if err != nil || h == nil {
		return nil, err
	}
	return h.Leases(ctx, id)
}

// forget removes the leases of a network that will not come back.
func (s *dhcpService) forget(ctx context.Context, id spec.UUID) error {
	h, err := s.present(ctx)
	if err != nil {
		return err
	}
	if h != nil {
		return h.Forget(id)
	}
	return dhcp.ForgetLeases(s.options, id)
}

// stopIfIdle ends the helper when it serves nothing, and removes its directory.
func (s *dhcpService) stopIfIdle(ctx context.Context) error {
	h, err := s.present(ctx)
	if err != nil || h == nil {
		return err
	}
	serves, err := h.Observe(ctx)
	if err != nil || len(serves) > 0 {
		return err
	}
	s.mu.Lock()
	if s.helper != h {
		s.mu.Unlock()
		return nil
	}
	s.helper = nil // so that nobody takes its end for an accident
	s.mu.Unlock()
	if err := h.Stop(ctx); err != nil {
		return fmt.Errorf("stop the DHCP helper: %w", err)
	}
	return s.options.Kernel.RemoveAll(s.options.Dir)
}

// close lets go of the helper, which goes on answering.
func (s *dhcpService) close() {
	s.mu.Lock()
	h := s.helper
	s.helper = nil
	s.mu.Unlock()
	if h != nil {
		_ = h.Close()
	}
	s.watch.Wait()
}
