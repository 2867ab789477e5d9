package dhcp4

import (
	"container/heap"
	"container/list"
	"net/netip"
	"slices"

	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

// table is every lease of a network, running or ended, at most one per address and one per client.
type table struct {
	at      map[netip.Addr]*entry
	of      map[packet.MAC][]*entry // few per card: one for each distinguishing id
	running byEnd                   // the first to end on top
	ended   list.List               // of *entry, the longest free first
}

// entry is a lease in a table.
type entry struct {
	lease.Lease
	index int           // among the running; -1 when it has ended
	rest  *list.Element // among the ended
}

func newTable() *table {
	return &table{at: map[netip.Addr]*entry{}, of: map[packet.MAC][]*entry{}}
}

// load fills an empty table with what a lease file has, oldest first.
func (t *table) load(leases []lease.Lease, now int64) {
	for _, l := range leases {
		t.displace(l)
		t.link(&entry{Lease: l, index: -1})
	}
	all := make([]*entry, 0, len(t.at))
	for _, e := range t.at {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *entry) int {
		if a.Ends != b.Ends {
			return int(min(max(a.Ends-b.Ends, -1), 1))
		}
		return a.IP.Compare(b.IP)
	})
	for _, e := range all {
		t.order(e, now)
	}
}

// find returns the client's lease: its exact one before one that it merely may take over.
func (t *table) find(c identity) *entry {
	var own *entry
	for _, e := range t.of[c.mac] {
		if holder(&e.Lease).id == c.id {
			return e
		}
		if c.owns(&e.Lease) && (own == nil || e.Ends > own.Ends) {
			own = e
		}
	}
	return own
}

// put stores a lease, in place of whatever its address and its client had before, and returns what went.
func (t *table) put(l lease.Lease, now int64) []*entry {
	gone := t.displace(l)
	e := &entry{Lease: l, index: -1}
	t.link(e)
	t.order(e, now)
	return gone
}

// displace removes what is in a lease's place.
func (t *table) displace(l lease.Lease) []*entry {
	var gone []*entry
	if old := t.find(holder(&l)); old != nil {
		t.remove(old)
		gone = append(gone, old)
	}
	if old := t.at[l.IP]; old != nil {
		t.remove(old)
		gone = append(gone, old)
	}
	return gone
}

func (t *table) link(e *entry) {
	t.at[e.IP] = e
	t.of[e.MAC] = append(t.of[e.MAC], e)
}

// order puts an entry where its end belongs.
func (t *table) order(e *entry, now int64) {
	if e.Live(now) {
		heap.Push(&t.running, e)
		return
	}
	e.rest = t.ended.PushBack(e)
}

func (t *table) remove(e *entry) {
	delete(t.at, e.IP)
	rest := slices.DeleteFunc(t.of[e.MAC], func(o *entry) bool { return o == e })
	if len(rest) == 0 {
		delete(t.of, e.MAC)
	} else {
		t.of[e.MAC] = rest
	}
	if e.index >= 0 {
		heap.Remove(&t.running, e.index)
	}
	if e.rest != nil {
		t.ended.Remove(e.rest)
		e.rest = nil
	}
}

// end makes a running lease one of the past; it is remembered, so that the client gets the address again.
func (t *table) end(e *entry, now int64) {
	heap.Remove(&t.running, e.index)
	e.Ends = now
	e.rest = t.ended.PushBack(e)
}

// expire makes leases that have run out ones of the past and returns them.
func (t *table) expire(now int64) []lease.Lease {
	var out []lease.Lease
	for len(t.running) > 0 && !t.running[0].Live(now) {
		e := heap.Pop(&t.running).(*entry)
		e.rest = t.ended.PushBack(e)
		out = append(out, e.Lease)
	}
	return out
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

// byEnd is a heap of running leases.
type byEnd []*entry

func (h byEnd) Len() int           { return len(h) }
func (h byEnd) Less(i, j int) bool { return h[i].Ends < h[j].Ends }
func (h byEnd) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *byEnd) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

// Pop implements heap.Interface.
func (h *byEnd) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	e.index = -1
	return e
}
