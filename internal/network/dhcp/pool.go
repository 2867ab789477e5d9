package dhcp

import (
	"encoding/binary"
	"hash/fnv"
	"net/netip"
	"strings"
)

const (
	// maxLeases bounds what one network remembers, however large its ranges are.
	maxLeases = 1 << 16
	// offerSeconds is how long an offered address waits for its client.
	offerSeconds = 30
	// declineSeconds is how long an address that a client found in use is left alone: ten minutes, as dnsmasq.
	declineSeconds = 600
)

// offer is an address promised to a client that has not asked for it yet.
type offer struct {
	to    client
	until int64
}

// pool decides which client gets which address.
type pool struct {
	net      Network
	hosts    map[string]*Host     // by "mac …", "id …", "name …"
	reserved map[netip.Addr]*Host // fixed addresses
	size     uint64               // addresses in all ranges
	leases   *table
	offers   map[netip.Addr]offer
	declined map[netip.Addr]int64
}

func newPool(n Network, leases *table) *pool {
	p := &pool{
		net: n, leases: leases,
		hosts: map[string]*Host{}, reserved: map[netip.Addr]*Host{},
		offers: map[netip.Addr]offer{}, declined: map[netip.Addr]int64{},
	}
	for i := range n.Hosts {
		h := &n.Hosts[i]
		p.hosts[h.key()] = h
		if h.IP.IsValid() {
			p.reserved[h.IP] = h
		}
	}
	for _, r := range n.Ranges {
		p.size += uint64(number(r.End)-number(r.Start)) + 1
	}
	return p
}

func (h *Host) key() string {
	switch {
	case h.MAC != "":
		mac, _ := parseMAC(h.MAC) // Validate has seen it
		return "mac " + mac.String()
	case h.ClientID != "":
		return "id " + strings.ToLower(h.ClientID)
	}
	return "name " + strings.ToLower(h.Name)
}

// host returns the client's entry, if it has one.
func (p *pool) host(c client) *Host {
	for _, key := range []string{"mac " + c.mac.String(), "id " + c.sent, "id " + idText(c.sent), "name " + strings.ToLower(c.name)} {
		if h := p.hosts[key]; h != nil && !strings.HasSuffix(key, " ") {
			return h
		}
	}
	return nil
}

// choose returns the address for a client: its fixed one, the one it has or had, the one it wishes for, then the first
// that nobody ever had, counted from a place that depends on its MAC alone.
func (p *pool) choose(c client, wish netip.Addr, now int64) (netip.Addr, bool) {
	candidates := make([]netip.Addr, 0, 3)
	if h := p.host(c); h != nil {
		candidates = append(candidates, h.IP)
	}
	if l := p.leases.find(c); l != nil {
		candidates = append(candidates, l.IP)
	}
	for _, a := range append(candidates, wish) {
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
	_, ok := p.rangeOf(a)
	return ok && a != p.net.Gateway && a != p.net.Server
}

// taken reports whether somebody else has an address, or was promised it, or it must rest.
func (p *pool) taken(a netip.Addr, c client, now int64) bool {
	if l := p.leases.at[a]; l != nil && l.live(now) && !c.owns(l) {
		return true
	}
	if o, ok := p.offers[a]; ok && o.until > now && (o.to.mac != c.mac || o.to.id != c.id) {
		return true
	}
	return p.declined[a] > now
}

// better reports whether the client's fixed address is another one and could be had now.
func (p *pool) better(a netip.Addr, c client, now int64) bool {
	h := p.host(c)
	return h != nil && h.IP.IsValid() && h.IP != a && !p.taken(h.IP, c, now)
}

// unused finds an address without a history.
func (p *pool) unused(c client, now int64) (netip.Addr, bool) {
	if p.size == 0 || len(p.leases.at) >= maxLeases {
		return netip.Addr{}, false
	}
	h := fnv.New64a()
	_, _ = h.Write(c.mac[:]) // never fails (hash.Hash)
	_, _ = h.Write([]byte(c.id))
	start := h.Sum64() % p.size
	for i := range min(p.size, 2*maxLeases) { // more than can be in use: a free one is found if there is one
		a := p.nth((start + i) % p.size)
		if p.leases.at[a] == nil && p.allowed(a, c) && !p.taken(a, c, now) {
			return a, true
		}
	}
	return netip.Addr{}, false
}

// reuse finds an address somebody else had: the one that has been free longest, else the oldest promise not taken up,
// else the oldest that was declined. Without the latter two, one guest inventing MACs would lock out all others.
func (p *pool) reuse(c client, now int64) (netip.Addr, bool) {
	var best netip.Addr
	var oldest int64
	consider := func(a netip.Addr, end int64) {
		l := p.leases.at[a]
		if p.allowed(a, c) && (l == nil || !l.live(now)) && (!best.IsValid() || end < oldest || end == oldest && a.Less(best)) {
			best, oldest = a, end
		}
	}
	for a, l := range p.leases.at {
		if !p.taken(a, c, now) {
			consider(a, l.end())
		}
	}
	if !best.IsValid() {
		for a, o := range p.offers {
			if p.declined[a] <= now {
				consider(a, o.until)
			}
		}
	}
	if !best.IsValid() {
		for a, end := range p.declined {
			consider(a, end)
		}
	}
	return best, best.IsValid()
}

// promise keeps an address for a client until it asks for it; an earlier promise to it is forgotten.
func (p *pool) promise(a netip.Addr, c client, now int64) {
	p.forget(c)
	delete(p.declined, a)
	p.offers[a] = offer{to: c, until: now + offerSeconds}
}

// forget drops the promises made to a client.
func (p *pool) forget(c client) {
	for a, o := range p.offers {
		if o.to.mac == c.mac && o.to.id == c.id {
			delete(p.offers, a)
		}
	}
}

// tidy drops what has run out.
func (p *pool) tidy(now int64) {
	for a, o := range p.offers {
		if o.until <= now {
			delete(p.offers, a)
		}
	}
	for a, until := range p.declined {
		if until <= now {
			delete(p.declined, a)
		}
	}
}

func (p *pool) rangeOf(a netip.Addr) (Range, bool) {
	for _, r := range p.net.Ranges {
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
func (p *pool) nth(i uint64) netip.Addr {
	for _, r := range p.net.Ranges {
		n := uint64(number(r.End)-number(r.Start)) + 1
		if i < n {
			var b [4]byte
			binary.BigEndian.PutUint32(b[:], number(r.Start)+uint32(i))
			return netip.AddrFrom4(b)
		}
		i -= n
	}
	return netip.Addr{}
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}
