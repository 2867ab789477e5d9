package dhcp4

import (
	"encoding/binary"
	"hash/fnv"
	"net/netip"
	"strings"

	"taproom/internal/network/packet"
)

const (
	// maxLeases bounds what one network remembers, however large its ranges are.
	maxLeases = 1 << 16
	// offerSeconds is how long an offered address waits for its client.
	offerSeconds = 30
	// window is how many addresses are given before the next ones, and looked at ahead.
	window = 64
	// restSeconds is how long an address that somebody was found to use is left alone: ten minutes, as dnsmasq.
	restSeconds = 600
)

// pool decides which client gets which address.
type pool struct {
	net      Config
	hosts    map[string]*Host     // by "mac …", "id …", "name …"
	reserved map[netip.Addr]*Host // fixed addresses
	fresh    *bitmap              // places in the ranges that have no lease, offer or other use
	leases   *table
	offers   *aging[netip.Addr, identity] // promised to a client that has not asked for it yet
	offered  map[identity]netip.Addr      // the same the other way round
	resting  *aging[netip.Addr, struct{}] // in use by somebody who was not given it
	blocked  func(a netip.Addr, client packet.MAC, now int64) bool
}

func newPool(n Config, leases *table) *pool {
	p := &pool{
		net: n, leases: leases, hosts: map[string]*Host{}, reserved: map[netip.Addr]*Host{},
		offers: newAging[netip.Addr, identity](offerSeconds), offered: map[identity]netip.Addr{},
		resting: newAging[netip.Addr, struct{}](restSeconds),
		blocked: func(netip.Addr, packet.MAC, int64) bool { return false },
	}
	for i := range n.Hosts {
		h := &n.Hosts[i]
		p.hosts[h.key()] = h
		if h.IP.IsValid() {
			p.reserved[h.IP] = h
		}
	}
	var size uint64
	for _, r := range n.Ranges {
		size += uint64(number(r.End)-number(r.Start)) + 1
	}
	p.fresh = newBitmap(int(min(size, 2*maxLeases))) // more than can be in use: a free one is found if there is one
	for i := range p.fresh.size {
		p.refresh(p.nth(i))
	}
	return p
}

func (h *Host) key() string {
	switch {
	case h.MAC != "":
		mac, _ := packet.ParseMAC(h.MAC) // Validate has seen it
		return "mac " + mac.String()
	case h.ClientID != "":
		return "id " + strings.ToLower(h.ClientID)
	}
	return "name " + strings.ToLower(h.Name)
}

// host returns the client's entry, if it has one.
func (p *pool) host(c client) *Host {
	if len(p.hosts) == 0 {
		return nil
	}
	for _, key := range []string{"mac " + c.mac.String(), "id " + c.sent, "id " + idText(c.sent), "name " + strings.ToLower(c.name)} {
		if h := p.hosts[key]; h != nil && !strings.HasSuffix(key, " ") {
			return h
		}
	}
	return nil
}

// choose returns the address for a client: its fixed one, the one it has or had, the one it was promised, the one it
// wishes for, then one of the next that nobody ever had.
func (p *pool) choose(c client, wish netip.Addr, now int64) (netip.Addr, bool) {
	candidates := make([]netip.Addr, 0, 4)
	if h := p.host(c); h != nil {
		candidates = append(candidates, h.IP)
	}
	if l := p.leases.find(c.identity); l != nil {
		candidates = append(candidates, l.IP)
	}
	for _, a := range append(candidates, p.offered[c.identity], wish) {
		if p.allowed(a, c) && !p.taken(a, c, now) {
			return a, true
		}
	}
	if a, ok := p.unused(c, now); ok {
		return a, true
	}
	return p.reuse(c, now)
}

// allowed reports whether the configuration lets a client have an address.
func (p *pool) allowed(a netip.Addr, c client) bool {
	if !a.IsValid() {
		return false
	}
	if h := p.reserved[a]; h != nil {
		return h == p.host(c)
	}
	return p.inRange(a)
}

// inRange reports whether an address is for everybody.
func (p *pool) inRange(a netip.Addr) bool {
	s, _ := p.net.subnet(a)
	_, ok := p.rangeOf(a)
	return ok && a != s.Gateway && a != s.Server
}

// taken reports whether somebody else has an address, or was promised it, or it must rest, or somebody is heard to use it
// whom nothing gives it to. Whom we gave it to is asked nothing: another guest could claim it to drive him away.
func (p *pool) taken(a netip.Addr, c client, now int64) bool {
	l := p.leases.at[a]
	if l != nil && l.Live(now) && !c.owns(&l.Lease) {
		return true
	}
	to, offered := p.offers.get(a, now)
	if offered && to != c.identity {
		return true
	}
	if _, rests := p.resting.get(a, now); rests {
		return true
	}
	ours := offered || l != nil && l.Live(now)
	return !ours && p.blocked(a, c.mac, now)
}

// better reports whether the client's fixed address is another one and could be had now.
func (p *pool) better(a netip.Addr, c client, now int64) bool {
	h := p.host(c)
	return h != nil && h.IP.IsValid() && h.IP != a && !p.taken(h.IP, c, now)
}

