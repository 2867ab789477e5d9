package state

import (
	"slices"
	"strings"

	"taproom/internal/host"
	"taproom/internal/network/qos"
)

// shaperRemovals finds those that nobody wants, those of another owner, and half-made ones. No guest has one open.
func (d *differ) shaperRemovals() []DeleteLink {
	var out []DeleteLink
	for _, name := range sortedKeys(d.old.Shapers) {
		have := d.old.Shapers[name]
		want, wanted := d.want.Shapers[name]
		other := d.old.Owner != "" && have.Owner != "" && have.Owner != d.old.Owner
		if (!wanted || have.Owner != want.Owner) && !other {
			out = append(out, d.remove(name, have.Owner))
		}
	}
	return out
}

// shapers makes and changes them, before the links that they are for: what is made goes through its stages together.
func (d *differ) shapers() Plan {
	var changed, made, quiet, queues, set Plan
	for _, name := range sortedKeys(d.want.Shapers) {
		want := d.want.Shapers[name]
		have, ok := d.old.Shapers[name]
		if ok && !d.gone[name] {
			if have.Leaving {
				changed = append(changed, SetLink{Link: d.target(name), Settings: host.LinkSettings{Group: d.env.Group}})
			}
			changed = append(changed, relabel(name, d.target(name), have.asPort(), want.asPort())...)
			changed = append(changed, changeSettings(target{}, d.target(name), have.asPort(), want.asPort())...)
			continue
		}
		d.made[name] = true
		link := d.current(name)
		made = append(made, AddShaper{Name: name, Group: d.env.Group})
		if want.NoIPv6 {
			quiet = append(quiet, setNoIPv6(name, true))
		}
		queues = append(queues, d.shapeNew(name)...)
		set = append(set, SetLink{Link: link, Settings: host.LinkSettings{Up: want.Up}}, SetAlias{Link: link, Alias: Alias(want.Owner)})
	}
	return slices.Concat(changed, made, quiet, queues, set)
}

func (s Shaper) asPort() Port { return Port{Owner: s.Owner, NoIPv6: s.NoIPv6, Up: s.Up} }

// shapeNew bounds a link that was just made, before it comes up: no frame gets by.
func (d *differ) shapeNew(name string) Plan {
	d.shaped[name] = true
	return d.reshape(name, Shape{}, d.want.Shapes[name])
}

// unbound takes what bounds links off those that stay and should not have it, before what they went through is removed.
func (d *differ) unbound() Plan {
	if d.old.Partial {
		return nil
	}
	var p Plan
	for _, name := range sortedKeys(d.old.Shapes) {
		have, want := d.old.Shapes[name], d.want.Shapes[name]
		if d.gone[name] {
			continue
		}
		var one Plan
		if have.Through != "" && (have.Through != want.Through || d.gone[have.Through]) {
			one = append(one, d.tc(name, true, delRedirect(name), func(k *host.Pipeline, _ *Run, index int, done func(error)) { k.DelRedirect(index, done) }))
		}
		if want.None() && !have.None() {
			handle := handleOf(have.Queue)
			one = append(one, d.tc(name, true, delQueue(name, handle), func(k *host.Pipeline, _ *Run, index int, done func(error)) { k.DelQueue(index, handle, done) }))
		}
		p = append(p, whileHeld(one, d.target(name), true)...)
	}
	return p
}

func handleOf(q qos.Queue) uint16 {
	if q.Tree != nil {
		return host.TreeHandle
	}
	return host.BucketHandle
}

// shapes bounds links that exist, and bridges that were just made.
func (d *differ) shapes() Plan {
	var p Plan
	for _, name := range sortedKeys(d.want.Shapes) {
		want, have := d.want.Shapes[name], d.old.Shapes[name]
		if d.shaped[name] {
			continue
		}
		if _, there := d.old.Index[name]; d.made[name] {
			have = Shape{}
		} else if !there || d.gone[name] { // it went with who held it
			continue
		}
		p = append(p, whileHeld(d.reshape(name, have, want), d.target(name), want.Held && !d.made[name])...)
	}
	return p
}

// reshape leads from one shape to another that bounds. What waits goes on waiting, unless another kind of queue takes its place.
func (d *differ) reshape(name string, have, want Shape) Plan {
	var p Plan
	switch {
	case want.None() || want.Equal(have.Queue):
	case want.Tree != nil:
		p = d.retree(name, have.Tree, want.Tree)
	default:
		p = append(p, d.tc(name, false, setBucket(name, want.Bucket), func(k *host.Pipeline, _ *Run, index int, done func(error)) { k.SetTBF(index, want.Bucket, done) }))
	}
	if want.Through != "" && (have.Through != want.Through || d.made[want.Through]) {
		through := d.current(want.Through)
		p = append(p, d.tc(name, false, redirect(name, want.Through), func(k *host.Pipeline, r *Run, index int, done func(error)) {
			to, err := r.index(through.Name, through.Index)
			if err != nil {
				done(err)
				return
			}
			k.Redirect(index, to, done)
		}))
	}
	return p
}

// retree leads from one tree to another; nil is none yet. Classes that go do so before any gets more.
func (d *differ) retree(name string, have, want *qos.Tree) Plan {
	var p Plan
	if have == nil {
		have = &qos.Tree{}
		p = append(p, d.tc(name, false, setTree(name), func(k *host.Pipeline, _ *Run, index int, done func(error)) { k.SetTree(index, qos.Rest, done) }))
	}
	for _, l := range have.Leaves {
		if to, stays := want.Leaf(l.Class); !stays || to.MAC != l.MAC {
			if l.MAC != "" {
				p = append(p, d.tc(name, true, unclassify(name, l.Class), func(k *host.Pipeline, _ *Run, index int, done func(error)) { k.Unclassify(index, l.Class, done) }))
			}
			if !stays {
				p = append(p, d.tc(name, true, delClass(name, l.Class), func(k *host.Pipeline, _ *Run, index int, done func(error)) { k.DelClass(index, l.Class, done) }))
			}
		}
	}
	class := func(parent, class uint16, have, want host.HTBClass) {
		if have != want {
			p = append(p, d.tc(name, false, setClass(name, parent, class, want), func(k *host.Pipeline, _ *Run, index int, done func(error)) {
				k.SetClass(index, parent, class, want, done)
			}))
		}
	}
	cut := func(class uint16, have, want host.TBF) {
		if !qos.SameBucket(want, have) {
			p = append(p, d.cut(name, class, want))
		}
	}
	class(0, qos.Whole, have.Whole, want.Whole)
	class(qos.Whole, qos.Rest, have.Rest, want.Rest)
	cut(qos.Rest, have.RestCut, want.RestCut)
	for _, l := range want.Leaves {
		was, _ := have.Leaf(l.Class)
		class(qos.Whole, l.Class, was.HTBClass, l.HTBClass)
		cut(l.Class, was.Cut, l.Cut)
		if !strings.EqualFold(was.MAC, l.MAC) {
			p = append(p, d.tc(name, false, classify(name, l.Class, l.MAC), func(k *host.Pipeline, _ *Run, index int, done func(error)) { k.Classify(index, l.Class, l.MAC, done) }))
		}
	}
	return p
}
