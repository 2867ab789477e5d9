package engine

import (
	"slices"

	"taproom/internal/network/heal"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// healView is what should be of links, as everybody sees guests and networks now. It implements heal.View.
type healView struct{ e *Engine }

// Port implements heal.View. That a NIC's link is down is told to the guest alone; then its tap may be down as well.
func (v healView) Port(owner, name string) (state.Port, bool) {
	now := v.hardware(owner)
	if now == nil {
		return state.Port{}, false
	}
	i := slices.IndexFunc(now.rec.Ports, func(p port) bool { return p.Name == name })
	if i < 0 {
		return state.Port{}, false
	}
	p := now.rec.Ports[i]
	want, ok := v.e.portsNow(record{UUID: now.rec.UUID, ID: now.rec.ID, Ports: []port{p}})[name]
	if link := now.nic(p).Link; link != nil && link.State == "down" {
		want.Up = false
	}
	return want, ok
}

// Macvtap implements heal.View.
func (v healView) Macvtap(owner, name string) (state.Macvlan, bool) {
	now := v.hardware(owner)
	if now == nil {
		return state.Macvlan{}, false
	}
	i := slices.IndexFunc(now.rec.Ports, func(p port) bool { return p.Name == name && p.Direct != nil })
	if i < 0 {
		return state.Macvlan{}, false
	}
	p := now.rec.Ports[i]
	want := v.e.linksNow(record{UUID: now.rec.UUID, Ports: []port{p}}).Macvlans[name]
	if link := now.nic(p).Link; link != nil && link.State == "down" {
		want.Up = false
	}
	return want, true
}

// Runs implements heal.View.
func (v healView) Runs(owner string) bool { return v.hardware(owner) != nil }

// hardware is what a guest that runs consists of; nil for every other.
func (v healView) hardware(owner string) *hardware {
	uuid, err := spec.ParseUUID(owner)
	if err != nil {
		return nil
	}
	d, ok := v.e.domains.uuid(uuid)
	if !ok || d.view().run == nil {
		return nil
	}
	return d.view().run.hardware()
}

// Called implements heal.View.
func (v healView) Called(owner string) string {
	live := v.active(owner)
	if live == nil || !live.Routed() {
		return ""
	}
	return live.BridgeName()
}

// Shaped implements heal.View.
func (v healView) Shaped(owner, name string) (heal.Thing, bool) {
	if now := v.hardware(owner); now != nil {
		for _, p := range now.rec.Ports {
			if p.Shape != nil && shaperName(p.ID) == name {
				return heal.Thing{Kind: kindOf(p), Owner: owner, Name: p.Name}, true
			}
		}
		return heal.Thing{}, false
	}
	live := v.active(owner)
	if live == nil || live.Bandwidth == nil || shaperName(owner) != name {
		return heal.Thing{}, false
	}
	return heal.Thing{Kind: heal.Bridge, Owner: owner, Name: live.BridgeName()}, true
}

// bounded lists links with a bandwidth limit and bridges of isolated networks: no link attribute shows the limit or the fence.
func (v healView) bounded() (out []heal.Thing) {
	for _, t := range v.All() {
		if p := v.port(t); p != nil && p.Shape != nil {
			out = append(out, t)
		}
		if live := v.active(t.Owner); t.Kind == heal.Bridge && live != nil && (live.Bandwidth != nil || live.Forward == nil) {
			out = append(out, t)
		}
	}
	return out
}

// port is the port of a guest that runs that a thing is; nil for every other thing.
func (v healView) port(t heal.Thing) *port {
	now := v.hardware(t.Owner)
	if now == nil {
		return nil
	}
	for _, p := range now.rec.Ports {
		if p.Name == t.Name && kindOf(p) == t.Kind {
			return &p
		}
	}
	return nil
}

// bounds adds what bounds a guest's link.
func (v healView) bounds(t heal.Thing, want state.State) state.State {
	if uuid, err := spec.ParseUUID(t.Owner); err == nil {
		if p := v.port(t); p != nil {
			boundPorts(&want, record{UUID: uuid, Ports: []port{*p}}, true)
		}
	}
	return want
}

// active is the document of a network that is active; nil for every other.
func (v healView) active(owner string) *spec.Network {
	uuid, err := spec.ParseUUID(owner)
	if err != nil {
		return nil
	}
	n, ok := v.e.networks.uuid(uuid)
	if !ok {
		return nil
	}
	return n.view().live
}

// Bridge implements heal.View.
func (v healView) Bridge(owner, name string) (state.Bridge, bool) {
	live := v.active(owner)
	if live == nil || live.BridgeName() != name {
		return state.Bridge{}, false
	}
	s, err := v.e.compileNetwork(live)
	b, ok := s.Bridges[name]
	return b, ok && err == nil
}

// On implements heal.View.
func (v healView) On(link string) (out []heal.Thing) {
	v.links(func(t heal.Thing, on string) {
		if on == link {
			out = append(out, t)
		}
	})
	return out
}

// All implements heal.View.
func (v healView) All() (out []heal.Thing) {
	v.links(func(t heal.Thing, _ string) { out = append(out, t) })
	for _, n := range v.e.networks.all() {
		if live := n.view().live; live != nil {
			out = append(out, heal.Thing{Kind: heal.Bridge, Owner: n.uuid.String(), Name: live.BridgeName()})
		}
	}
	return out
}

// links calls each for every tap and macvtap of a guest that runs, and for what the host has beside them, with the link that
// it should be on.
func (v healView) links(each func(t heal.Thing, on string)) {
	v.accesses(each)
	for _, d := range v.e.domains.all() {
		run := d.view().run
		if run == nil {
			continue
		}
		want := v.e.portsNow(*run.rec())
		for _, p := range run.rec().Ports {
			if p.Direct != nil {
				each(heal.Thing{Kind: heal.Macvtap, Owner: d.uuid.String(), Name: p.Name}, p.Direct.Lower)
			} else if w, ok := want[p.Name]; ok {
				each(heal.Thing{Kind: heal.Port, Owner: d.uuid.String(), Name: p.Name}, w.Master)
			}
		}
	}
}

// Troubled implements heal.View.
func (v healView) Troubled(t heal.Thing) bool {
	h := &v.e.healer
	h.mu.Lock()
	defer h.mu.Unlock()
	_, is := h.troubles[t]
	return is
}

// known reports whether there should be such a thing.
func known(v heal.View, t heal.Thing) (ok bool) {
	switch t.Kind {
	case heal.Port:
		_, ok = v.Port(t.Owner, t.Name)
	case heal.Macvtap:
		_, ok = v.Macvtap(t.Owner, t.Name)
	case heal.Access:
		_, ok = v.Access(t.Owner, t.Name)
	case heal.Bridge:
		_, ok = v.Bridge(t.Owner, t.Name)
	case heal.Filters: // what is not as it should be is found by looking alone
		ok = true
	default: // they are there for any network
		ok = slices.ContainsFunc(v.All(), func(t heal.Thing) bool { return t.Kind == heal.Bridge })
	}
	return ok
}
