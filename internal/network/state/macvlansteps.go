package state

import (
	"context"
	"errors"
	"strconv"

	"taproom/internal/host"
)

// AddMacvlan makes a macvlan or macvtap, down and without label. A macvtap's descriptors are in Env.Taps afterwards.
type AddMacvlan struct {
	creates
	Spec   host.MacvlanSpec // without Lower
	Lower  target
	Queues int
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
	if !s.Spec.Tap {
		return shell(words...)
	}
	return shell(words...) + " # without a shell: descriptors for the guest"
}

func macvlanKind(tap bool) string {
	if tap {
		return "macvtap"
	}
	return "macvlan"
}

// Apply implements Step.
func (s AddMacvlan) Apply(_ context.Context, r *Run) error {
	var err error
	if s.Spec.Lower, err = r.lookup(s.Lower); err != nil {
		return err
	}
	index, err := r.Kernel.CreateMacvlan(s.Spec)
	if err != nil {
		return taken(s.Spec.Name, err)
	}
	r.made[s.Spec.Name] = index
	if !s.Spec.Tap {
		return nil
	}
	t, err := r.Kernel.OpenMacvtap(s.Spec.Name, index, s.Queues)
	if err != nil {
		return err
	}
	// One of that name that somebody else removed is dead: its descriptors lead nowhere.
	if err := r.dropTap(s.Spec.Name); err != nil {
		return errors.Join(err, t.Close())
	}
	if r.Taps == nil {
		r.Taps = map[string]*host.Tap{}
	}
	r.Taps[s.Spec.Name] = t
	return nil
}

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
