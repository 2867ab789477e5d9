package state

import (
	"net/netip"
	"slices"
	"strings"

	"taproom/internal/host"
)

func (d *differ) bridges() Plan {
	var p Plan
	for _, name := range sortedKeys(d.want.Bridges) {
		want := d.want.Bridges[name]
		have, ok := d.old.Bridges[name]
		if !ok || d.gone[name] {
			d.made[name] = true
			// What the creation itself settles needs no step of its own.
			// Whether it has IPv6 is the host's default, which is not looked at.
			have = Bridge{MAC: want.MAC, MTU: want.MTU, STP: want.STP, Delay: want.kernelDelay(), NoIPv6: want.needsIPv6()}
			p = append(p, AddBridge{Spec: host.BridgeSpec{Name: name, MAC: want.MAC, MTU: want.MTU, Group: d.env.Group, STP: want.STP, Delay: want.kernelDelay()}})
		}
		p = append(p, d.fenced(name, have, want)...)
		p = append(p, changeBridge(d.current(name), have, want)...)
	}
	return p
}

// kernelDelay is what the kernel makes of the delay: with STP it keeps it between 2 and 30 seconds.
func (b Bridge) kernelDelay() int {
	if b.STP {
		return min(max(b.Delay, 200), 3000)
	}
	return b.Delay
}

// changeBridge changes a bridge that exists by then. It comes up last.
func changeBridge(link target, have, want Bridge) Plan {
	var p Plan
	if have.Owner != want.Owner {
		p = append(p, SetAlias{Link: link, Alias: Alias(want.Owner)})
	}
	if have.STP && !want.STP { // first and alone: the kernel looks at the delay before, and would refuse one that STP must not have
		have.STP = false
		p = append(p, SetBridge{Link: link, To: host.Bridge{Delay: have.Delay}})
	}
	if have.STP != want.STP || have.Delay != want.kernelDelay() || have.LearnsLinkLocal {
		p = append(p, SetBridge{Link: link, To: host.Bridge{STP: want.STP, Delay: want.kernelDelay()}})
	}
	if have.VLANs != want.VLANs && !have.NoVLANs {
		p = append(p, SetVLANs{Link: link, On: want.VLANs})
	}
	if want.Static && !have.Static { // before there is IPv6: the kernel makes its address at once
		p = append(p, setStatic(link.Name)...)
	}
	// A link without IPv6 is fine unless it was asked for, or addresses need it: a kernel may have none at all.
	if have.NoIPv6 != want.NoIPv6 && (want.NoIPv6 || want.needsIPv6()) {
		p = append(p, setNoIPv6(link.Name, want.NoIPv6))
	}
	if have.Up && !want.Up {
		p = append(p, SetDown{Link: link})
	}
	if have.Up && !want.Up || want.NoIPv6 { // either takes the IPv6 addresses away, so both come before they are given
		have.Up, have.LinkLocal, have.Routes = have.Up && want.Up, nil, without6(have.Routes)
		have.Addresses = slices.DeleteFunc(slices.Clone(have.Addresses), func(a netip.Prefix) bool { return a.Addr().Is6() })
	}
	p = append(p, oldRoutes(link, have, want)...)
	p = append(p, changeAddresses(link, have.Addresses, want.Addresses)...)
	if len(want.LinkLocal) > 0 {
		p = append(p, changeAddresses(link, have.LinkLocal, want.LinkLocal)...)
	}
	p = append(p, changeSettings(target{}, link, have.settings(), want.settings())...)
	return append(p, newRoutes(link, have, want)...)
}

func (b Bridge) settings() Port { return Port{MAC: b.MAC, MTU: b.MTU, Up: b.Up} }

// needsIPv6 reports whether IPv6 has to be on.
func (b Bridge) needsIPv6() bool {
	is6 := func(a netip.Prefix) bool { return a.Addr().Is6() }
	return len(b.LinkLocal) > 0 || slices.ContainsFunc(b.Addresses, is6)
}

func setNoIPv6(link string, off bool) Step {
	s := SetSysctl{Path: noIPv6Path(link), Value: "0", Old: "1", OfOurs: true}
	if off {
		s.Value, s.Old = s.Old, s.Value
	}
	return s
}

// setStatic makes the settings that Bridge.Static is.
func setStatic(link string) Plan {
	var p Plan
	for _, s := range static() {
		p = append(p, SetSysctl{Path: ipv6Path(link, s.name), Value: s.value, OfOurs: true})
	}
	return p
}

