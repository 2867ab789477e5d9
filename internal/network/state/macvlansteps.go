package state

import (
	"context"
	"errors"
	"strconv"

	"taproom/internal/host"
)

// AddMacvlan makes a macvlan or macvtap, down and without label.
type AddMacvlan struct {
	creates
	Spec  host.MacvlanSpec // without Lower
	Lower target
}

// String implements Step.
func (s AddMacvlan) String() string {
	words := []string{"ip", "link", "add", "link", s.Lower.Name, "name", s.Spec.Name}
	if s.Spec.MAC != "" {
		words = append(words, "address", s.Spec.MAC)
	}
	if s.Spec.MTU != 0 {
		words = append(words, "mtu", strconv.Itoa(s.Spec.MTU))
	}
	words = append(words, "group", strconv.FormatUint(uint64(s.Spec.Group), 10), "type", macvlanKind(s.Spec.Tap), "mode", s.Spec.Mode.String())
	return shell(words...)
}

func macvlanKind(tap bool) string {
	if tap {
		return "macvtap"
	}
	return "macvlan"
}

// Apply implements Step.
func (s AddMacvlan) Apply(_ context.Context, r *Run) error { return alone(r, s) }

func (s AddMacvlan) send(p *host.Pipeline, r *Run, done func(error)) {
	var err error
	if s.Spec.Lower, err = r.lookup(s.Lower); err != nil {
		done(err)
		return
	}
	p.CreateMacvlan(s.Spec, func(index int, err error) {
		if err == nil {
			r.made[s.Spec.Name] = index
		}
		done(taken(s.Spec.Name, err))
	})
}

func (s AddMacvlan) about() string { return s.Spec.Name }

// OpenMacvtap opens the descriptors of a macvtap that its plan made. They are in Env.Taps afterwards.
type OpenMacvtap struct {
	creates
	Link   target
	Queues int
}

// String implements Step.
func (s OpenMacvtap) String() string {
	return "# no command: descriptors of " + s.Link.Name + " for the guest"
}

// Apply implements Step.
func (s OpenMacvtap) Apply(_ context.Context, r *Run) error {
	index, err := r.index(s.Link.Name, s.Link.Index)
	if err != nil {
		return err
	}
	t, err := r.Kernel.OpenMacvtap(s.Link.Name, index, s.Queues)
	if err != nil {
		return err
	}
	// One of that name that somebody else removed is dead: its descriptors lead nowhere.
	if err := r.dropTap(s.Link.Name); err != nil {
		return errors.Join(err, t.Close())
	}
	if r.Taps == nil {
		r.Taps = map[string]*host.Tap{}
	}
	r.Taps[s.Link.Name] = t
	return nil
}

func (s OpenMacvtap) about() string { return s.Link.Name }

// SetMacvlanMode changes whom a macvlan or macvtap reaches.
type SetMacvlanMode struct {
	creates
	Link target
	Tap  bool
	Mode host.MacvlanMode
}

// String implements Step.
func (s SetMacvlanMode) String() string {
	return shell("ip", "link", "set", "dev", s.Link.Name, "type", macvlanKind(s.Tap), "mode", s.Mode.String())
}

// Apply implements Step.
func (s SetMacvlanMode) Apply(_ context.Context, r *Run) error {
	return r.Kernel.SetMacvlanMode(s.Link.Index, s.Tap, s.Mode)
}
