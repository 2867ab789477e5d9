package state

import (
	"slices"
	"strings"

	"taproom/internal/host"
)

// macvlanRemovals finds those that nobody wants, those of another owner, and half-made or different ones that no guest
// holds: they are made anew.
func (d *differ) macvlanRemovals() []DeleteLink {
	var out []DeleteLink
	for _, name := range sortedKeys(d.old.Macvlans) {
		have := d.old.Macvlans[name]
		want, wanted := d.want.Macvlans[name]
		if !wanted && d.spared(have.Owner, have.Leaving) {
			continue
		}
		other := have.Owner != "" && have.Owner != want.Owner
		remade := have.Owner == "" || have.Tap != want.Tap || have.Lower != want.Lower
		if !wanted || other || remade && !want.Held {
			out = append(out, d.remove(name, have.Owner))
		}
	}
	return out
}

// lowers changes what macvlans need of links that are not ours. One that is gone needs nothing.
func (d *differ) lowers() Plan {
	var p Plan
	for _, name := range sortedKeys(d.want.Lowers) {
		have, ok := d.old.Lowers[name]
		if !ok {
			continue
		}
		want := d.want.Lowers[name]
		s := SetLink{Link: d.target(name)}
		s.Settings.Up = want.Up && !have.Up
		if want.MAC != "" && want.MAC != have.MAC && strings.EqualFold(have.MAC, want.Lent) {
			s.Settings.MAC = want.MAC
		}
		if s.Settings != (host.LinkSettings{}) {
			p = append(p, s)
		}
	}
	return p
}

// macvlans makes and changes them. What is made goes through its stages together, as taps do.
func (d *differ) macvlans() Plan {
	var changed, made, opened, quiet, set, labelled, heard Plan
	for _, name := range sortedKeys(d.want.Macvlans) {
		want := d.want.Macvlans[name]
		have, ok := d.old.Macvlans[name]
		if ok && !d.gone[name] {
			changed = append(changed, d.changeMacvlan(name, have, want)...)
			continue
		}
		if want.Held { // it went with its lower link
			continue
		}
		d.made[name] = true
		link := d.current(name)
		spec, settings := d.newMacvlan(name, want)
		made = append(made, AddMacvlan{Spec: spec, Lower: d.target(want.Lower)})
		if want.Tap {
			opened = append(opened, OpenMacvtap{Link: link, Queues: want.Queues})
		}
		// It comes up without IPv6, which would make each cost more the more there are: 9 ms at 4,000 instead of 0.6.
		if want.NoIPv6 {
			quiet = append(quiet, setNoIPv6(name, true))
		} else if want.Static {
			quiet = append(quiet, setStatic(name)...)
		}
		quiet = append(quiet, changeAddresses(link, nil, want.Addresses)...)
		quiet = append(quiet, d.shapeNew(name)...)
		if settings != (host.LinkSettings{}) {
			set = append(set, SetLink{Link: link, Settings: settings})
		}
		labelled = append(labelled, SetAlias{Link: link, Alias: Alias(want.Owner)})
		heard = append(heard, receive(link, Macvlan{AllMulticast: want.AllMulticast}, want)...)
	}
	return slices.Concat(changed, made, opened, quiet, set, labelled, heard)
}

// newMacvlan is one that is made, down, and what is set then.
func (d *differ) newMacvlan(name string, want Macvlan) (host.MacvlanSpec, host.LinkSettings) {
	spec := host.MacvlanSpec{Name: name, Tap: want.Tap, Mode: want.Mode, MAC: want.MAC, MTU: want.MTU, Group: d.env.Group}
	settings := host.LinkSettings{AllMulticast: want.AllMulticast, Up: want.Up}
	if want.Mode == host.MacvlanPassthrough { // it was made with the address of its lower link
		spec.MAC, settings.MAC = "", want.MAC
	}
	return spec, settings
}

// changeMacvlan changes one that exists.
func (d *differ) changeMacvlan(name string, have, want Macvlan) Plan {
	link := d.target(name)
	p := relabel(name, link, have.asPort(), want.asPort())
	if have.Mode != want.Mode && have.Mode != host.MacvlanPassthrough && want.Mode != host.MacvlanPassthrough {
		p = append(p, SetMacvlanMode{Link: link, Tap: have.Tap, Mode: want.Mode})
	}
	if !want.Tap {
		p = append(p, changeAddresses(link, have.Addresses, want.Addresses)...)
	}
	p = append(p, changeSettings(target{}, link, have.asPort(), want.asPort())...)
	p = append(p, receive(link, have, want)...)
	if want.AllMulticast && !have.AllMulticast && !want.Told {
		p = append(p, SetLink{Link: link, Settings: host.LinkSettings{AllMulticast: true}})
	}
	return whileHeld(p, link, want.Held)
}

// asPort is what a macvlan has of what a tap on no bridge has.
func (m Macvlan) asPort() Port {
	return Port{Owner: m.Owner, MAC: m.MAC, MTU: m.MTU, NoIPv6: m.NoIPv6, Up: m.Up}
}
