package engine

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/api/virterr"
	"taproom/internal/host"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// directPort is where a macvtap lies.
type directPort struct {
	Lower string `json:"lower"` // the host's link
	Mode  string `json:"mode"`  // libvirt's word
	// LowerMAC is the address that the link had before mode passthrough gave it the guest's.
	LowerMAC string `json:"lower_mac,omitempty"`
}

// mode is the kernel's.
func (d *directPort) mode() host.MacvlanMode {
	switch d.Mode {
	case "bridge":
		return host.MacvlanBridge
	case "private":
		return host.MacvlanPrivate
	case "passthrough":
		return host.MacvlanPassthrough
	}
	return host.MacvlanVEPA
}

// onLower finds the link that a macvtap goes on, and refuses one that the kernel would, or that leads elsewhere.
func (p placement) onLower(doc *spec.Domain, nic spec.Interface, to port) (*directPort, error) {
	name := nic.Source.Dev
	refuse := func(code virterr.Code, format string, args ...any) error {
		return virterr.New(code, "domain '%s': NIC %s: "+format, append([]any{doc.Name, nic.MAC.Address}, args...)...)
	}
	l, err := p.e.k.LinkByName(name)
	switch {
	case errors.Is(err, host.ErrNoLink):
		return nil, refuse(virterr.SystemError, "there is no link %s; name one of the host's (ip link)", name)
	case err != nil:
		return nil, refuse(virterr.SystemError, "link %s: %w", name, err)
	case l.Kind == "macvtap" || l.Kind == "macvlan":
		return nil, refuse(virterr.ConfigUnsupported, "%s is itself a %s; use the link that it lies on, %s", name, l.Kind, p.e.linkName(l.Lower))
	case l.Kind == "bridge":
		return nil, refuse(virterr.ConfigUnsupported, "%s is a bridge; use <interface type='bridge'> with <source bridge='%s'/>", name, name)
	case len(l.MAC) != len("00:00:00:00:00:00") || strings.Trim(l.MAC, "0:") == "":
		return nil, refuse(virterr.ConfigUnsupported, "%s is no Ethernet link; name one that is", name)
	case to.MTU > l.MTU:
		return nil, refuse(virterr.ConfigUnsupported, "its MTU of %d is more than that of %s, %d; make it less, or that one more", to.MTU, name, l.MTU)
	}
	if err := p.e.freeOfMasters(l, refuse); err != nil {
		return nil, err
	}
	d := &directPort{Lower: name, Mode: nic.Source.Mode}
	if d.mode() != host.MacvlanPassthrough {
		if l.MAC == to.MAC {
			return nil, refuse(virterr.ConfigUnsupported, "%s itself has this address; choose another one, or mode='passthrough'", name)
		}
		return d, nil
	}
	others, err := p.e.macvlansOn(l)
	if err != nil {
		return nil, refuse(virterr.SystemError, "look for what is on %s: %w", name, err)
	}
	if len(others) > 0 {
		return nil, refuse(virterr.SystemError, "mode='passthrough' needs %s for itself, and %s; stop that, or use another link", name, others)
	}
	d.LowerMAC = l.MAC
	return d, nil
}

// freeOfMasters refuses a link that hands all its frames to another one.
func (e *Engine) freeOfMasters(l host.Link, refuse func(virterr.Code, string, ...any) error) error {
	if l.Master == 0 {
		return nil
	}
	m, err := e.k.LinkByIndex(l.Master)
	switch {
	case errors.Is(err, host.ErrNoLink):
		return nil
	case err != nil:
		return refuse(virterr.SystemError, "the master of %s: %w", l.Name, err)
	case m.Kind == "bridge":
		return refuse(virterr.ConfigUnsupported, "%s is a port of bridge %s; use <interface type='bridge'> with <source bridge='%s'/>, or take it off", l.Name, m.Name, m.Name)
	case m.Kind == "openvswitch":
		return refuse(virterr.ConfigUnsupported, "%s is a port of Open vSwitch; name the switch with type='bridge', or take it off", l.Name)
	case m.Kind == "bond" || m.Kind == "team":
		return refuse(virterr.ConfigUnsupported, "%s is a part of %s; use <source dev='%s'/>", l.Name, m.Name, m.Name)
	}
	return nil
}

