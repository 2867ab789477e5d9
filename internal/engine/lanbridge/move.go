package lanbridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taproom/internal/network/lan"
	"taproom/internal/network/lanfiles"
)

// Proposal is what a move would do.
type Proposal struct {
	NIC, Bridge string
	Steps       []string
	Notes       []string
	Manager     string
	Files       []lanfiles.Change // that are written once it is kept
	Then        string            // the command that has the manager take them up
	Later       []string          // notes on the files
}

// plan looks and refuses.
func (m *Mover) plan(nic, bridge string) (*lan.Seen, Proposal, error) {
	p := Proposal{NIC: nic, Bridge: bridge}
	s, err := lan.Look(m.Kernel, nic, bridge)
	if err != nil {
		return nil, p, err
	}
	if err := lan.Refuse(s, nic, bridge); err != nil {
		return nil, p, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	for _, step := range lan.Plan(s, lan.Current(s, bridge).WithBridge()) {
		p.Steps = append(p.Steps, step.String())
	}
	files, err := m.files(s, bridge)
	if errors.Is(err, lanfiles.ErrUnmanaged) {
		return nil, p, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err != nil {
		files = lanfiles.Result{Manager: files.Manager, Notes: []string{fmt.Sprintf("no configuration is written: %v", err)}}
	}
	p.Manager, p.Files, p.Then, p.Later = files.Manager, files.Changes, files.Then, files.Notes
	p.Notes = lan.Notes(s, bridge)
	return s, p, nil
}

// files asks what would have to be written. Errors of reading count as what is not understood.
func (m *Mover) files(s *lan.Seen, bridge string) (lanfiles.Result, error) {
	l := s.NIC.Link
	return lanfiles.Persist(m.root, lanfiles.Move{NIC: l.Name, Index: l.Index, Kind: l.Kind, Bridge: bridge, MAC: l.MAC, MTU: l.MTU})
}

// Propose says what a move would do. It changes nothing.
func (m *Mover) Propose(nic, bridge string) (Proposal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, p, err := m.plan(nic, bridge)
	return p, err
}

// Move makes the bridge, on trial. It goes on to its end, or back, whatever becomes of who asked.
func (m *Mover) Move(ctx context.Context, nic, bridge string, trial time.Duration) (Proposal, time.Duration, error) {
	ctx = context.WithoutCancel(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.free(nic, bridge); err != nil {
		return Proposal{}, 0, err
	}
	s, p, err := m.plan(nic, bridge)
	if err != nil {
		return p, 0, err
	}
	r := &record{
		Bridge: bridge, NIC: nic, State: Moving, Boot: m.boot, Before: lan.Current(s, bridge),
		Manager: p.Manager, Files: p.Files, Then: p.Then, Notes: p.Later,
	}
	if err := m.put(r); err != nil {
		return p, 0, err
	}
	want := r.Before.WithBridge()
	took, err := lan.Apply(ctx, m.Kernel, s, lan.Plan(s, want), false)
	if err == nil {
		r.State = Waiting
		r.Deadline, err = m.Kernel.Uptime()
		r.Deadline += int64(trial)
		err = errors.Join(err, m.put(r))
	}
	if err != nil {
		if berr := m.back(ctx, r); berr != nil {
			m.again(r, berr)
			return p, 0, errors.Join(fmt.Errorf("make bridge %s of %s: %w", bridge, nic, err), berr)
		}
		return p, 0, fmt.Errorf("make bridge %s of %s, which is as it was: %w", bridge, nic, err)
	}
	m.arm(bridge, trial)
	m.Log.Info("a bridge is on trial", "bridge", bridge, "nic", nic, "for", trial, "switched_in", took)
	return p, took, nil
}

// free looks for a bridge of that NIC or of that name.
func (m *Mover) free(nic, bridge string) error {
	all, err := m.all()
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.State == Kept && r.Bridge != bridge {
			continue // its NIC is a port, which is refused with better words, or the bridge has gone
		}
		if r.NIC == nic || r.Bridge == bridge {
			return fmt.Errorf("%w: bridge %s of %s is %s: taproom net bridge --undo %s ends that", ErrRefused, r.Bridge, r.NIC, r.State, r.Bridge)
		}
	}
	return nil
}

// Bridge is one that was made here.
type Bridge struct {
	NIC, Bridge string
	State       State
	Left        time.Duration // of a trial
	Manager     string
	Then        string
	Notes       []string
	Lease       string // of one that is kept: what is left to do so that its address is prolonged
	Files       []lanfiles.Change
}

func (m *Mover) shown(r *record) Bridge {
	b := Bridge{NIC: r.NIC, Bridge: r.Bridge, State: r.State, Manager: r.Manager, Then: r.Then, Notes: r.Notes, Files: r.Files}
	if r.State == Waiting {
		b.Left = m.left(r)
	}
	return b
}

// Bridges lists them, with the links that one can be made of.
func (m *Mover) Bridges() ([]Bridge, []string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all, err := m.all()
	if err != nil {
		return nil, nil, err
	}
	var out []Bridge
	for _, r := range all {
		out = append(out, m.shown(r))
	}
	links, err := m.Kernel.Links()
	return out, lan.Candidates(links), err
}

// Trials lists the bridges that are on trial, as far as that is known without waiting: while something is being moved, none.
func (m *Mover) Trials() []Bridge {
	if !m.mu.TryLock() {
		return nil
	}
	defer m.mu.Unlock()
	if len(m.trials) == 0 {
		return nil
	}
	all, err := m.all()
	if err != nil {
		return nil // whoever asks for bridges is told
	}
	var out []Bridge
	for _, r := range all {
		if r.State == Waiting {
			out = append(out, m.shown(r))
		}
	}
	return out
}

// Keep ends a trial well: the bridge stays, also after the next boot where the configuration can be written.
func (m *Mover) Keep(bridge string) (Bridge, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.of(bridge)
	if err != nil {
		return Bridge{}, err
	}
	if r.State == Kept {
		return m.kept(r), nil
	}
	if r.State != Waiting {
		return Bridge{}, fmt.Errorf("%w: bridge %s is %s", ErrRefused, bridge, r.State)
	}
	r.State = Keeping
	if err := m.put(r); err != nil {
		return Bridge{}, err
	}
	m.disarm(bridge)
	if err := m.write(r); err != nil {
		return Bridge{}, err
	}
	return m.kept(r), nil
}

// kept is what is shown of a bridge that stays, with what is left to do.
func (m *Mover) kept(r *record) Bridge {
	b := m.shown(r)
	s, err := lan.Look(m.Kernel, r.NIC, r.Bridge)
	if err != nil {
		m.Log.Warn("look whether a bridge has an address of a DHCP client", "bridge", r.Bridge, "error", err)
		return b
	}
	then := ""
	if len(r.Files) > 0 {
		then = r.Then
	}
	b.Lease = lan.Lease(s.Bridge.Addresses, r.Bridge, r.NIC, then)
	return b
}

// write writes the files of a move that is kept. What cannot be written keeps nobody from the bridge that he has by now.
func (m *Mover) write(r *record) error {
	for i, c := range r.Files {
		if err := m.file(c, c.Before, c.After, false); err != nil {
			back := m.restore(r.Files[:i])
			r.Notes = append(r.Notes, fmt.Sprintf("the configuration could not be written, so %s is gone after the next boot: %v", r.Bridge, errors.Join(err, back)))
			r.Files, r.Then = nil, ""
			break
		}
	}
	r.State = Kept
	return m.put(r)
}
