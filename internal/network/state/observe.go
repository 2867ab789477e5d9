package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"taproom/internal/host"
)

// Scope is what is looked at. What it does not name is neither seen nor planned.
type Scope struct {
	// All looks at everything of ours on the host, by a dump. Without it a request costs what it names.
	All      bool
	Bridges  []string
	Routes   bool // looks at those of the bridges, too
	Ports    []string
	Macvlans []string
	Lowers   []string // looked at only where they are named
	Told     []string // macvlans of which also Hears is looked at
	Sysctls  []string
	Elements []Element
	// AllElements looks at every element of the firewall.
	AllElements bool
	Networks    []string // whose services are looked at, by UUID
	Shapers     []string
	Shapes      []string // links of which is looked at what bounds them; with All those are all of ours
	// SwitchPorts are ports of Open vSwitch, SwitchBridges the bridges that they should be on. AllSwitchPorts looks at all of
	// ours; All does not, since whether the switch answers is no matter of the host's.
	SwitchPorts, SwitchBridges []string
	AllSwitchPorts             bool
	// Pattern tells names that only our allocators make: a link with our group, such a name and no alias is ours and
	// half-made. Names in Bridges, Ports and Macvlans count as such.
	Pattern func(name string) bool
	// Owner, where it is not "", is whose links alone are removed: a name may have become another's.
	Owner string
}

// Observed is what was found, with what is needed to change it.
type Observed struct {
	State
	Index   map[string]int    // of the links in State
	Foreign map[string]string // links that have a name of the scope and are not ours: what they are
	All     bool              // everything of ours was looked at
	Owner   string            // as the scope has it
	Partial bool              // something may have been missed: nothing is removed because of it
	// Advertised are links with routes that a router told us of, and that the kernel would drop when it begins to forward
	// IPv6. They are looked at only where that is asked for.
	Advertised []string

	AllSwitchPorts bool                    // every port of ours on Open vSwitch was looked at
	switchRows     map[string]string       // by port
	switchBridges  map[string]SwitchBridge // that exist
}

// Observe reads from the host what the scope names. An interrupted dump is no error; it makes the result partial.
func Observe(ctx context.Context, e *Env, s Scope) (Observed, error) {
	o := Observed{All: s.All, Owner: s.Owner, Index: map[string]int{}, Foreign: map[string]string{}, State: State{
		Bridges: map[string]Bridge{}, Ports: map[string]Port{}, Macvlans: map[string]Macvlan{}, Lowers: map[string]Lower{},
		Sysctls: map[string]string{}, Elements: map[Element]bool{}, Services: map[string]Service{},
		Shapers: map[string]Shaper{}, Shapes: map[string]Shape{},
	}}
	look := o.named
	if s.All {
		look = o.dump
	}
	// Another process answers this one, while the kernel is asked here.
	var beside sync.WaitGroup
	var unanswered error
	asking, leave := context.WithCancel(ctx)
	defer leave()
	beside.Go(func() { unanswered = o.services(asking, e, s) })
	err := inTurn(
		func() error { return look(e, s) },
		func() error { return o.routes(e, s) },
		func() error { return o.told(e, s) },
		func() error { return o.lowers(e, s) },
		func() error { return o.shapes(e, s) },
		func() error { return o.sysctls(e, s) },
		func() error { return o.firewall(ctx, e, s) },
		func() error { return o.switches(ctx, e, s) },
	)
	if err != nil {
		leave() // the answer is of no use, and one that hangs takes long
	}
	beside.Wait()
	if err = cmp.Or(err, unanswered); err != nil {
		return Observed{}, fmt.Errorf("observe the host: %w", err)
	}
	return o, nil
}

// inTurn looks at one thing after the other until a look fails.
func inTurn(looks ...func() error) error {
	for _, look := range looks {
		if err := look(); err != nil {
			return err
		}
	}
	return nil
}

