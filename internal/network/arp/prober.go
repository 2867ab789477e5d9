package arp

import (
	"net/netip"
	"slices"

	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

// RFC 5227, 1.1 has a host send three probes, one or two seconds apart, and wait two seconds more, because it cannot know
// its link. A bridge's link is the host's memory: an answer takes well under a millisecond unless the guest is stopped. Two
// probes a second apart outlive one that a full queue dropped, and two seconds later the address can be had.
const (
	probes    = 2
	probeWait = 1
	// A result counts until the next probe. They get rarer while an address stays free, because each wakes all guests, and
	// because a guest that takes the address later is heard anyway: it announces itself and asks for its gateway.
	firstValid   = 60
	longestValid = 960
	// blockSeconds is how long an address rests after somebody answered: as one that a client declined.
	blockSeconds = 600
)

// The bounds.
const (
	maxWanted    = 64
	maxPerSecond = 32 // frames: a flood of clients must not become a flood of broadcasts
	maxHeld      = 1024
	maxClaims    = 16 // addresses that one network card can block; a router that answers for everybody blocks no more
)

// Prober knows which of the addresses to come are in use. Times are seconds of lease.Clock. It is not safe for concurrent
// use. A thousand networks have one each, so it is small until somebody answers.
type Prober struct {
	from   packet.MAC
	wanted []candidate
	held   map[netip.Addr]holder
	claims map[packet.MAC]int // how many of held a card has
	second int64              // in which sent counts
	sent   int
}

// candidate is an address that is wanted.
type candidate struct {
	next    int64 // when something is to be done
	a       [4]byte
	valid   int16 // how many seconds the next result counts
	sent    uint8 // probes of this round
	checked bool
}

func (c *candidate) addr() netip.Addr { return netip.AddrFrom4(c.a) }

type holder struct {
	mac   packet.MAC
	until int64
}

// NewProber returns one that probes from the bridge's address.
func NewProber(from packet.MAC) *Prober { return &Prober{from: from} }

// find returns what is known of an address that is wanted, or nil.
func (p *Prober) find(a netip.Addr) *candidate {
	if !a.Is4() {
		return nil
	}
	i := slices.IndexFunc(p.wanted, func(c candidate) bool { return c.a == a.As4() })
	if i < 0 {
		return nil
	}
	return &p.wanted[i]
}

// Wants reports whether those are the candidates that Want was told last, if it took all of them.
func (p *Prober) Wants(candidates []netip.Addr) bool {
	return slices.EqualFunc(p.wanted, candidates, func(c candidate, a netip.Addr) bool { return c.addr() == a })
}

// Want tells which addresses are to be given next, the likeliest first; from the 65th on they are not probed. What is
// known of others is forgotten, except who blocks them.
func (p *Prober) Want(candidates []netip.Addr, now int64) {
	p.tidy(now)
	wanted := make([]candidate, 0, min(len(candidates), maxWanted))
	for _, a := range candidates {
		if len(wanted) == maxWanted {
			break
		}
		if !a.Is4() || a.IsUnspecified() || slices.ContainsFunc(wanted, func(c candidate) bool { return c.a == a.As4() }) {
			continue
		}
		c := candidate{a: a.As4(), next: now, valid: firstValid}
		if known := p.find(a); known != nil {
			c = *known
		}
		wanted = append(wanted, c)
	}
	p.wanted = wanted
}

// Next returns when Due has something to do; lease.Never for nothing.
func (p *Prober) Next() int64 {
	next := int64(lease.Never)
	for i := range p.wanted {
		c := &p.wanted[i]
		n := c.next
		if h, ok := p.held[c.addr()]; ok {
			n = max(n, h.until)
		}
		next = min(next, n)
	}
	return next
}

// Due returns the frames to send now.
func (p *Prober) Due(now int64) [][]byte {
	p.tidy(now)
	if p.second != now {
		p.second, p.sent = now, 0
	}
	var frames [][]byte
	for i := range p.wanted {
		c := &p.wanted[i]
		if _, blocked := p.held[c.addr()]; blocked || c.next > now {
			continue
		}
		switch {
		case c.sent == probes: // nobody has answered
			c.checked, c.sent = true, 0
			c.next, c.valid = now+int64(c.valid), min(2*c.valid, longestValid)
		case p.sent == maxPerSecond:
			c.next = now + 1
		default:
			p.sent++
			c.sent++
			c.next = now + probeWait
			frames = append(frames, p.probe(c.addr()))
		}
	}
	return frames
}

func (p *Prober) probe(a netip.Addr) []byte {
	return (&packet.ARP{
		From: p.from, To: packet.Broadcast(), Op: packet.ARPRequest, SenderMAC: p.from, Sender: netip.IPv4Unspecified(), Target: a,
	}).Frame()
}

// Heard takes an ARP packet of the network. Any packet from a wanted address shows that somebody has it, not answers alone
// (RFC 5227, 2.1.1); another one's probe shows nothing, since it may be the client that was just offered the address.
func (p *Prober) Heard(a *packet.ARP, now int64) {
	if a.SenderMAC == p.from {
		return
	}
	p.tidy(now)
	h, known := p.held[a.Sender]
	c := p.find(a.Sender)
	if !known && c == nil {
		return
	}
	if h.mac != a.SenderMAC {
		if p.claims[a.SenderMAC] >= maxClaims || !known && len(p.held) >= maxHeld {
			return
		}
		if known {
			p.release(h.mac)
		}
		if p.held == nil {
			p.held, p.claims = map[netip.Addr]holder{}, map[packet.MAC]int{}
		}
		p.claims[a.SenderMAC]++
	}
	p.held[a.Sender] = holder{mac: a.SenderMAC, until: now + blockSeconds}
	if c != nil { // afterwards everything begins anew
		*c = candidate{a: c.a, next: now, valid: firstValid}
	}
}

// Blocked reports whether somebody else than the client uses an address.
func (p *Prober) Blocked(a netip.Addr, client packet.MAC, now int64) bool {
	mac, ok := p.Holder(a, now)
	return ok && mac != client
}

// Holder returns the network card that was last heard to use an address in the past ten minutes.
func (p *Prober) Holder(a netip.Addr, now int64) (packet.MAC, bool) {
	h, ok := p.held[a]
	return h.mac, ok && h.until > now
}

// Checked reports whether an address was probed lately and nobody answered.
func (p *Prober) Checked(a netip.Addr, now int64) bool {
	c := p.find(a)
	_, held := p.Holder(a, now)
	return c != nil && c.checked && !held
}

// tidy ends what has run out.
func (p *Prober) tidy(now int64) {
	for a, h := range p.held {
		if h.until <= now {
			delete(p.held, a)
			p.release(h.mac)
		}
	}
}

func (p *Prober) release(mac packet.MAC) {
	if p.claims[mac]--; p.claims[mac] == 0 {
		delete(p.claims, mac)
	}
}