// linkName names a link in messages.
func (e *Engine) linkName(index int) string {
	l, err := e.k.LinkByIndex(index)
	if err != nil {
		return "which is in another network namespace"
	}
	return l.Name
}

// usedBy are links on another one.
type usedBy []string

// String is a clause: "macvtap0 of domain 'a' is on it".
func (u usedBy) String() string {
	verb := " is on it"
	if len(u) > 1 {
		verb = " are on it"
	}
	return strings.Join(u, ", ") + verb
}

// macvlansOn lists the macvlans and macvtaps on a link.
func (e *Engine) macvlansOn(lower host.Link) (usedBy, error) {
	links, err := e.k.Links()
	if err != nil && !errors.Is(err, host.ErrPartial) {
		return nil, err
	}
	var out usedBy
	for _, l := range links {
		if l.Lower != lower.Index || l.Kind != "macvlan" && l.Kind != "macvtap" {
			continue
		}
		what := l.Name
		if owner := e.ownerOf(l); owner != "" {
			what += " of domain '" + owner + "'"
		}
		out = append(out, what+" (mode "+l.Mode.String()+")")
	}
	return out, nil
}

// ownerOf is the guest that a link belongs to; "" for one that is not ours.
func (e *Engine) ownerOf(l host.Link) string {
	if l.Group != e.cfg.Identity.LinkGroup {
		return ""
	}
	for _, d := range e.domains.all() {
		if l.Alias == state.Alias(d.uuid.String()) {
			return d.label
		}
	}
	return ""
}

// explainDirect says what the kernel's refusal of a macvtap means.
func (e *Engine) explainDirect(err error) error {
	var failed *state.StepError
	if !errors.As(err, &failed) || !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EBUSY) {
		return err
	}
	switch s := failed.Step.(type) {
	case state.AddMacvlan:
		l, lerr := e.k.LinkByName(s.Lower.Name)
		if lerr != nil {
			return err
		}
		if others, lerr := e.macvlansOn(l); lerr == nil && len(others) > 0 {
			return virterr.New(virterr.SystemError, "%s takes no more macvtaps: %s; a link in mode passthrough has one, and a program may have taken it: %w", l.Name, others, err)
		}
		return virterr.New(virterr.SystemError, "%s takes no macvtap: something else has its frames; use another link: %w", l.Name, err)
	case state.SetLink:
		l, lerr := e.k.LinkByName(s.Link.Name)
		if lerr != nil || l.Kind != "macvtap" || !errors.Is(err, unix.EBUSY) {
			return err
		}
		return virterr.New(virterr.SystemError, "another link on %s has the address %s already; choose another one: %w", e.linkName(l.Lower), l.MAC, err)
	}
	return err
}

// macvtapState is what a record's macvtaps should be on the host.
func macvtapState(r record) state.State {
	s := state.State{Macvlans: map[string]state.Macvlan{}, Lowers: map[string]state.Lower{}}
	for _, p := range r.Ports {
		if p.Direct == nil {
			continue
		}
		m := state.Macvlan{
			Owner: r.UUID.String(), Lower: p.Direct.Lower, Tap: true, Mode: p.Direct.mode(), MAC: p.MAC, MTU: p.MTU, NoIPv6: true, AllMulticast: true, Up: true, Queues: p.Queues,
		}
		p.told(&m)
		s.Macvlans[p.Name] = m
		s.Lowers[p.Direct.Lower] = state.Lower{Up: true} // libvirt brings it up too, and leaves it so
	}
	return s
}

// giveBackAddresses gives links the address back that mode passthrough changed. Today's kernels do that
// themselves, when the macvtap goes.
func (e *Engine) giveBackAddresses(ctx context.Context, r record) error {
	lowers := map[string]state.Lower{}
	for _, p := range r.Ports {
		if p.Direct != nil && p.Direct.LowerMAC != "" {
			lowers[p.Direct.Lower] = state.Lower{MAC: p.Direct.LowerMAC, Lent: p.address()}
		}
	}
	if len(lowers) == 0 {
		return nil
	}
	want := state.State{Lowers: lowers}
	_, err := e.converge(ctx, want, want.Scope())
	return err
}
