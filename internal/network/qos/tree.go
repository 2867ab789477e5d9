package qos

import (
	"slices"

	"taproom/internal/host"
)

// Classes of a tree that are not a NIC's.
const (
	Whole      uint16 = 1  // what the network has
	Rest       uint16 = 2  // what goes to NICs without a floor
	FirstClass uint16 = 16 // of a NIC
)

// Tree divides what a network has: each NIC with a floor has that in any case, and what is left is shared by those and, as one, all
// others. It is one also where
// no NIC has a floor, so that the first one that comes finds it.
type Tree struct {
	Whole, Rest host.HTBClass
	RestCut     host.TBF
	Leaves      []Leaf // sorted by Class
}

// Leaf is the part of one NIC.
type Leaf struct {
	Class uint16
	MAC   string // of the guest, in lower case
	host.HTBClass
	Cut host.TBF // cuts large segments, which would delay all others
}

// Equal reports whether two divide alike.
func (t Tree) Equal(o Tree) bool {
	return t.Whole == o.Whole && t.Rest == o.Rest && SameBucket(t.RestCut, o.RestCut) &&
		slices.EqualFunc(t.Leaves, o.Leaves, func(a, b Leaf) bool {
			return a.HTBClass == b.HTBClass && a.Class == b.Class && a.MAC == b.MAC && SameBucket(a.Cut, b.Cut)
		})
}

// Floor is what a NIC has in any case.
type Floor struct {
	Class uint16
	MAC   string
	KiB   uint64 // a second
}

// leastRest is what NICs without a floor have in any case, in bytes a second: ARP and DHCP would not get through else, where
// floors use the network up. What floors leave they borrow, as the others do: it is shared.
const leastRest = 4096

// Divide is what keeps a network's limit and the floors of NICs on it, whose sum Admit has let through.
func (l Limit) Divide(mtu int, floors []Floor) Queue {
	if l.Average == 0 {
		return Queue{}
	}
	average := Wire(l.Average, mtu)
	t := &Tree{Whole: class(average, average, mtu)}
	if l.Burst > 0 {
		burst := max(atOnce(average, mtu), Wire(l.Burst, mtu))
		t.Whole.RateBuffer = host.Ticks(burst, average)
		t.Whole.CeilBuffer = t.Whole.RateBuffer
		if l.Peak > l.Average {
			t.Whole = class(average, Wire(l.Peak, mtu), mtu)
			t.Whole.RateBuffer = host.Ticks(burst, average)
		}
	}
	for _, f := range floors {
		t.Leaves = append(t.Leaves, Leaf{Class: f.Class, MAC: f.MAC, HTBClass: t.part(Wire(f.KiB, mtu), mtu), Cut: cut(t.Whole.Ceil, mtu)})
	}
	slices.SortFunc(t.Leaves, func(a, b Leaf) int { return int(a.Class) - int(b.Class) })
	t.Rest, t.RestCut = t.part(leastRest, mtu), cut(t.Whole.Ceil, mtu)
	return Queue{Tree: t, MTU: mtu}
}

// class is one that has a rate and borrows up to another.
func class(rate, ceil uint64, mtu int) host.HTBClass {
	return host.HTBClass{Rate: rate, Ceil: ceil, RateBuffer: host.Ticks(atOnce(rate, mtu), rate), CeilBuffer: host.Ticks(atOnce(ceil, mtu), ceil)}
}

// part is a class that has a rate of its own and may have all of the network, as fast as that is.
func (t *Tree) part(rate uint64, mtu int) host.HTBClass {
	c := class(rate, t.Whole.Ceil, mtu)
	c.CeilBuffer = t.Whole.CeilBuffer
	return c
}

// cut is a bucket that bounds nothing: an HTB sends a segment as it came, and one of 64 KiB holds all others up for 64 ms at
// 1,024 KiB/s. How large its pieces are can be read from how much waits in it.
func cut(rate uint64, mtu int) host.TBF {
	piece := uint32(min(atOnce(rate, mtu), 1<<17))
	return host.TBF{Rate: host.CutRate, Segment: piece, Limit: waits(rate, mtu) + piece}
}

// Leaf is the part of a NIC, and whether it has one.
func (t *Tree) Leaf(class uint16) (Leaf, bool) {
	if t == nil {
		return Leaf{}, false
	}
	i := slices.IndexFunc(t.Leaves, func(l Leaf) bool { return l.Class == class })
	if i < 0 {
		return Leaf{}, false
	}
	return t.Leaves[i], true
}
