package vnetd

import (
	"time"

	"taproom/internal/network/packet"
)

const (
	// messageRate is how many messages a second one network gets answered; a thousand guests that boot at once need
	// four messages each, over several seconds.
	messageRate = 500
	// messageBurst is how many may come at once.
	messageBurst = 1000
)

// bucket limits one network. The zero value is full.
type bucket struct {
	spent float64 // tokens taken and not yet grown back
	last  time.Time
}

// take takes a token and returns zero, or returns how long there will not be a worthwhile number of them.
func (b *bucket) take(now time.Time) time.Duration {
	if !b.last.IsZero() {
		b.spent = max(0, b.spent-messageRate*now.Sub(b.last).Seconds())
	}
	b.last = now
	if b.spent+1 > messageBurst {
		return 100 * time.Millisecond
	}
	b.spent++
	return 0
}

// limits are those of one network: guests' ARP is not answered, and must not cost the answers to anything else.
type limits struct{ questions, heard bucket }

// take is bucket.take for a frame of a type.
func (l *limits) take(kind uint16, now time.Time) time.Duration {
	if kind == packet.TypeARP {
		return l.heard.take(now)
	}
	return l.questions.take(now)
}
