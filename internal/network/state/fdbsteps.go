package state

import (
	"context"
	"errors"
	"slices"
	"strings"

	"taproom/internal/host"
)

// SetManaged has a bridge's port not learn addresses nor get frames for unknown ones, or do both again.
type SetManaged struct {
	creates
	Link target
	On   bool
}

// String implements Step.
func (s SetManaged) String() string {
	how := map[bool]string{true: "off", false: "on"}[s.On]
	return shell("bridge", "link", "set", "dev", s.Link.Name, "learning", how, "flood", how)
}

// Apply implements Step.
func (s SetManaged) Apply(_ context.Context, r *Run) error {
	i, err := r.index(s.Link.Name, s.Link.Index)
	if err != nil {
		return err
	}
	return r.Kernel.SetManaged(i, s.On)
}

// SetAddress says that an address is behind a bridge's port, or with Gone that it is not.
type SetAddress struct {
	Link target
	MAC  string
	Gone bool
}

// Deletes implements Step.
func (s SetAddress) Deletes() bool { return s.Gone }

// String implements Step.
func (s SetAddress) String() string {
	if s.Gone {
		return shell("bridge", "fdb", "delete", s.MAC, "dev", s.Link.Name, "master")
	}
	return shell("bridge", "fdb", "replace", s.MAC, "dev", s.Link.Name, "master", "static")
}

// Apply implements Step.
func (s SetAddress) Apply(_ context.Context, r *Run) error {
	i, err := r.index(s.Link.Name, s.Link.Index)
	if err != nil {
		return err
	}
	if s.Gone {
		return r.Kernel.DelFDB(i, s.MAC)
	}
	return r.Kernel.SetFDB(i, s.MAC)
}

// SetVLANs has a bridge look at VLAN tags, or not. A kernel that knows none on bridges does without.
type SetVLANs struct {
	creates
	Link target
	On   bool
}

// String implements Step.
func (s SetVLANs) String() string {
	on := map[bool]string{true: "1", false: "0"}[s.On]
	return shell("ip", "link", "set", "dev", s.Link.Name, "type", "bridge", "vlan_filtering", on) + " || true # not every kernel has it"
}

// Apply implements Step.
func (s SetVLANs) Apply(_ context.Context, r *Run) error {
	i, err := r.index(s.Link.Name, s.Link.Index)
	if err != nil {
		return err
	}
	err = r.Kernel.SetVLANFiltering(i, s.On)
	var missing *host.Missing
	if errors.As(err, &missing) {
		return nil
	}
	return err
}

// table are the steps from what a port's bridge was told of it to what it should be.
func table(link target, have, want Port) Plan {
	var p Plan
	if have.Managed != want.Managed {
		p = append(p, SetManaged{Link: link, On: want.Managed})
	}
	was, is := strings.Fields(have.Table), strings.Fields(want.Table)
	if !want.Managed {
		is = nil
	}
	for _, mac := range is {
		if !slices.Contains(was, mac) {
			p = append(p, SetAddress{Link: link, MAC: mac})
		}
	}
	for _, mac := range was {
		if !slices.Contains(is, mac) {
			p = append(p, SetAddress{Link: link, MAC: mac, Gone: true})
		}
	}
	return p
}

// observeTable reads what a port's bridge was told of it, where it learns nothing by itself.
func (o *Observed) observeTable(k *host.Kernel, l host.Link, p *Port) error {
	p.Managed = l.Master != 0 && l.NoLearning && l.NoFlood
	if !p.Managed {
		return nil
	}
	macs, err := k.StaticFDB(l.Index, l.Master)
	if errors.Is(err, host.ErrPartial) {
		o.Partial = true
	} else if err != nil {
		if _, gone := k.LinkByIndex(l.Index); errors.Is(gone, host.ErrNoLink) {
			return nil
		}
		return err
	}
	p.Table = strings.Join(macs, " ")
	return nil
}
