// Package heal decides which of our links, rules and settings on a host to check again when the kernel reports a change, and when to
// restore an object that other programs change again and again.
//
// It is pure. It asks a View for the wanted state, and returns the objects to check, never the repair: its caller finds the
// difference and repairs it. An object that is as it should be costs no look at the host.
package heal

import (
	"slices"
	"strings"

	"taproom/internal/host"
	"taproom/internal/network/state"
)

// Thing is something of ours that may not be as it should be.
type Thing struct {
	Kind  Kind
	Owner string // UUID of the guest or the network; of an Access what its label says; "" for what all networks share
	Name  string // of the link; "" for what there is one of
}

// Kind is what a thing is for.
type Kind string

// The kinds of things. Rules, Forwarding and Filters are no links, and there is one of each.
const (
	Port       Kind = "port"       // of a guest
	Macvtap    Kind = "macvtap"    // of a guest
	Access     Kind = "access"     // a macvlan of the host's own, beside guests' macvtaps
	Bridge     Kind = "bridge"     // of a network
	Shaper     Kind = "shaper"     // what a link hands its frames to; the thing is that link
	Rules      Kind = "rules"      // of the firewall, of all networks
	Forwarding Kind = "forwarding" // of packets, by the host
	Filters    Kind = "filters"    // of guests' NICs, all of them
)

// IsLink reports whether it is a kind of links.
func (k Kind) IsLink() bool { return k != Rules && k != Forwarding && k != Filters }

// View is what should be, at the moment it is asked.
type View interface {
	// Port is a guest's port as it should be. One that should be down may be up as well.
	Port(owner, name string) (state.Port, bool)
	// Macvtap is a guest's macvtap as it should be. One that should be down may be up as well.
	Macvtap(owner, name string) (state.Macvlan, bool)
	// Access is a macvlan of the host's own as it should be.
	Access(owner, name string) (state.Macvlan, bool)
	// Bridge is a network's bridge as it should be. Only what a link says by itself is compared.
	Bridge(owner, name string) (state.Bridge, bool)
	// Called is what the bridge of a network should be called; "" where there should be none.
	Called(owner string) string
	// Runs reports whether there is a guest of that UUID, and not just about to be one.
	Runs(owner string) bool
	// Shaped is the thing whose frames a shaper takes.
	Shaped(owner, name string) (Thing, bool)
	// On are the ports that should be on a bridge, and the macvtaps and macvlans that should lie on a link, whoever made that.
	On(link string) []Thing
	// All are all things that there should be.
	All() []Thing
	// Troubled reports whether a thing was not put back, so that it is news when it is as it should be.
	Troubled(t Thing) bool
}

// Mind knows of the host what it takes to understand what is told. The zero value knows nothing: Look comes first.
type Mind struct {
	Group   uint32 // of our links
	bridges map[int]bridge
	lowers  map[int]lower // what macvtaps may lie on
	things  map[int]Thing // of ours, but bridges
}

// lower is a link of the host that is no guest's.
type lower struct {
	name string
	up   bool
}

// bridge is a bridge of the host.
type bridge struct {
	name  string
	owner string // the network's UUID; "" for somebody else's
}

// Look takes every link of the host in, as after a start, or when something was missed. It returns the things that are not
// as they should be or are not there. With partial, links may be missing from the list: nothing is taken for gone.
func (m *Mind) Look(links []host.Link, partial bool, v View) []Thing {
	m.bridges, m.lowers, m.things = map[int]bridge{}, map[int]lower{}, map[int]Thing{}
	for _, l := range links {
		if carries(l) {
			m.lowers[l.Index] = lower{l.Name, l.Up}
		}
		if l.Kind == "bridge" {
			m.bridges[l.Index] = m.bridgeOf(l)
		}
	}
	var out []Thing
	there := map[Thing]bool{}
	for _, l := range links {
		if t, ok := m.ours(l); ok {
			m.remember(l.Index, t)
			there[t] = true
			out = m.compare(out, t, l, v)
		}
	}
	if partial {
		return out
	}
	for _, t := range v.All() {
		if !there[t] {
			out = with(out, t)
		}
	}
	return out
}

// Take takes in what the kernel tells. It returns the things that are not as they should be, or that were not, each once.
// Whether forwarding is as it should be, no View says: whoever looks finds out.
func (m *Mind) Take(changes []host.LinkChange, v View) []Thing {
	var out []Thing
	for _, c := range changes {
		l := c.Link
		switch {
		case c.Forwards:
			out = with(out, Thing{Kind: Forwarding})
			continue
		case c.Port, c.Lost: // what changed, and whether it should be so, is for whoever looks
			if b := m.bridges[l.Index]; b.owner != "" && c.Lost {
				out = called(out, b.owner, v)
			}
			if t, ok := m.things[l.Index]; ok {
				out = m.known(out, t, v)
			}
			continue
		case c.Gone:
			delete(m.bridges, l.Index)
			delete(m.lowers, l.Index)
			delete(m.things, l.Index)
			if t, ok := m.ours(l); ok {
				out = m.known(out, t, v)
			}
			continue
		}
		if l.Kind == "bridge" {
			was := m.bridges[l.Index]
			m.bridges[l.Index] = m.bridgeOf(l)
			if was.name != l.Name { // it has come, or is called so now
				for _, t := range v.On(l.Name) {
					out = with(out, t)
				}
			}
		}
		out = m.lowered(out, l, v)
		if t, ok := m.ours(l); ok {
			m.remember(l.Index, t)
			out = m.compare(out, t, l, v)
		}
	}
	return out
}

