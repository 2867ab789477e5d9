package heal

import "time"

// How long Patience waits. The first repair is made at once.
const (
	// Shortest is how long after the first repair the second is made at the latest. Each wait is twice the one before.
	Shortest = time.Second
	// Longest bounds both waits.
	Longest = time.Minute
	// Quiet is how long nobody has to change a thing until it is repaired sooner than that: whoever did has ended.
	Quiet = 300 * time.Millisecond
	// Calm is how long a thing has to be as it should be until earlier changes count no more.
	Calm = time.Minute
)

// Patience says when a thing that others change again and again is put back. It never gives up: between two repairs it waits
// 1, 2, 4 … 60 s, and less where nobody changes the thing any more. A repair that came early and was undone makes it wait twice
// as long for the next silence, so whoever answers each repair with a change is met as rarely as one who never stops. It is
// not safe for several goroutines.
type Patience struct {
	things map[Thing]*history
}

type history struct {
	Quarrel
	wrong bool // it was not as it should be when it was looked at last
	early bool // the last repair came before its wait was over

	repaired, changed time.Time // at last
	wait, quiet       time.Duration
}

// Quarrel is that a thing was put back and changed again.
type Quarrel struct {
	Since   time.Time // the first change
	Changes int       // that were noticed; there may have been more
	Repairs int
	// Quiet is how long nobody has to change the thing until it is put back sooner.
	Quiet time.Duration
	By    string // who made the last change of which that was told; "" where nothing was told
}

// Changed notes that somebody changed a thing, whether it was put back since or not. Who may be empty.
func (p *Patience) Changed(t Thing, who string, now time.Time) {
	h := p.of(t, now)
	if !h.wrong {
		h.undone()
	}
	h.Changes++
	h.changed = now
	if who != "" {
		h.By = who
	}
}

// Listen has the silence that a thing is repaired after begin now: before, nobody would have noticed a change.
func (p *Patience) Listen(t Thing, now time.Time) {
	if h := p.things[t]; h != nil && h.wrong {
		h.changed = now
	}
}

// undone is called at the first change after a repair.
func (h *history) undone() {
	h.wrong = true
	if h.early {
		h.quiet = min(2*h.quiet, Longest)
	}
}

// of is the history of a thing, which begins now unless there is one that still counts.
func (p *Patience) of(t Thing, now time.Time) *history {
	h := p.things[t]
	if h != nil && !h.wrong && now.Sub(h.repaired) >= Calm {
		h = nil
	}
	if h == nil {
		if p.things == nil {
			p.things = map[Thing]*history{}
		}
		h = &history{Quarrel: Quarrel{Since: now}, quiet: Quiet}
		p.things[t] = h
	}
	return h
}

// Wrong notes that a thing was found not to be as it should be, and returns from when on it may be put back.
func (p *Patience) Wrong(t Thing, now time.Time) (due time.Time) {
	h := p.of(t, now)
	if !h.wrong {
		h.undone()
		h.changed = now
		h.Changes++
	}
	due, _ = p.Due(t)
	return due
}

// Due is when a thing that is not as it should be may be put back; false where nothing is wrong with it.
func (p *Patience) Due(t Thing) (time.Time, bool) {
	h := p.things[t]
	switch {
	case h == nil || !h.wrong:
		return time.Time{}, false
	case h.Repairs == 0:
		return h.Since, true
	}
	at, early := h.repaired.Add(h.wait), h.changed.Add(h.quiet)
	if early.Before(at) {
		at = early
	}
	return at, true
}

// Repaired notes that a thing was put back.
func (p *Patience) Repaired(t Thing, now time.Time) {
	h := p.of(t, now)
	h.early = h.Repairs > 0 && now.Before(h.repaired.Add(h.wait))
	if h.wait = min(2*h.wait, Longest); h.Repairs == 0 {
		h.wait = Shortest
	}
	h.Repairs++
	h.repaired, h.wrong = now, false
}

// Stuck notes that a thing that was due could not be put back, or not even be looked at: the next time is later.
func (p *Patience) Stuck(t Thing, now time.Time) {
	h := p.of(t, now)
	h.wrong, h.early = true, false
	h.repaired, h.changed = now, now
	h.wait, h.quiet = min(max(2*h.wait, Shortest), Longest), min(2*h.quiet, Longest)
	h.Repairs = max(1, h.Repairs) // that was tried
}

// Right notes that a thing was found as it should be. Earlier changes go on to count: a look may come late, and see what was put
// back after the change that it is for.
func (p *Patience) Right(t Thing) {
	switch h := p.things[t]; {
	case h == nil:
	case h.Repairs == 0:
		delete(p.things, t)
	default:
		h.wrong = false
	}
}

// Stands is how long nobody has changed a thing since it was put back, 0 while it is not as it should be; false where it was
// neither changed nor put back.
func (p *Patience) Stands(t Thing, now time.Time) (time.Duration, bool) {
	h := p.things[t]
	if h == nil || h.wrong {
		return 0, h != nil
	}
	return now.Sub(h.repaired), true
}

// Quarrel is what is known of a thing that was put back and changed again; false where it is in no quarrel.
func (p *Patience) Quarrel(t Thing) (Quarrel, bool) {
	h := p.things[t]
	if h == nil || h.Repairs == 0 || !h.wrong && h.Repairs == 1 {
		return Quarrel{}, false
	}
	q := h.Quarrel
	q.Quiet = h.quiet
	return q, true
}

// Forget begins afresh with whatever is says so of: what a client asked for is no quarrel.
func (p *Patience) Forget(is func(Thing) bool) {
	for t := range p.things {
		if is(t) {
			delete(p.things, t)
		}
	}
}
