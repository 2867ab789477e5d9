package arp

import (
	"net/netip"

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
// use.
type Prober struct {
	from   packet.MAC
	wanted []netip.Addr
	states map[netip.Addr]*state // of wanted
	held   map[netip.Addr]holder
	claims map[packet.MAC]int // how many of held a card has
	second int64              // in which sent counts
	sent   int
}

// state is an address that is wanted.
type state struct {
	sent    int   // probes of this round
	next    int64 // when something is to be done
	valid   int64 // how long the next result counts
	checked bool
}

type holder struct {
	mac   packet.MAC
	until int64
}

// NewProber returns one that probes from the bridge's address.
func NewProber(from packet.MAC) *Prober {
	return &Prober{from: from, states: map[netip.Addr]*state{}, held: map[netip.Addr]holder{}, claims: map[packet.MAC]int{}}
}

// Want tells which addresses are to be given next, the likeliest first; from the 65th on they are not probed. What is
// known of others is forgotten, except who blocks them.
func (p *Prober) Want(candidates []netip.Addr, now int64) {
	p.tidy(now)
	wanted := make([]netip.Addr, 0, min(len(candidates), maxWanted))
	states := make(map[netip.Addr]*state, cap(wanted))
	for _, a := range candidates {
		if len(wanted) == maxWanted {
			break
		}
		if !a.Is4() || a.IsUnspecified() || states[a] != nil {
			continue
		}
		s := p.states[a]
		if s == nil {
			s = &state{next: now, valid: firstValid}
		}
		states[a] = s
		wanted = append(wanted, a)
	}
	p.wanted, p.states = wanted, states
}

// Next returns when Due has something to do; lease.Never for nothing.
func (p *Prober) Next() int64 {
	next := int64(lease.Never)
	for _, a := range p.wanted {
		n := p.states[a].next
		if h, ok := p.held[a]; ok {
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
	for _, a := range p.wanted {
		s := p.states[a]
		if _, blocked := p.held[a]; blocked || s.next > now {
			continue
		}
		switch {
		case s.sent == probes: // nobody has answered
			s.checked, s.sent = true, 0
			s.next, s.valid = now+s.valid, min(2*s.valid, longestValid)
		case p.sent == maxPerSecond:
			s.next = now + 1
		default:
			p.sent++
			s.sent++
			s.next = now + probeWait
			frames = append(frames, p.probe(a))
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
	if !known && p.states[a.Sender] == nil {
		return
	}
	if h.mac != a.SenderMAC {
		if p.claims[a.SenderMAC] >= maxClaims || !known && len(p.held) >= maxHeld {
			return
		}
		if known {
			p.release(h.mac)
		}
		p.claims[a.SenderMAC]++
	}
	p.held[a.Sender] = holder{mac: a.SenderMAC, until: now + blockSeconds}
	if s := p.states[a.Sender]; s != nil { // afterwards everything begins anew
		*s = state{next: now, valid: firstValid}
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
	s := p.states[a]
	_, held := p.Holder(a, now)
	return s != nil && s.checked && !held
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