// remember keeps which links are told of by their indexes alone.
func (m *Mind) remember(index int, t Thing) {
	if t.Kind != Bridge {
		m.things[index] = t
	}
}

// carries reports whether macvtaps may lie on a link: none does on a guest's.
func carries(l host.Link) bool { return l.Kind != "tun" && l.Kind != "macvtap" && l.Kind != "ifb" }

// lowered takes in a link that macvtaps may lie on, and adds those if it has come, or is up now, or down.
func (m *Mind) lowered(out []Thing, l host.Link, v View) []Thing {
	if !carries(l) {
		return out
	}
	was, known := m.lowers[l.Index]
	m.lowers[l.Index] = lower{l.Name, l.Up}
	if !known || was != m.lowers[l.Index] {
		for _, t := range v.On(l.Name) {
			if t.Kind != Port {
				out = with(out, t)
			}
		}
	}
	return out
}

func (m *Mind) bridgeOf(l host.Link) bridge {
	b := bridge{name: l.Name}
	if t, ok := m.ours(l); ok {
		b.owner = t.Owner
	}
	return b
}

// ours says what a link of ours is for. One without a label is just being made.
func (m *Mind) ours(l host.Link) (Thing, bool) {
	owner, labelled := strings.CutPrefix(l.Alias, state.Alias(""))
	if l.Group != m.Group || !labelled || owner == "" {
		return Thing{}, false
	}
	switch l.Kind {
	case "bridge":
		return Thing{Bridge, owner, l.Name}, true
	case "tun":
		return Thing{Port, owner, l.Name}, true
	case "macvtap":
		return Thing{Macvtap, owner, l.Name}, true
	case "macvlan":
		return Thing{Access, owner, l.Name}, true
	case "ifb":
		return Thing{Shaper, owner, l.Name}, true
	}
	return Thing{}, false
}

// known adds a thing if there should be one.
func (m *Mind) known(out []Thing, t Thing, v View) []Thing {
	is := false
	switch t.Kind {
	case Port:
		_, is = v.Port(t.Owner, t.Name)
	case Macvtap:
		_, is = v.Macvtap(t.Owner, t.Name)
	case Access:
		_, is = v.Access(t.Owner, t.Name)
	case Bridge:
		_, is = v.Bridge(t.Owner, t.Name)
	case Shaper:
		t, is = v.Shaped(t.Owner, t.Name)
	}
	if is {
		out = with(out, t)
	}
	return out
}

// compare adds a thing that is not as it should be. One of a guest's that it should not have may be one of another name.
func (m *Mind) compare(out []Thing, t Thing, l host.Link, v View) []Thing {
	switch t.Kind {
	case Port:
		want, ok := v.Port(t.Owner, t.Name)
		if !ok && v.Runs(t.Owner) || ok && (m.bridges[l.Master].name != want.Master || differs(l, want) || want.Master != "" && (l.Isolated != want.Isolated || want.Managed != (l.NoLearning && l.NoFlood)) || v.Troubled(t)) {
			out = with(out, t)
		}
	case Macvtap:
		want, ok := v.Macvtap(t.Owner, t.Name)
		below, seen := m.lowers[l.Lower]
		if !ok && v.Runs(t.Owner) || ok && (other(l, want) || seen && !below.up || v.Troubled(t)) {
			out = with(out, t)
		}
	case Access:
		if want, ok := v.Access(t.Owner, t.Name); ok && (other(l, want) || v.Troubled(t)) {
			out = with(out, t)
		}
	case Shaper:
		if of, ok := v.Shaped(t.Owner, t.Name); ok && (!l.Up || v.Troubled(of)) {
			out = with(out, of)
		}
	case Bridge:
		want, ok := v.Bridge(t.Owner, t.Name)
		if !ok { // somebody calls it so, or there are two
			return called(out, t.Owner, v)
		}
		own := want.STP != l.Bridge.STP || l.Bridge.LearnsLinkLocal
		if own || v.Troubled(t) || differs(l, state.Port{MAC: want.MAC, MTU: want.MTU, Up: want.Up}) {
			out = with(out, t)
		}
	}
	return out
}

// called adds the bridge of a network, if there should be one.
func called(out []Thing, owner string, v View) []Thing {
	if name := v.Called(owner); name != "" {
		out = with(out, Thing{Bridge, owner, name})
	}
	return out
}

// other compares what a macvlan says by itself.
func other(l host.Link, want state.Macvlan) bool {
	return differs(l, state.Port{MAC: want.MAC, MTU: want.MTU, Up: want.Up}) || l.Mode != want.Mode || want.AllMulticast && !l.AllMulticast ||
		want.Told && (l.AllMulticast != want.AllMulticast || l.Promiscuous != want.Promiscuous)
}

// differs compares what every link has. What is up and need not be is none of ours.
func differs(l host.Link, want state.Port) bool {
	return want.Up && !l.Up || want.MTU != 0 && want.MTU != l.MTU || want.MAC != "" && !strings.EqualFold(want.MAC, l.MAC)
}

func with(list []Thing, t Thing) []Thing {
	if slices.Contains(list, t) {
		return list
	}
	return append(list, t)
}
