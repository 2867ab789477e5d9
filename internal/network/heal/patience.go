package heal

import (
	"slices"
	"time"
)

// How often a thing is put back until somebody who changes it again is left alone.
const (
	Most   = 3
	Within = time.Minute
)

// Patience says when to stop putting a thing back. It is not safe for several goroutines.
type Patience struct {
	things map[Thing]*history
}

type history struct {
	repaired []time.Time // in the last minute, oldest first
	stopped  bool
}

// Allows reports whether a thing that is not as it should be is put back at a time. It is not when it was put back Most
// times Within the time before; then news says that this is the first time of being left alone. What is left alone stays
// so, however late it is, until it is Right or Forget is called.
func (p *Patience) Allows(t Thing, now time.Time) (allowed, news bool) {
	h := p.things[t]
	if h == nil {
		return true, false
	}
	if h.stopped {
		return false, false
	}
	h.repaired = slices.DeleteFunc(h.repaired, func(at time.Time) bool { return now.Sub(at) >= Within })
	if len(h.repaired) < Most {
		return true, false
	}
	h.stopped = true
	return false, true
}

// Repaired notes that a thing was put back.
func (p *Patience) Repaired(t Thing, now time.Time) {
	if p.things == nil {
		p.things = map[Thing]*history{}
	}
	h := p.things[t]
	if h == nil {
		h = &history{}
		p.things[t] = h
	}
	h.repaired = append(h.repaired, now)
}

// Right notes that a thing is as it should be. One that was left alone somebody else has put right, and it is seen to again.
func (p *Patience) Right(t Thing) (again bool) {
	if h := p.things[t]; h == nil || !h.stopped {
		return false
	}
	delete(p.things, t)
	return true
}

// Forget begins afresh with whatever somebody says so of: that is asked for is no quarrel.
func (p *Patience) Forget(is func(Thing) bool) {
	for t := range p.things {
		if is(t) {
			delete(p.things, t)
		}
	}
}
