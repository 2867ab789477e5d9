package learn

import (
	"cmp"
	"errors"
	"maps"
	"net/netip"
	"slices"

	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

const (
	// perFamily is how many addresses of a family a NIC has at most. A host with temporary addresses (RFC 8981) has up to eight.
	perFamily = 16
	// idle is for how many seconds an address that its guest only claimed is kept for it alone though it is silent. RFC 6620,
	// 4, has five minutes and asks the guest then; this asks nobody and waits longer.
	idle = 600
	// twoHours bounds how soon an advertisement can end an address (RFC 4862, 5.5.3, e).
	twoHours = 2 * 3600
)

// entry is an address that a NIC has.
type entry struct {
	Address

	server netip.Addr // who gave it
	seen   int64      // when somebody last spoke of it
}

// firm reports whether an address is not open to whoever claims it next.
func (e *entry) firm(now int64) bool { return e.By.given() || e.By == RA || e.seen+idle > now }

// holding is a NIC with its addresses.
type holding struct {
	Port

	has map[netip.Addr]*entry
}

// place is an address in a network.
type place struct {
	network string
	addr    netip.Addr
}

// Table knows the watched NICs and their addresses. The zero value is none. Times are those of lease.Clock.Now.
type Table struct {
	ports   map[string]*holding
	holders map[place]*holding
	next    int64 // no address ends before this
}

// Watch begins to learn a NIC's addresses, or changes how. What a NIC has already stays, as far as the new mode believes it
// and the card is the same; known is added, where no other NIC has it. It returns the NICs whose addresses changed beside.
func (t *Table) Watch(p Port, known []Address, now int64) (changed []string) {
	if t.ports == nil {
		t.ports, t.holders = map[string]*holding{}, map[place]*holding{}
	}
	h := &holding{Port: p, has: map[netip.Addr]*entry{}}
	if old := t.ports[p.Name]; old != nil {
		t.forget(old)
		if old.MAC == p.MAC && old.Network == p.Network {
			known = append(old.addresses(), known...)
		}
	}
	t.ports[p.Name] = h
	for _, a := range known {
		c := claim{addr: a.Addr, by: a.By, ends: a.Ends}
		if a.Ends <= now || h.has[a.Addr] != nil || !p.Mode.allowed(a.By) {
			continue
		}
		if other, err := t.learn(h, c, now); err == nil && other != "" {
			changed = append(changed, other)
		}
	}
	return changed
}

// Forget forgets a NIC and what it has. One that is not watched is forgotten already.
func (t *Table) Forget(name string) {
	if h := t.ports[name]; h != nil {
		t.forget(h)
		delete(t.ports, name)
	}
}

func (t *Table) forget(h *holding) {
	for a := range h.has {
		delete(t.holders, place{h.Network, a})
	}
}

// Addresses returns what a NIC has, in order.
func (t *Table) Addresses(name string) []Address {
	h := t.ports[name]
	if h == nil {
		return nil
	}
	return h.addresses()
}

func (h *holding) addresses() []Address {
	out := make([]Address, 0, len(h.has))
	for _, e := range h.has {
		out = append(out, e.Address)
	}
	slices.SortFunc(out, func(a, b Address) int { return a.Addr.Compare(b.Addr) })
	return out
}

// Frame learns from a frame that passed a NIC. It returns the NICs whose addresses, or their ends, are no longer what they
// were, in order. The error is why the frame, or a part of it, taught nothing: a packet.Refusal, or several joined.
func (t *Table) Frame(name string, d Direction, frame []byte, partial bool, now int64) (changed []string, err error) {
	h := t.ports[name]
	if h == nil {
		return nil, RefusePort
	}
	if len(frame) < packet.EthHeader {
		return nil, packet.RefuseSize
	}
	claims, err := h.read(d, frame, partial, now)
	if err != nil {
		return nil, err
	}
	was := map[string][]Address{name: h.addresses()}
	for _, c := range claims {
		if !h.Mode.allowed(c.by) {
			err = errors.Join(err, RefuseMode)
			continue
		}
		other := t.holders[place{h.Network, c.addr}]
		if _, known := was[nameOf(other)]; other != nil && !known {
			was[other.Name] = other.addresses()
		}
		if c.dropped {
			t.drop(h, c.addr)
			continue
		}
		_, lerr := t.learn(h, c, now)
		err = errors.Join(err, lerr)
	}
	for n, before := range was {
		if !slices.Equal(before, t.Addresses(n)) {
			changed = append(changed, n)
		}
	}
	slices.Sort(changed)
	return changed, err
}

func nameOf(h *holding) string {
	if h == nil {
		return ""
	}
	return h.Name
}

func (t *Table) drop(h *holding, a netip.Addr) {
	if h.has[a] != nil {
		delete(h.has, a)
		delete(t.holders, place{h.Network, a})
	}
}

// learn gives a NIC an address, and returns the NIC that lost it.
func (t *Table) learn(h *holding, c claim, now int64) (loser string, err error) {
	if err := h.may(c.addr, c.by); err != nil {
		return "", err
	}
	at := place{h.Network, c.addr}
	other := t.holders[at]
	if other == h {
		h.has[c.addr].again(c, now)
		t.ended(h, c.addr, now)
		return "", nil
	}
	if c.by == RA && c.ends <= now {
		return "", packet.RefuseUnknown
	}
	if other != nil && other.has[c.addr].firm(now) && !(c.by.given() && h.named(c.server)) {
		return "", RefuseHeld
	}
	if !t.room(h, c, now) {
		return "", RefuseMany
	}
	if other != nil {
		t.drop(other, c.addr)
		loser = other.Name
	}
	h.has[c.addr] = &entry{Address{c.addr, c.by, c.ends}, c.server, now}
	t.holders[at] = h
	t.next = min(t.next, c.ends)
	return loser, nil
}

// again is what becomes of an address that its NIC has already: what a server or a router says counts for more than what the
// guest says.
func (e *entry) again(c claim, now int64) {
	e.seen = now
	switch {
	case c.by.given():
		e.By, e.Ends, e.server = c.by, c.ends, c.server
	case c.by != RA || e.By.given():
	case e.By != RA:
		if c.ends > now {
			e.By, e.Ends, e.server = RA, c.ends, c.server
		}
	case c.ends > e.Ends && c.ends-e.Ends < (c.ends-now)/10: // a router says it every few minutes: no news
	case c.ends > now+twoHours || c.ends > e.Ends:
		e.Ends = c.ends
	case e.Ends > now+twoHours:
		e.Ends = now + twoHours
	}
}

// ended takes an address back whose end has been moved before now, and looks when the next one ends.
func (t *Table) ended(h *holding, a netip.Addr, now int64) {
	e := h.has[a]
	if e.Ends <= now {
		t.drop(h, a)
		return
	}
	t.next = min(t.next, e.Ends)
}

// room reports whether a NIC may have one more address of the claim's family, and makes room where it can: by an address that
// nobody has spoken of for long, or for one that a server gives, by one that the guest only claimed.
func (t *Table) room(h *holding, c claim, now int64) bool {
	var least *entry
	n := 0
	for _, e := range h.has {
		if e.Addr.Is4() != c.addr.Is4() {
			continue
		}
		n++
		if !e.By.given() && e.By != RA && (least == nil || cmp.Or(cmp.Compare(e.seen, least.seen), e.Addr.Compare(least.Addr)) < 0) {
			least = e
		}
	}
	if n < perFamily {
		return true
	}
	if least == nil || least.firm(now) && !c.by.given() {
		return false
	}
	t.drop(h, least.Addr)
	return true
}

// Expire takes away the addresses that have ended, and returns the NICs that had them, in order.
func (t *Table) Expire(now int64) (changed []string) {
	if now < t.next {
		return nil
	}
	t.next = lease.Never
	for _, name := range slices.Sorted(maps.Keys(t.ports)) {
		h, lost := t.ports[name], false
		for a, e := range h.has {
			if e.Ends <= now {
				t.drop(h, a)
				lost = true
				continue
			}
			t.next = min(t.next, e.Ends)
		}
		if lost {
			changed = append(changed, name)
		}
	}
	return changed
}

// NextExpiry returns a time before which no address ends; lease.Never when none ends.
func (t *Table) NextExpiry() int64 { return t.next }
