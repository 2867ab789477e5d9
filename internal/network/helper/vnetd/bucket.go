package vnetd

import "time"

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
