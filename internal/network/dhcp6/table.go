package dhcp6

import (
	"container/heap"
	"net/netip"

	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

// identity is whose a lease is.
type identity struct {
	mac  packet.MAC
	duid string // in hexadecimal with colons
	iaid uint32
}

func owner(l *lease.Lease) identity { return identity{l.MAC, l.ClientID, l.IAID} }

// table is every lease of a network, running or ended: at most one for an address. An identity has one, and beside it
// those that it is losing.
type table struct {
	at      map[netip.Addr]*entry
	of      map[identity]*entry // the latest; the others are linked to it
	cards   map[packet.MAC]int  // how many leases a network card has
	running queue               // the first to end on top
	ended   queue               // that anybody may have, the longest free on top
}

// entry is a lease in a table.
type entry struct {
	lease.Lease
	older *entry // of the same identity
	queue *queue // that it is in, if any
	index int    // there
}

func newTable(leases int) *table {
	return &table{at: make(map[netip.Addr]*entry, leases), of: make(map[identity]*entry, leases), cards: make(map[packet.MAC]int, leases)}
}

// add stores a lease of an address that has none. It is in no queue yet.
func (t *table) add(l lease.Lease) *entry {
	id := owner(&l)
	e := &entry{Lease: l, older: t.of[id]}
	t.at[l.IP], t.of[id] = e, e
	t.cards[l.MAC]++
	return e
}

func (t *table) remove(e *entry) {
	t.place(e, nil)
	delete(t.at, e.IP)
	id := owner(&e.Lease)
	if first := t.of[id]; first != e {
		for first.older != e {
			first = first.older
		}
		first.older = e.older
	} else if e.older != nil {
		t.of[id] = e.older
	} else {
		delete(t.of, id)
	}
	if t.cards[e.MAC]--; t.cards[e.MAC] == 0 {
		delete(t.cards, e.MAC)
	}
}

// place moves an entry to a queue, or to where its end belongs in the one that it is in.
func (t *table) place(e *entry, to *queue) {
	if e.queue != nil {
		heap.Remove(e.queue, e.index)
	}
	e.queue = to
	if to != nil {
		heap.Push(to, e)
	}
}

// sorted returns every lease that keep wants, by address.
func (t *table) sorted(keep func(*lease.Lease) bool) []lease.Lease {
	return lease.Sorted(func(yield func(*lease.Lease) bool) {
		for _, e := range t.at {
			if !yield(&e.Lease) {
				return
			}
		}
	}, keep)
}

// queue is a heap of leases by their end.
type queue []*entry

func (q queue) Len() int { return len(q) }

// Less implements sort.Interface.
func (q queue) Less(i, j int) bool {
	if q[i].Ends != q[j].Ends {
		return q[i].Ends < q[j].Ends
	}
	return q[i].IP.Less(q[j].IP)
}

// Swap implements sort.Interface.
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	e := x.(*entry)
	e.index = len(*q)
	*q = append(*q, e)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}