// changeAddresses removes before it adds. With the first address of an IPv4 subnet the kernel removes the others in it,
// unless it is told to promote one; so those that stay there are given again.
func changeAddresses(link target, have, want []netip.Prefix) Plan {
	var p Plan
	lost := map[netip.Prefix]bool{}
	for _, a := range have {
		if !slices.Contains(want, a) {
			p = append(p, DelAddress{Link: link, Address: a})
			lost[a.Masked()] = true
		}
	}
	for _, a := range want {
		again := slices.Contains(have, a)
		if !again || lost[a.Masked()] && a.Addr().Is4() {
			p = append(p, AddAddress{Link: link, Address: a, Again: again})
		}
	}
	return p
}

// changeSettings changes what one message can.
func changeSettings(master, link target, have, want Port) Plan {
	s := SetLink{Link: link}
	if want.MAC != "" && !strings.EqualFold(have.MAC, want.MAC) {
		s.Settings.MAC = want.MAC
	}
	if want.MTU != 0 && have.MTU != want.MTU {
		s.Settings.MTU = want.MTU
	}
	if want.Master != "" && have.Master != want.Master {
		s.Master = master
	}
	s.Settings.Up = want.Up && !have.Up
	var p Plan
	if have.Up && !want.Up {
		p = append(p, SetDown{Link: link})
	}
	if have.Master != "" && want.Master == "" && !want.Anywhere {
		p = append(p, Detach{Link: link})
	}
	if s != (SetLink{Link: link}) {
		p = append(p, s)
	}
	return p
}

// ports makes and changes taps. What is made goes through its stages together, since requests that follow each other
// share a conversation.
func (d *differ) ports() Plan {
	var changed, made, quiet, queues, set, labelled, rest Plan
	for _, name := range sortedKeys(d.want.Ports) {
		want := d.want.Ports[name]
		have, ok := d.old.Ports[name]
		if d.made[want.Master] {
			have.Master = "" // its bridge is another one by then
		}
		if ok && !d.gone[name] {
			changed = append(changed, d.changePort(name, have, want)...)
			continue
		}
		if want.Held { // it went with who held it
			continue
		}
		d.made[name] = true
		link := d.current(name)
		made = append(made, AddTap{Spec: host.TapSpec{Name: name, Queues: want.Queues, VNetHdr: d.header(name)}})
		if want.NoIPv6 {
			quiet = append(quiet, setNoIPv6(name, true))
		}
		if bounds := d.shapeNew(name); d.want.Shapes[name].None() {
			queues = append(queues, NoQueue{Link: link})
			queues = append(queues, bounds...)
		} else {
			queues = append(queues, bounds...)
		}
		if !d.header(name) {
			queues = append(queues, NotForHost{Link: link})
		}
		set = append(set, SetLink{Link: link, Master: d.current(want.Master), Settings: host.LinkSettings{MAC: want.MAC, MTU: want.MTU, Group: d.env.Group, Up: want.Up}})
		labelled = append(labelled, SetAlias{Link: link, Alias: Alias(want.Owner)})
		rest = append(rest, particulars(link, Port{}, want)...)
		if want.Coalesce > 0 {
			rest = append(rest, SetCoalesce{Name: name, Frames: want.Coalesce})
		}
	}
	return slices.Concat(changed, made, quiet, queues, set, labelled, rest)
}

// stay takes links that somebody was about to remove from among those that go: before these do.
func (d *differ) stay() Plan {
	var p Plan
	back := func(name string, leaving bool) {
		if leaving && !d.gone[name] {
			p = append(p, SetLink{Link: d.target(name), Settings: host.LinkSettings{Group: d.env.Group}})
		}
	}
	for _, name := range sortedKeys(d.want.Ports) {
		back(name, d.old.Ports[name].Leaving)
	}
	for _, name := range sortedKeys(d.want.Macvlans) {
		back(name, d.old.Macvlans[name].Leaving)
	}
	return p
}

// changePort changes a tap that exists.
func (d *differ) changePort(name string, have, want Port) Plan {
	link := d.target(name)
	p := relabel(name, link, have, want)
	p = append(p, changeSettings(d.current(want.Master), link, have, want)...)
	p = append(p, particulars(link, have, want)...)
	return whileHeld(p, link, want.Held)
}

// relabel changes whose a link is, and switches IPv6 off on it.
func relabel(name string, link target, have, want Port) Plan {
	var p Plan
	if have.Owner != want.Owner {
		p = append(p, SetAlias{Link: link, Alias: Alias(want.Owner)})
	}
	if want.NoIPv6 && !have.NoIPv6 {
		p = append(p, setNoIPv6(name, true))
	}
	return p
}

// whileHeld are steps for a link that, where a guest holds it, may go with the guest at any moment.
func whileHeld(p Plan, link target, held bool) Plan {
	if held {
		for i := range p {
			p[i] = ofHeld{Step: p[i], link: link}
		}
	}
	return p
}
