package state

import (
	"errors"
	"slices"
	"strings"

	"taproom/internal/host"
	"taproom/internal/network/qos"
)

// Shape is what bounds the traffic of a link.
type Shape struct {
	qos.Queue        // of what leaves through it
	Through   string // the shaper that what comes in through it takes first; "" is none
	// Held says that a guest has the link, which may go at any moment. Only desired.
	Held bool
}

func (s Shape) none() bool { return s.None() && s.Through == "" }

// fair are the shapes with queues in which flows take turns.
func fair(all map[string]Shape) map[string]Shape {
	out := make(map[string]Shape, len(all))
	for name, s := range all {
		s.Queue = s.Fair()
		out[name] = s
	}
	return out
}

// Shaper is a link, an ifb, that what comes in through another one takes as if it left, so that a queue bounds it.
type Shaper struct {
	Owner  string // UUID of the guest or the network
	NoIPv6 bool
	Up     bool
	// Leaving says that somebody was about to remove it and did not. Only observed.
	Leaving bool
}

// shapes reads what bounds the links that the scope names, or all of ours.
func (o *Observed) shapes(e *Env, s Scope) error {
	if s.All {
		return o.allShapes(e)
	}
	for _, name := range s.Shapes {
		index, seen := o.Index[name]
		if !seen {
			l, err := e.Kernel.LinkByName(name)
			switch {
			case errors.Is(err, host.ErrNoLink):
				continue
			case err != nil:
				return err
			case l.Group != e.Group || !strings.HasPrefix(l.Alias, aliasPrefix): // not ours
				continue
			}
			index = l.Index
			o.Index[name] = index
		}
		q, there, err := e.Kernel.Queue(index)
		if err != nil && !errors.Is(err, host.ErrNoLink) {
			return err
		}
		if err := o.shape(e, name, q, there, true); err != nil {
			return err
		}
	}
	return nil
}

// allShapes reads what bounds links of ours, from one listing of all.
func (o *Observed) allShapes(e *Env) error {
	all, err := e.Kernel.Queues()
	if errors.Is(err, host.ErrPartial) {
		o.Partial = true
	} else if err != nil {
		return err
	}
	type found struct {
		host.Queue
		there, ingress bool
	}
	at := map[int]found{}
	for _, q := range all {
		f := at[q.Index]
		if q.Handle == host.IngressHandle {
			f.ingress = true
		} else {
			f.Queue, f.there = q, true
		}
		at[q.Index] = f
	}
	for _, name := range sortedKeys(o.Index) {
		f := at[o.Index[name]]
		if err := o.shape(e, name, f.Queue, f.there, f.ingress); err != nil {
			return err
		}
	}
	return nil
}

// shape keeps what bounds a link, of which the queue was read.
func (o *Observed) shape(e *Env, name string, q host.Queue, there, ingress bool) error {
	s, index := Shape{}, o.Index[name]
	switch {
	case !there:
	case q.Handle == host.BucketHandle:
		s.Bucket = q.Bucket
	default:
		leaves, err := e.Kernel.Leaves(index)
		if err := o.mayMiss(err); err != nil {
			return err
		}
		s.Tree = tree(leaves)
	}
	if ingress {
		through, err := e.Kernel.Redirected(index)
		if err := o.mayMiss(err); err != nil {
			return err
		}
		if through != 0 {
			s.Through = o.nameOf(e, through)
		}
	}
	if !s.none() {
		o.State.Shapes[name] = s
	}
	return nil
}

// mayMiss takes an interrupted listing for one that shows too little, and a link that has gone for one without anything.
func (o *Observed) mayMiss(err error) error {
	switch {
	case errors.Is(err, host.ErrPartial):
		o.Partial = true
		return nil
	case errors.Is(err, host.ErrNoLink):
		return nil
	}
	return err
}

// nameOf is what a link is called. One that is not among those looked at is, where it is gone, none.
func (o *Observed) nameOf(e *Env, index int) string {
	for name, i := range o.Index {
		if i == index {
			return name
		}
	}
	l, err := e.Kernel.LinkByIndex(index)
	if err != nil {
		return "?" // no link has such a name: it is another one than any that is wanted
	}
	return l.Name
}

// tree is what classes make up.
func tree(leaves []host.Leaf) *qos.Tree {
	t := &qos.Tree{}
	for _, l := range leaves {
		switch l.Class {
		case qos.Whole:
			t.Whole = l.HTBClass
		case qos.Rest:
			t.Rest, t.RestCut = l.HTBClass, l.Cut
		default:
			t.Leaves = append(t.Leaves, qos.Leaf{Class: l.Class, MAC: l.MAC, HTBClass: l.HTBClass, Cut: l.Cut})
		}
	}
	slices.SortFunc(t.Leaves, func(a, b qos.Leaf) int { return int(a.Class) - int(b.Class) })
	return t
}
