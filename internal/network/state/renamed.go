package state

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// Rename gives a link its name back that somebody called otherwise.
type Rename struct {
	creates
	Link target // as it is called now
	To   string
}

// String implements Step.
func (s Rename) String() string {
	return shell("ip", "link", "set", "dev", s.Link.Name, "name", s.To)
}

// Apply implements Step.
func (s Rename) Apply(_ context.Context, r *Run) error {
	return r.Kernel.RenameLink(s.Link.Index, s.To)
}

// Names reports whether a plan gives a link that name back.
func (p Plan) Names(name string) bool {
	return slices.ContainsFunc(p, func(s Step) bool {
		if h, ok := s.(ofHeld); ok {
			s = h.Step
		}
		r, ok := s.(Rename)
		return ok && r.To == name
	})
}

// Has reports whether there is a tap or macvlan of ours of that name.
func (o Observed) Has(name string) bool {
	_, tap := o.Ports[name]
	_, macvlan := o.Macvlans[name]
	return tap || macvlan
}

// Stranger is a link that a guest holds and that somebody marked as his own, or a link of somebody's that has such a one's
// name.
type Stranger struct {
	Owner, Name string
	Tap         bool // on a bridge; else it is a macvtap
	Err         *ForeignError
}

// renamed finds the bridges and the links of guests that were given other names, and has them named back first; all else sees
// them under the names that they should have. What carries a guest's frames is known by its label and its address, and where one alone
// is missing and one alone is too many, by that.
func (d *differ) renamed() Plan {
	d.old.Ports, d.old.Macvlans, d.old.Index = maps.Clone(d.old.Ports), maps.Clone(d.old.Macvlans), maps.Clone(d.old.Index)
	d.old.Bridges, d.old.Shapes = maps.Clone(d.old.Bridges), maps.Clone(d.old.Shapes)
	p := nameBack(d, d.old.Bridges, d.want.Bridges, bridgeLabel)
	d.remaster(p)
	return slices.Concat(p, nameBack(d, d.old.Ports, d.want.Ports, tapLabel), nameBack(d, d.old.Macvlans, d.want.Macvlans, macvlanLabel))
}

// remaster has taps be on the bridges that are named back.
func (d *differ) remaster(p Plan) {
	for _, s := range p {
		r := s.(ofHeld).Step.(Rename)
		for name, tap := range d.old.Ports {
			if tap.Master == r.Link.Name {
				tap.Master = r.To
				d.old.Ports[name] = tap
			}
		}
	}
}

// label is what tells one link of a guest from another whatever its name.
type label struct {
	owner, mac string
	held       bool
}

// bridgeLabel: of a network there is one, and guests are on it.
func bridgeLabel(b Bridge) label   { return label{b.Owner, b.MAC, true} }
func tapLabel(p Port) label        { return label{p.Owner, p.MAC, p.Held} }
func macvlanLabel(m Macvlan) label { return label{m.Owner, m.MAC, m.Held} }

func nameBack[V any](d *differ, old, want map[string]V, of func(V) label) Plan {
	missing, extra := map[string][]string{}, map[string][]string{} // by owner
	for _, name := range sortedKeys(want) {
		_, there := old[name]
		if l := of(want[name]); l.held && !there && d.old.Foreign[name] == "" {
			missing[l.owner] = append(missing[l.owner], name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	for _, name := range sortedKeys(old) {
		if _, wanted := want[name]; !wanted {
			extra[of(old[name]).owner] = append(extra[of(old[name]).owner], name)
		}
	}
	var p Plan
	back := func(now, name string) {
		link := d.target(now)
		p = append(p, whileHeld(Plan{Rename{Link: link, To: name}}, link, true)...)
		old[name], d.old.Index[name] = old[now], link.Index
		delete(old, now)
		delete(d.old.Index, now)
		if s, ok := d.old.Shapes[now]; ok {
			d.old.Shapes[name] = s
			delete(d.old.Shapes, now)
		}
	}
	for _, owner := range sortedKeys(missing) {
		lost, found := missing[owner], extra[owner]
		lost = slices.DeleteFunc(lost, func(name string) bool {
			i := slices.IndexFunc(found, func(now string) bool { return strings.EqualFold(of(old[now]).mac, of(want[name]).mac) })
			if i >= 0 {
				back(found[i], name)
				found = slices.Delete(found, i, i+1)
			}
			return i >= 0
		})
		if len(lost) == 1 && len(found) == 1 {
			back(found[0], lost[0])
		}
	}
	return p
}

// alive are the owners of links that guests hold.
func (s State) alive() map[string]bool {
	out := map[string]bool{}
	for _, p := range s.Ports {
		if p.Held {
			out[p.Owner] = true
		}
	}
	for _, m := range s.Macvlans {
		if m.Held {
			out[m.Owner] = true
		}
	}
	return out
}

// strangers leaves out what guests hold and is marked as somebody else's now.
func (d *differ) strangers() (out []Stranger) {
	d.want = d.want.Clone()
	for _, name := range sortedKeys(d.want.Ports) {
		want := d.want.Ports[name]
		if err := d.strange(name, want.Owner, d.old.Ports[name].Owner); want.Held && err != nil {
			out = append(out, Stranger{want.Owner, name, true, err})
			delete(d.want.Ports, name)
			delete(d.old.Ports, name)
		}
	}
	for _, name := range sortedKeys(d.want.Macvlans) {
		want := d.want.Macvlans[name]
		if err := d.strange(name, want.Owner, d.old.Macvlans[name].Owner); want.Held && err != nil {
			out = append(out, Stranger{want.Owner, name, false, err})
			delete(d.want.Macvlans, name)
			delete(d.old.Macvlans, name)
		}
	}
	return out
}
