package ra

import "taproom/internal/network/lease"

// The timing of RFC 4861, 10, in seconds. MAX_RA_DELAY_TIME, which keeps several routers from answering in chorus, is not
// there: a network of ours has one router, and a guest that starts waits for it.
const (
	initialInterval = 16 // MAX_INITIAL_RTR_ADVERT_INTERVAL
	initialCount    = 3  // MAX_INITIAL_RTR_ADVERTISEMENTS
	minDelay        = 3  // MIN_DELAY_BETWEEN_RAS
	// unicastPerSecond bounds the answers to single guests; who comes later hears the next one to everybody.
	unicastPerSecond = 32
)

// Schedule says when to advertise to everybody, and whom to answer alone. Times are seconds of lease.Clock.
type Schedule struct {
	interval int64
	random   func(n int64) int64 // below n
	due      int64
	last     int64 // when the last one was sent to everybody
	initial  int   // how many of a burst are still to be sent
	second   int64 // in which answered counts
	answered int
}

// NewSchedule starts with a burst at once. interval is MaxRtrAdvInterval in seconds; random returns a number from 0 up to
// and without n, as math/rand/v2's Int64N does.
func NewSchedule(interval uint16, now int64, random func(n int64) int64) *Schedule {
	s := &Schedule{random: random, last: now - minDelay}
	s.Change(interval, now)
	return s
}

// Change starts a burst, because what is announced has changed.
func (s *Schedule) Change(interval uint16, now int64) {
	s.interval, s.initial = int64(interval), initialCount
	s.due = max(now, s.last+minDelay)
}

// Due returns when the next advertisement to everybody is to be sent; lease.Never after Stop.
func (s *Schedule) Due() int64 { return s.due }

// Burst reports whether an initial advertisement is the next to be sent.
func (s *Schedule) Burst() bool { return s.initial > 0 }

// Sent tells that an advertisement has gone to everybody, and plans the next one.
func (s *Schedule) Sent(now int64) {
	s.last = now
	// MinRtrAdvInterval is a third of the maximum, and near it for the shortest (RFC 4861, 6.2.1).
	least := s.interval / 3
	if s.interval < 9 {
		least = max(minDelay, s.interval*3/4)
	}
	wait := least + s.random(s.interval-least+1)
	if s.initial = max(0, s.initial-1); s.initial > 0 {
		wait = min(wait, initialInterval)
	}
	s.due = now + wait
}

// Solicited reports whether a guest that asked is to be answered at once and alone. Otherwise the next advertisement to
// everybody is its answer, and Due has moved to the first moment that is allowed for one.
func (s *Schedule) Solicited(q *Solicitation, now int64) bool {
	if s.due == lease.Never {
		return false
	}
	if s.second != now {
		s.second, s.answered = now, 0
	}
	if !q.Src.IsUnspecified() && s.answered < unicastPerSecond {
		s.answered++
		return true
	}
	s.due = min(s.due, max(now, s.last+minDelay))
	return false
}

// Stop ends the schedule until the next Change.
func (s *Schedule) Stop() { s.due, s.initial = lease.Never, 0 }
