package learn

import "time"

const (
	portRate    = 500  // messages a second of one NIC, and as many at once
	networkRate = 1000 // of all NICs of a network, and as many at once
	quietRate   = 16   // messages a second of one NIC, and as many at once, that may draw on the half that is kept for such
)

// bucket holds tokens, of which one pays for one message. The zero value is full.
type bucket struct {
	spent float64 // tokens taken and not yet grown back
	last  time.Duration
}

// grow gives back what has grown at a rate, in tokens a second.
func (b *bucket) grow(rate float64, at time.Duration) {
	b.spent = max(0, b.spent-rate*(at-b.last).Seconds())
	b.last = at
}

// share is what one NIC may have looked at.
type share struct{ all, quiet bucket }

// source is who is limited: a kind of message that passes a NIC one way.
type source struct {
	kind kind
	way  Direction
	name string
}

// limits decides which messages are looked at. The zero value has none yet. Times are of any steady clock.
type limits struct {
	ports    map[source]*share
	networks map[source]*bucket
}

// take reports whether a message is looked at.
func (l *limits) take(k kind, way Direction, port, network string, at time.Duration) bool {
	if l.ports == nil {
		l.ports, l.networks = map[source]*share{}, map[source]*bucket{}
	}
	own, shared := source{k, way, port}, source{k, way, network}
	p, n := l.ports[own], l.networks[shared]
	if p == nil {
		p = &share{bucket{last: at}, bucket{last: at}}
		l.ports[own] = p
	}
	if n == nil {
		n = &bucket{last: at}
		l.networks[shared] = n
	}
	p.all.grow(portRate, at)
	p.quiet.grow(quietRate, at)
	n.grow(networkRate, at)
	most := float64(networkRate)
	quiet := p.quiet.spent+1 <= quietRate
	if !quiet {
		most /= 2 // what is left is for those who say little
	}
	if p.all.spent+1 > portRate || n.spent+1 > most {
		return false
	}
	p.all.spent++
	n.spent++
	if quiet {
		p.quiet.spent++
	}
	return true
}

// forget forgets a NIC, and its network when it was the last of it.
func (l *limits) forget(port, network string, last bool) {
	for _, k := range []kind{configuration, neighbours} {
		for _, d := range []Direction{FromGuest, ToGuest} {
			delete(l.ports, source{k, d, port})
			if last {
				delete(l.networks, source{k, d, network})
			}
		}
	}
}
