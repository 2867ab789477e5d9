package dhcp6

import (
	"net/netip"
	"slices"
	"strings"

	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

// maxLeases bounds what one network remembers, however large its ranges are. Fixed addresses come on top.
const maxLeases = 1 << 16

// pool decides which client gets which address.
type pool struct {
	config *Config
	leases *table
	rest   *rest

	byDUID   map[string]*Host
	byMAC    map[packet.MAC]*Host
	byName   map[string]*Host
	fixed    map[netip.Addr]*Host
	excluded map[netip.Addr]bool
	used     []*holes // for each range, what has a lease, rests or is not for everybody
}

// newPool returns a pool with room for so many leases to begin with.
func newPool(c *Config, leases int) *pool {
	p := &pool{
		config: c, leases: newTable(leases), rest: newRest(),
		byDUID: map[string]*Host{}, byMAC: map[packet.MAC]*Host{}, byName: map[string]*Host{},
		fixed: map[netip.Addr]*Host{}, excluded: map[netip.Addr]bool{},
	}
	for _, a := range slices.Concat(c.Exclude, c.DNS, c.NTP) {
		p.excluded[a] = true
	}
	for i := range c.Hosts {
		h := &c.Hosts[i]
		duid, _ := parseDUID(h.DUID) // Validate has seen both
		mac, _ := packet.ParseMAC(h.MAC)
		switch {
		case h.DUID != "":
			p.byDUID[duid] = h
		case h.MAC != "":
			p.byMAC[mac] = h
		default:
			p.byName[strings.ToLower(firstLabel(h.Name))] = h
		}
		if h.IP.IsValid() {
			p.fixed[h.IP] = h
		}
	}
	for _, r := range c.Ranges {
		p.used = append(p.used, newHoles(r.index(r.End)))
	}
	p.exclude()
	return p
}

// exclude keeps the search for unused addresses from what is not for everybody.
func (p *pool) exclude() {
	for a := range p.excluded {
		p.refresh(a)
	}
	for a := range p.fixed {
		p.refresh(a)
	}
	for _, prefix := range p.config.Prefixes {
		subnet := Range{Start: prefix.Addr()}
		p.refresh(subnet.Start)
		for i := uint64(reservedFirst); prefix.Bits() == 64 && i <= reservedLast; i++ {
			p.refresh(subnet.nth(i))
		}
	}
}

// choose returns the address for an identity association: the client's fixed one, the one it has or had, one it wishes for,
// the first that nobody ever had from a place that depends on the client alone, the one that has been free longest. Without
// the last resort, what rests, one guest that declines whatever it gets would lock out all others.
func (p *pool) choose(c *client, iaid uint32, wishes []netip.Addr, now int64) (netip.Addr, bool) {
	id := c.identity(iaid)
	if c.host != nil && p.free(c.host.IP, c, id, now) {
		return c.host.IP, true
	}
	if a, ok := p.own(c, id, now); ok {
		return a, true
	}
	for _, a := range wishes {
		if p.free(a, c, id, now) && (p.leases.at[a] != nil || p.room()) {
			return a, true
		}
	}
	if p.room() {
		for i := range p.config.Ranges {
			if a, ok := p.unused(i, id.seed(), c.given); ok {
				return a, true
			}
		}
	}
	for _, e := range p.leases.ended[:min(len(p.leases.ended), len(c.given)+1)] { // the first is the longest free
		if !slices.Contains(c.given, e.IP) {
			return e.IP, true
		}
	}
	return p.tired(c.given)
}

// own returns the address that an identity has, or had.
func (p *pool) own(c *client, id identity, now int64) (netip.Addr, bool) {
	for _, live := range []bool{true, false} {
		for e := p.leases.of[id]; e != nil; e = e.older {
			if e.Live(now) == live && p.free(e.IP, c, id, now) {
				return e.IP, true
			}
		}
	}
	return netip.Addr{}, false
}

// tired returns an address that has rested for long, though not long enough.
func (p *pool) tired(given []netip.Addr) (netip.Addr, bool) {
	p.rest.first() // in front is one that does rest
	for _, o := range p.rest.order[:min(len(p.rest.order), 2*maxIAs)] {
		if p.room() && p.rest.holds(o.addr) && p.open(o.addr) && !slices.Contains(given, o.addr) {
			return o.addr, true
		}
	}
	return netip.Addr{}, false
}

// room reports whether one more lease may be remembered.
func (p *pool) room() bool { return len(p.leases.at) < maxLeases }

// allowed reports whether the configuration lets a client have an address.
func (p *pool) allowed(a netip.Addr, c *client) bool {
	if h := p.fixed[a]; h != nil {
		return h == c.host
	}
	return p.open(a)
}

// open reports whether the configuration lets everybody have an address.
func (p *pool) open(a netip.Addr) bool {
	in := slices.ContainsFunc(p.config.Ranges, func(r Range) bool { return r.has(a) })
	return in && p.fixed[a] == nil && !p.excluded[a] && p.config.usable(a)
}

// free reports whether a client may have an address now.
func (p *pool) free(a netip.Addr, c *client, id identity, now int64) bool {
	if !a.IsValid() || !p.allowed(a, c) || p.rest.holds(a) || slices.Contains(c.given, a) {
		return false
	}
	e := p.leases.at[a]
	return e == nil || !e.Live(now) || owner(&e.Lease) == id || p.passes(e, c)
}

// passes reports whether a fixed address goes over from one client of a network card to another: from its firmware to the
// system, or from one DHCP client program to the next, but not between what one client asks for together.
func (p *pool) passes(e *entry, c *client) bool {
	h := p.fixed[e.IP]
	byCard := h != nil && h.DUID == "" && h.MAC != ""
	return byCard && e.MAC == c.mac && (e.ClientID != c.duid || !slices.Contains(c.ias, e.IAID))
}

// unused finds an address of a range without a history.
func (p *pool) unused(i int, seed uint64, given []netip.Addr) (netip.Addr, bool) {
	r, used := &p.config.Ranges[i], p.used[i]
	start := seed
	if used.last != ^uint64(0) {
		start %= used.last + 1
	}
	wrapped := false
	for from := start; ; {
		at, ok := used.next(from)
		switch {
		case ok && !slices.Contains(given, r.nth(at)):
			return r.nth(at), true
		case ok && at < used.last:
			from = at + 1
		case wrapped:
			return netip.Addr{}, false
		default:
			from, wrapped = 0, true
		}
	}
}

// refresh notes whether an address is in use, after something that bears on it has changed.
func (p *pool) refresh(a netip.Addr) {
	for i := range p.config.Ranges {
		if r := &p.config.Ranges[i]; r.has(a) {
			p.used[i].put(r.index(a), p.leases.at[a] != nil || p.rest.holds(a) || !p.open(a))
		}
	}
}

// seconds returns how long a client may have an address.
func (p *pool) seconds(a netip.Addr, h *Host) uint32 {
	if h != nil && h.LeaseSeconds != 0 {
		return h.LeaseSeconds
	}
	for _, r := range p.config.Ranges {
		if r.has(a) {
			return p.config.lease(r.LeaseSeconds)
		}
	}
	return p.config.lease(0)
}

// store gives an address to an identity, and returns what happened.
func (p *pool) store(l lease.Lease, now int64) []lease.Change {
	var changes []lease.Change
	id, kind := owner(&l), lease.Added
	e := p.leases.at[l.IP]
	if e != nil && owner(&e.Lease) != id {
		changes = p.end(e, now)
		p.drop(e)
		e = nil
	}
	if e == nil {
		p.rest.drop(l.IP)
		e = p.leases.add(l)
		p.refresh(l.IP)
	} else if e.Live(now) {
		kind = lease.Renewed
	}
	e.Lease = l
	p.queue(e, now)
	for o := p.leases.of[id]; o != nil; o = o.older {
		if o != e && !o.Live(now) {
			p.drop(o) // another address is this client's from now on
		}
	}
	return append(changes, lease.Change{Kind: kind, Lease: l})
}

// end makes a lease one of the past. It is remembered, so that the client gets the address again.
func (p *pool) end(e *entry, now int64) []lease.Change {
	if !e.Live(now) {
		return nil
	}
	e.Ends = now
	p.queue(e, now)
	return []lease.Change{{Kind: lease.Deleted, Lease: e.Lease}}
}

// queue puts an entry where its end belongs.
func (p *pool) queue(e *entry, now int64) {
	switch {
	case e.Live(now):
		p.leases.place(e, &p.leases.running)
	case p.open(e.IP):
		p.leases.place(e, &p.leases.ended)
	default:
		p.leases.place(e, nil)
	}
}

// retire forgets a lease that has ended if nobody will get its address again.
func (p *pool) retire(e *entry) {
	if e.queue == nil && p.fixed[e.IP] == nil {
		p.drop(e)
	}
}

// drop forgets a lease.
func (p *pool) drop(e *entry) {
	p.leases.remove(e)
	p.refresh(e.IP)
}

// settle makes leases that have run out ones of the past, and addresses that have rested fresh ones.
func (p *pool) settle(now int64) []lease.Change {
	var changes []lease.Change
	for len(p.leases.running) > 0 && !p.leases.running[0].Live(now) {
		e := p.leases.running[0]
		changes = append(changes, lease.Change{Kind: lease.Deleted, Lease: e.Lease})
		p.queue(e, now)
		p.retire(e)
	}
	for a, ok := p.rest.over(now); ok; a, ok = p.rest.over(now) {
		p.refresh(a)
	}
	return changes
}