// dump looks at every link.
func (o *Observed) dump(e *Env, s Scope) error {
	links, err := e.Kernel.Links()
	if o.Partial = errors.Is(err, host.ErrPartial); err != nil && !o.Partial {
		return err
	}
	addresses, err := e.Kernel.AllAddresses()
	if errors.Is(err, host.ErrPartial) {
		o.Partial = true
	} else if err != nil {
		return err
	}
	names := make(map[int]string, len(links))
	for _, l := range links {
		names[l.Index] = l.Name
	}
	for _, l := range links {
		kind := o.classify(e, s, l)
		if err := o.add(e, kind, l, names); err != nil {
			return err
		}
		if b, ok := o.Bridges[l.Name]; ok {
			b.split(addresses[l.Index])
			o.Bridges[l.Name] = b
		}
		o.hostAddresses(l.Name, addresses[l.Index])
	}
	return nil
}

// named looks at the links the scope names and no others.
func (o *Observed) named(e *Env, s Scope) error {
	names := map[int]string{}
	for _, name := range slices.Concat(s.Bridges, s.Ports, s.Macvlans, s.Shapers) {
		l, err := e.Kernel.LinkByName(name)
		if errors.Is(err, host.ErrNoLink) {
			continue
		}
		if err != nil {
			return err
		}
		names[l.Index] = l.Name
		kind := o.classify(e, s, l)
		if other := named(kind, l); other != 0 && names[other] == "" {
			m, err := e.Kernel.LinkByIndex(other)
			if err != nil && !errors.Is(err, host.ErrNoLink) {
				return err
			}
			names[other] = m.Name
		}
		if err := o.add(e, kind, l, names); err != nil {
			return err
		}
		if b, ok := o.Bridges[l.Name]; ok {
			if err := o.addresses(e, l.Name, b, l.Index); err != nil {
				return err
			}
		}
		if err := o.macvlanAddresses(e, l.Name); err != nil {
			return err
		}
	}
	return nil
}

// named is the index of the link that is observed by its name together with l.
func named(k kind, l host.Link) int {
	switch k {
	case port:
		return l.Master
	case macvlan:
		return l.Lower
	}
	return 0
}

func (o *Observed) addresses(e *Env, name string, b Bridge, index int) error {
	a, there, err := o.addressesOf(e, name, index)
	if err != nil {
		return err
	}
	if !there {
		delete(o.Bridges, name)
		return nil
	}
	b.split(a)
	o.Bridges[name] = b
	return nil
}

// addressesOf reads the addresses of a link; it is not there when it went meanwhile.
func (o *Observed) addressesOf(e *Env, name string, index int) (a []netip.Prefix, there bool, err error) {
	a, err = e.Kernel.Addresses(index)
	switch {
	case errors.Is(err, host.ErrNoLink):
		delete(o.Index, name)
		return nil, false, nil
	case errors.Is(err, host.ErrPartial):
		o.Partial = true
	case err != nil:
		return nil, false, err
	}
	return a, true, nil
}

// split puts the link-local addresses of IPv6 aside: the kernel makes them too, and not always matter.
func (b *Bridge) split(addresses []netip.Prefix) {
	b.Addresses, b.LinkLocal = nil, nil
	for _, a := range addresses {
		if a.Addr().Is6() && a.Addr().IsLinkLocalUnicast() {
			b.LinkLocal = append(b.LinkLocal, a)
			continue
		}
		b.Addresses = append(b.Addresses, a)
	}
}

// kind is what a link is to us.
type kind int

const (
	unrelated kind = iota
	bridge
	port
	macvlan
	shaper
)

