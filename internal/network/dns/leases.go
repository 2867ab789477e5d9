package dns

import (
	"net/netip"
	"strings"
	"sync"
)

// maxAddresses is how many addresses of a name are told: a whole network of guests may call itself "ubuntu", and a
// message has an end.
const maxAddresses = 256

// leases knows which guest is called what, by its leases.
type leases struct {
	mu     sync.RWMutex
	byName map[string]*claims
	byAddr map[netip.Addr]claim
}

// claims are the addresses of all guests that call themselves the same.
type claims struct{ v4, v6 []netip.Addr }

// claim is where an address is among the claims of its name.
type claim struct {
	name string // wire form of one label
	at   int
}

func newLeases() *leases {
	return &leases{byName: map[string]*claims{}, byAddr: map[netip.Addr]claim{}}
}

// set makes a name the one of an address; an empty name, or one that no guest may have, leaves the address without.
func (l *leases) set(ip netip.Addr, name string) {
	ip = ip.Unmap().WithZone("")
	l.mu.Lock()
	defer l.mu.Unlock()
	if old, ok := l.byAddr[ip]; ok {
		if old.name == name {
			return
		}
		l.remove(ip, old)
	}
	if name == "" {
		return
	}
	c := l.byName[name]
	if c == nil {
		c = &claims{}
		l.byName[name] = c
	}
	list := c.family(ip)
	l.byAddr[ip] = claim{name, len(*list)}
	*list = append(*list, ip)
}

func (l *leases) remove(ip netip.Addr, old claim) {
	c := l.byName[old.name]
	list := c.family(ip)
	last := (*list)[len(*list)-1]
	(*list)[old.at] = last
	l.byAddr[last] = old
	*list = (*list)[:len(*list)-1]
	delete(l.byAddr, ip)
	if len(c.v4)+len(c.v6) == 0 {
		delete(l.byName, old.name)
	}
}

func (c *claims) family(ip netip.Addr) *[]netip.Addr {
	if ip.Is4() {
		return &c.v4
	}
	return &c.v6
}

// addresses appends those of a name, which ends in the root.
func (l *leases) addresses(v4, v6 []netip.Addr, name []byte) ([]netip.Addr, []netip.Addr) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if c := l.byName[string(name)]; c != nil {
		v4 = append(v4, c.v4[:min(len(c.v4), maxAddresses)]...)
		v6 = append(v6, c.v6[:min(len(c.v6), maxAddresses)]...)
	}
	return v4, v6
}

func (l *leases) name(ip netip.Addr) string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.byAddr[ip].name
}

// leaseName returns what a guest that calls itself s is called: one label, which may be followed by the network's
// domain. A guest that claims a name elsewhere, or one that machines look for by convention (RFC 6761; web proxies are
// found as "wpad"), is not called anything.
func (z *zone) leaseName(s string) string {
	s = strings.ToLower(strings.TrimSuffix(s, "."))
	if z.config.Domain != "" {
		s = strings.TrimSuffix(s, "."+strings.ToLower(strings.TrimSuffix(z.config.Domain, ".")))
	}
	if !isLabel(s) || s == "localhost" || s == "wpad" || s == "isatap" {
		return ""
	}
	return string(byte(len(s))) + s + "\x00"
}
