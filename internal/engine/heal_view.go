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
	want, ok := v.e.portsNow(record{UUID: now.rec.UUID, Ports: []port{p}})[name]
	if link := now.nic(p).Link; link != nil && link.State == "down" {
		want.Up = false
	}
	return want, ok
}

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

// Bridge implements heal.View.
func (v healView) Bridge(owner, name string) (state.Bridge, bool) {
	uuid, err := spec.ParseUUID(owner)
	if err != nil {
		return state.Bridge{}, false
	}
	n, ok := v.e.networks.uuid(uuid)
	if !ok {
		return state.Bridge{}, false
	}
	live := n.view().live
	if live == nil || live.Bridge.Name != name {
		return state.Bridge{}, false
	}
	s, err := v.e.compileNetwork(live)
	b, ok := s.Bridges[name]
	return b, ok && err == nil
}

// On implements heal.View.
func (v healView) On(bridge string) (out []heal.Thing) {
	v.ports(func(t heal.Thing, want state.Port) {
		if want.Master == bridge {
			out = append(out, t)
		}
	})
	return out
}

// All implements heal.View.
func (v healView) All() (out []heal.Thing) {
	v.ports(func(t heal.Thing, _ state.Port) { out = append(out, t) })
	for _, n := range v.e.networks.all() {
		if live := n.view().live; live != nil {
			out = append(out, heal.Thing{Kind: heal.Bridge, Owner: n.uuid.String(), Name: live.Bridge.Name})
		}
	}
	return out
}

// ports calls each for every port of a guest that runs.
func (v healView) ports(each func(heal.Thing, state.Port)) {
	for _, d := range v.e.domains.all() {
		run := d.view().run
		if run == nil {
			continue
		}
		want := v.e.portsNow(*run.rec())
		for _, p := range run.rec().Ports {
			if w, ok := want[p.Name]; ok {
				each(heal.Thing{Kind: heal.Port, Owner: d.uuid.String(), Name: p.Name}, w)
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
	case heal.Bridge:
		_, ok = v.Bridge(t.Owner, t.Name)
	}
	return ok
}
