package state

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"taproom/internal/host"
)

// DeleteLink removes a bridge that was seen to be ours: the one with that index, if it still has our group, the name and
// the label it had then.
type DeleteLink struct {
	Link  target
	Owner string // "" when it was half-made
}

// Deletes implements Step.
func (DeleteLink) Deletes() bool { return true }

// String implements Step.
func (s DeleteLink) String() string { return shell("ip", "link", "delete", "dev", s.Link.Name) }

// Apply implements Step.
func (s DeleteLink) Apply(_ context.Context, r *Run) error {
	there, err := s.check(r)
	if err != nil || !there {
		return err
	}
	return r.Kernel.DeleteLink(s.Link.Index)
}

// check reports whether the link is still there, and refuses one that is not ours any more.
func (s DeleteLink) check(r *Run) (bool, error) {
	l, err := r.Kernel.LinkByIndex(s.Link.Index)
	if errors.Is(err, host.ErrNoLink) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	alias := ""
	if s.Owner != "" {
		alias = Alias(s.Owner)
	}
	if l.Group != r.Group && l.Group != leaving(r.Group) || l.Alias != alias || l.Name != s.Link.Name {
		return false, &ForeignError{Name: l.Name, Why: describe(l)}
	}
	return true, nil
}

// DeletePorts removes taps together, after each was looked at: one after the other takes 17 to 25 ms each.
type DeletePorts struct {
	Ports []DeleteLink
}

// Deletes implements Step.
func (DeletePorts) Deletes() bool { return true }

// String implements Step.
func (s DeletePorts) String() string {
	lines := make([]string, len(s.Ports))
	for i, p := range s.Ports {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Apply implements Step.
func (s DeletePorts) Apply(_ context.Context, r *Run) error {
	var indexes []int
	for _, p := range s.Ports {
		there, err := p.check(r)
		if err != nil {
			return err
		}
		if there {
			indexes = append(indexes, p.Link.Index)
		}
	}
	err := r.Kernel.DeleteLinks(leaving(r.Group), indexes)
	names := make([]string, len(s.Ports))
	for i, p := range s.Ports {
		names[i] = p.Link.Name
	}
	return errors.Join(err, r.dropTaps(names...))
}

// SetSysctl writes a setting. Old is what it was when it was observed; whoever carries the plan out writes that down
// first, since a setting cannot carry a label. One that is OfOurs, a link of ours, goes with the link instead.
type SetSysctl struct {
	creates
	Path, Value, Old string
	OfOurs           bool
}

// String implements Step.
func (s SetSysctl) String() string {
	// With slashes a dot in a link's name is not taken for a separator.
	return shell("sysctl", "-q", "-w", s.Path+"="+s.Value)
}

func (s SetSysctl) about() string {
	if !s.OfOurs {
		return ""
	}
	return path.Base(path.Dir(s.Path)) // net/ipv6/conf/LINK/setting
}

// Apply implements Step.
func (s SetSysctl) Apply(_ context.Context, r *Run) error {
	return r.Kernel.SetSysctl(s.Path, s.Value)
}

// ChangeElements adds and removes members of the firewall's sets, in one transaction.
type ChangeElements struct {
	Add, Del []Element
	render   func(add, del []Element) []string
}

// Deletes reports whether it only removes.
func (s ChangeElements) Deletes() bool { return len(s.Add) == 0 }

// String implements Step.
func (s ChangeElements) String() string { return strings.Join(s.render(s.Add, s.Del), "\n") }

// briefly is how many elements an error shows: a network with ports of the host has a thousand and more, and the commands for
// even one make all that it needs.
const briefly = 3

func (s ChangeElements) brief() string {
	var some []string
	for i, list := range [][]Element{s.Add, s.Del} {
		for _, e := range list[:min(len(list), briefly-len(some))] {
			some = append(some, [...]string{"add ", "delete "}[i]+e.Set+" "+e.Key)
		}
	}
	text := "firewall: " + strings.Join(some, ", ")
	if more := len(s.Add) + len(s.Del) - len(some); more > 0 {
		text += fmt.Sprintf(", and %d elements more", more)
	}
	return text
}

// Apply implements Step.
func (s ChangeElements) Apply(ctx context.Context, r *Run) error {
	return r.Firewall.Apply(ctx, s.Add, s.Del)
}

// SetService serves a network on its bridge.
type SetService struct {
	creates
	Network string
	Link    target
	Service Service
}

// String implements Step.
func (s SetService) String() string {
	return s.brief() + ": " + s.Service.Config
}

func (s SetService) brief() string {
	return "# no command: serve network " + s.Network + " on " + s.Link.Name
}

// Apply implements Step.
func (s SetService) Apply(ctx context.Context, r *Run) error {
	i, err := r.lookup(s.Link)
	if err != nil {
		return err
	}
	return r.Services.Set(ctx, s.Network, s.Service, i)
}

// RemoveService stops serving a network.
type RemoveService struct {
	Network, Bridge string
}

// Deletes implements Step.
func (RemoveService) Deletes() bool { return true }

// String implements Step.
func (s RemoveService) String() string {
	return "# no command: stop serving network " + s.Network + " on " + s.Bridge
}

// Apply implements Step.
func (s RemoveService) Apply(ctx context.Context, r *Run) error {
	return r.Services.Remove(ctx, s.Network)
}