// upcoming returns the first addresses without a history: those of the window that new clients are given one of, and of the
// one behind it.
func (p *pool) upcoming() []netip.Addr {
	out := make([]netip.Addr, 0, window)
	for i, ok := p.fresh.next(0); ok && len(out) < window && len(p.leases.at) < maxLeases; {
		out = append(out, p.nth(i))
		j, more := p.fresh.next((i + 1) % p.fresh.size)
		i, ok = j, more && j > i
	}
	return out
}

// unused finds an address without a history. The ranges are given window by window, so that the next addresses can be
// looked at ahead; the place in a window depends on the client alone, so that it is the same when all that is known was lost.
func (p *pool) unused(c client, now int64) (netip.Addr, bool) {
	first, ok := p.fresh.next(0)
	if !ok || len(p.leases.at) >= maxLeases {
		return netip.Addr{}, false
	}
	h := fnv.New64a()
	_, _ = h.Write(c.mac[:]) // never fails (hash.Hash)
	_, _ = h.Write([]byte(c.id))
	begin := first - first%window
	size := min(window, p.fresh.size-begin)
	place := int(h.Sum64() % uint64(size))
	for i := range size {
		at := begin + (place+i)%size
		if a := p.nth(at); p.fresh.has(at) && !p.blocked(a, c.mac, now) {
			return a, true
		}
	}
	return p.nth(first), true // somebody uses all of the window
}

// reuse finds an address somebody else had: the one that has been free longest, else the oldest promise not taken up,
// else the one that has rested longest. Without the latter two, one guest inventing MACs would lock out all others.
func (p *pool) reuse(c client, now int64) (netip.Addr, bool) {
	for e := p.leases.ended.Front(); e != nil; e = e.Next() {
		if a := e.Value.(*entry).IP; p.allowed(a, c) && !p.taken(a, c, now) {
			return a, true
		}
	}
	if len(p.leases.running) > 0 {
		if l := p.leases.running[0]; !l.Live(now) && p.allowed(l.IP, c) && !p.taken(l.IP, c, now) {
			return l.IP, true
		}
	}
	free := func(a netip.Addr) bool {
		l := p.leases.at[a]
		return p.allowed(a, c) && (l == nil || !l.Live(now))
	}
	for a := range p.offers.all() {
		if _, rests := p.resting.get(a, now); !rests && free(a) {
			return a, true
		}
	}
	for a := range p.resting.all() {
		if free(a) {
			return a, true
		}
	}
	return netip.Addr{}, false
}

// promise keeps an address for a client until it asks for it; an earlier promise to it is forgotten.
func (p *pool) promise(a netip.Addr, c client, now int64) {
	p.forget(c.identity)
	if to, ok := p.offers.entries[a]; ok {
		delete(p.offered, to.Value.(aged[netip.Addr, identity]).value)
	}
	p.resting.drop(a)
	p.offers.set(a, c.identity, now)
	p.offered[c.identity] = a
	p.refresh(a)
}

// forget drops the promise made to a client.
func (p *pool) forget(c identity) {
	if a, ok := p.offered[c]; ok {
		delete(p.offered, c)
		p.offers.drop(a)
		p.refresh(a)
	}
}

// leave takes an address out of use for a while.
func (p *pool) leave(a netip.Addr, now int64) {
	p.resting.set(a, struct{}{}, now)
	p.refresh(a)
}

// tidy drops what has run out.
func (p *pool) tidy(now int64) {
	for _, o := range p.offers.tidy(now) {
		delete(p.offered, o.value)
		p.refresh(o.key)
	}
	for _, r := range p.resting.tidy(now) {
		p.refresh(r.key)
	}
}

// refresh notes whether an address is without a history and unused, after something that bears on it has changed.
func (p *pool) refresh(a netip.Addr) {
	i, ok := p.place(a)
	if !ok {
		return
	}
	used := p.leases.at[a] != nil || p.offers.entries[a] != nil || p.resting.entries[a] != nil || p.reserved[a] != nil
	p.fresh.put(i, !used && p.inRange(a))
}

func (p *pool) rangeOf(a netip.Addr) (Range, bool) { return rangeOf(p.net.Ranges, a) }

func rangeOf(ranges []Range, a netip.Addr) (Range, bool) {
	for _, r := range ranges {
		if r.Start.Compare(a) <= 0 && a.Compare(r.End) <= 0 {
			return r, true
		}
	}
	return Range{}, false
}

// seconds returns how long a client may have an address.
func (p *pool) seconds(a netip.Addr, c client) uint32 {
	if h := p.host(c); h != nil && h.LeaseSeconds != 0 {
		return h.LeaseSeconds
	}
	r, _ := p.rangeOf(a)
	return p.net.lease(r.LeaseSeconds)
}

// nth returns the address at a place in all ranges put together.
func (p *pool) nth(i int) netip.Addr {
	for _, r := range p.net.Ranges {
		n := int(number(r.End)-number(r.Start)) + 1
		if i < n {
			var b [4]byte
			binary.BigEndian.PutUint32(b[:], number(r.Start)+uint32(i))
			return netip.AddrFrom4(b)
		}
		i -= n
	}
	return netip.Addr{}
}

// place is the inverse of nth, for places that the bitmap has.
func (p *pool) place(a netip.Addr) (int, bool) {
	before := 0
	for _, r := range p.net.Ranges {
		if r.Start.Compare(a) <= 0 && a.Compare(r.End) <= 0 {
			i := before + int(number(a)-number(r.Start))
			return i, i < p.fresh.size
		}
		before += int(number(r.End)-number(r.Start)) + 1
	}
	return 0, false
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}
