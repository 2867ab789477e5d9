package state

import (
	"context"
	"errors"
	"slices"
	"strings"

	"taproom/internal/host"
)

// SetReceive has a macvtap take every frame, or every one for a group, or no longer, as its guest says.
type SetReceive struct {
	creates
	Link                      target
	Promiscuous, AllMulticast bool
}

// String implements Step.
func (s SetReceive) String() string {
	how := map[bool]string{true: "on", false: "off"}
	return shell("ip", "link", "set", "dev", s.Link.Name, "promisc", how[s.Promiscuous], "allmulticast", how[s.AllMulticast])
}

// Apply implements Step.
func (s SetReceive) Apply(_ context.Context, r *Run) error {
	i, err := r.index(s.Link.Name, s.Link.Index)
	if err != nil {
		return err
	}
	return r.Kernel.SetReceive(i, s.Promiscuous, s.AllMulticast)
}

// SetHears has a macvtap take frames for one more address, or with Gone no longer.
type SetHears struct {
	Link target
	MAC  string
	Gone bool
}

// Deletes implements Step.
func (s SetHears) Deletes() bool { return s.Gone }

// String implements Step.
func (s SetHears) String() string {
	return shell("bridge", "fdb", map[bool]string{true: "delete", false: "add"}[s.Gone], s.MAC, "dev", s.Link.Name, "self")
}

// Apply implements Step.
func (s SetHears) Apply(_ context.Context, r *Run) error {
	i, err := r.index(s.Link.Name, s.Link.Index)
	if err != nil {
		return err
	}
	if s.Gone {
		return r.Kernel.DelHears(i, s.MAC)
	}
	return r.Kernel.AddHears(i, s.MAC)
}

// joinedByKernels are groups that a kernel has every link join by itself. They are not left: it counts who did.
func joinedByKernels(mac string) bool {
	return mac == "33:33:00:00:00:01" || mac == "01:00:5e:00:00:01"
}

// receive are the steps from what a macvtap takes to what its guest says that it is to take.
func receive(link target, have, want Macvlan) Plan {
	if !want.Told {
		return nil
	}
	var p Plan
	if have.Promiscuous != want.Promiscuous || have.AllMulticast != want.AllMulticast {
		p = append(p, SetReceive{Link: link, Promiscuous: want.Promiscuous, AllMulticast: want.AllMulticast})
	}
	was, is := strings.Fields(have.Hears), strings.Fields(want.Hears)
	for _, mac := range is {
		if !slices.Contains(was, mac) {
			p = append(p, SetHears{Link: link, MAC: mac})
		}
	}
	for _, mac := range was {
		if !slices.Contains(is, mac) && !joinedByKernels(mac) {
			p = append(p, SetHears{Link: link, MAC: mac, Gone: true})
		}
	}
	return p
}

// told reads what macvtaps take frames for whose guests say that.
func (o *Observed) told(e *Env, s Scope) error {
	for _, name := range s.Told {
		m, ok := o.Macvlans[name]
		if !ok {
			continue
		}
		macs, err := e.Kernel.Hears(o.Index[name])
		if errors.Is(err, host.ErrPartial) {
			o.Partial = true
		} else if err != nil {
			return err
		}
		m.Hears = strings.Join(macs, " ")
		o.Macvlans[name] = m
	}
	return nil
}
