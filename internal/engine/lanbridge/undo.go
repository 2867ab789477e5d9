package lanbridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"taproom/internal/network/lan"
)

// Undo gives the NIC back what its bridge has, and the configuration back what it was: during the trial, or at any time later.
func (m *Mover) Undo(ctx context.Context, bridge string) (Bridge, time.Duration, error) {
	ctx = context.WithoutCancel(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.of(bridge)
	if err != nil {
		return Bridge{}, 0, err
	}
	began := time.Now()
	if r.State == Kept {
		if err := m.fromBridge(r); err != nil {
			return Bridge{}, 0, err
		}
	}
	shown := m.shown(r)
	shown.Left = 0
	r.State, r.Boot = Undoing, m.boot
	if err := m.put(r); err != nil {
		return Bridge{}, 0, err
	}
	m.disarm(bridge)
	if err := m.undo(ctx, r); err != nil {
		m.again(r, err)
		return Bridge{}, 0, err
	}
	m.tell(bridge, "")
	return shown, time.Since(began), nil
}

// fromBridge takes what the NIC is to get from what the bridge has by now: addresses may have changed since it was made, and the
// machine may have booted.
func (m *Mover) fromBridge(r *record) error {
	s, err := lan.Look(m.Kernel, r.NIC, r.Bridge)
	if err != nil {
		return err
	}
	if ports := s.Ports(); len(ports) > 0 {
		return fmt.Errorf("%w: on bridge %s are %s; stop the guests, or move them to another bridge, first", ErrRefused, r.Bridge, strings.Join(ports, ", "))
	}
	if s.Bridge.Link.Index == 0 { // there is nothing to take
		r.Before = lan.Current(s, r.Bridge)
		return nil
	}
	r.Before = lan.Unbridged(s, r.Before)
	return nil
}

// undo goes back. Files that somebody has changed stay, and are told of; that keeps nothing else from going back.
func (m *Mover) undo(ctx context.Context, r *record) error {
	files := m.restore(r.Files)
	if err := m.back(ctx, r); err != nil {
		return errors.Join(err, files)
	}
	if files != nil {
		m.Problem(fmt.Sprintf("bridge %s of %s was undone, but for its configuration: %v", r.Bridge, r.NIC, files))
	}
	return nil
}