// classify says what a link is. One that has a name of the scope and is not ours is noted.
func (o *Observed) classify(e *Env, s Scope, l host.Link) kind {
	asBridge, asPort, asMacvlan := slices.Contains(s.Bridges, l.Name), slices.Contains(s.Ports, l.Name), slices.Contains(s.Macvlans, l.Name)
	asShaper := slices.Contains(s.Shapers, l.Name)
	named := asBridge || asPort || asMacvlan || asShaper
	owner, labelled := strings.CutPrefix(l.Alias, aliasPrefix)
	labelled = labelled && owner != ""
	halfMade := l.Alias == "" && (named || s.Pattern != nil && s.Pattern(l.Name))
	if (l.Group == e.Group || l.Group == leaving(e.Group)) && (labelled || halfMade) {
		switch {
		case l.Kind == "bridge" && (asBridge || !named):
			return bridge
		case l.Kind == "tun" && (asPort || !named):
			return port
		case (l.Kind == "macvtap" || l.Kind == "macvlan") && (asMacvlan || !named):
			return macvlan
		case l.Kind == "ifb" && (asShaper || !named):
			return shaper
		}
	}
	if named {
		o.Foreign[l.Name] = describe(l)
	}
	return unrelated
}

func describe(l host.Link) string {
	what := l.Kind
	if what == "" {
		what = "device"
	}
	s := fmt.Sprintf("is a %s of group %d", what, l.Group)
	if l.Alias != "" {
		s += fmt.Sprintf(" with the alias %q", l.Alias)
	}
	return s
}

func (o *Observed) add(e *Env, k kind, l host.Link, names map[int]string) error {
	if k == unrelated {
		return nil
	}
	off, err := noIPv6(e.Kernel, l.Name)
	if err != nil {
		return err
	}
	owner := strings.TrimPrefix(l.Alias, aliasPrefix)
	o.Index[l.Name] = l.Index
	if k == bridge {
		quiet := false
		if !off {
			if quiet, err = isStatic(e.Kernel, l.Name); err != nil {
				return err
			}
		}
		fence, err := fence(e, l.Index)
		if err != nil {
			return err
		}
		o.Bridges[l.Name] = Bridge{Fence: fence, Owner: owner, MAC: l.MAC, MTU: l.MTU, STP: l.Bridge.STP, Delay: l.Bridge.Delay, NoIPv6: off, Static: quiet, Up: l.Up, VLANs: l.Bridge.VLANs, NoVLANs: !l.Bridge.KnowsVLANs, LearnsLinkLocal: l.Bridge.LearnsLinkLocal}
		return nil
	}
	if k == macvlan {
		o.Macvlans[l.Name] = Macvlan{
			Owner: owner, Lower: names[l.Lower], Tap: l.Kind == "macvtap", Mode: l.Mode, MAC: l.MAC, MTU: l.MTU, NoIPv6: off, AllMulticast: l.AllMulticast, Promiscuous: l.Promiscuous, Up: l.Up, Leaving: l.Group == leaving(e.Group),
		}
		return nil
	}
	if k == shaper {
		o.Shapers[l.Name] = Shaper{Owner: owner, NoIPv6: off, Up: l.Up, Leaving: l.Group == leaving(e.Group)}
		return nil
	}
	master := names[l.Master]
	if l.OfSwitch { // what it is a port of is said there
		master = ""
	}
	p := Port{Owner: owner, MAC: l.MAC, Master: master, MTU: l.MTU, NoIPv6: off, Up: l.Up, Isolated: l.Isolated, Leaving: l.Group == leaving(e.Group)}
	if err := o.observeTable(e.Kernel, l, &p); err != nil {
		return err
	}
	o.Ports[l.Name] = p
	return nil
}

func (o *Observed) firewall(ctx context.Context, e *Env, s Scope) error {
	every := s.All || s.AllElements
	if e.Firewall == nil || !every && len(s.Elements) == 0 {
		return nil
	}
	only := s.Elements
	if every {
		only = nil
	}
	there, err := e.Firewall.Observe(ctx, only...)
	if err != nil {
		return err
	}
	for _, el := range there {
		o.Elements[el] = true
	}
	return nil
}

func (o *Observed) services(ctx context.Context, e *Env, s Scope) error {
	if e.Services == nil || !s.All && len(s.Networks) == 0 {
		return nil
	}
	named := s.Networks
	if s.All {
		named = nil
	}
	all, err := e.Services.Observe(ctx, named...)
	if err != nil {
		return err
	}
	for network, sv := range all {
		if s.All || slices.Contains(s.Networks, network) {
			o.State.Services[network] = sv
		}
	}
	return nil
}
