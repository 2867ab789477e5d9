package engine

import (
	"maps"
	"slices"

	"taproom/internal/network/alloc"
	"taproom/internal/network/state"
)

// linksOf is what a record's NICs should have on the host when all of its networks are active.
func linksOf(r record) state.State {
	s := macvtapState(r)
	s.Ports, s.SwitchPorts = portState(r), switchState(r)
	boundPorts(&s, r, false)
	return s
}

// linksNow is what the NICs of a guest that runs should have on the host now. The links that its macvtaps lie on are left
// as they are: whoever took one down since it started had a reason.
func (e *Engine) linksNow(r record) state.State {
	s := macvtapState(r)
	s.Lowers = nil
	for name, m := range s.Macvlans {
		m.Held = true
		s.Macvlans[name] = m
	}
	s.Ports, s.SwitchPorts = e.portsNow(r), e.switchNow(r)
	boundPorts(&s, r, true)
	return s
}

// ownedBy is what a guest has of all that was observed, held by it.
func ownedBy(uuid string, all state.State) state.State {
	out := state.State{Ports: map[string]state.Port{}, Macvlans: map[string]state.Macvlan{}, Shapers: map[string]state.Shaper{}, Shapes: map[string]state.Shape{}}
	for name, p := range all.Ports {
		if p.Owner == uuid {
			p.Held = true
			out.Ports[name] = p
		}
	}
	for name, m := range all.Macvlans {
		if m.Owner == uuid {
			m.Held = true
			out.Macvlans[name] = m
		}
	}
	for name, s := range all.Shapers {
		if s.Owner == uuid {
			out.Shapers[name], out.Shapes[name] = s, all.Shapes[name]
		}
	}
	for _, name := range linkNames(out) {
		if s, ok := all.Shapes[name]; ok {
			s.Held = true
			out.Shapes[name] = s
		}
	}
	return out
}

// linkNames are the names of a guest's links.
func linkNames(s state.State) []string {
	return slices.Concat(slices.Collect(maps.Keys(s.Ports)), slices.Collect(maps.Keys(s.Macvlans)))
}

// namesOf is what hands out names for links such as that of p.
func (e *Engine) namesOf(p port) (*alloc.Names, error) {
	switch {
	case p.Template != "":
		return e.links.Of(p.Template)
	case p.Direct != nil:
		return e.macvtaps, nil
	}
	return e.names, nil
}

// reserveName marks the name of a link that is there. One of a document's template is like a document's own: the template
// is made when the next name is, and sees the link.
func (e *Engine) reserveName(name string) {
	if !e.templated(name) {
		e.claimed.take(name)
		return
	}
	e.links.Reserve(name)
}

func (e *Engine) releaseName(name string) {
	e.links.Release(name)
	e.claimed.release(name)
}
