package heal

import "time"

// How long Patience waits. The first repair is made at once.
const (
	// Shortest bounds the wait between the first and the second repair. Each later bound is twice the previous bound.
	Shortest = time.Second
	// Longest bounds both waits.
	Longest = time.Minute
	// Quiet is the time without a change after which an object is repaired early: the program that changed it has ended.
	Quiet = 300 * time.Millisecond
	// Calm is how long an object has to be correct until earlier changes count no more.
	Calm = time.Minute
)

// Patience decides when to repair an object (a link, rules, forwarding) that other programs keep changing. It never gives up:
// between two repairs it waits 1, 2, 4 … 60 s, and less once the changes stop. After an early repair was undone, the next early
// repair needs twice the time without changes, so a program that answers each repair with a change causes as few repairs as a
// program that never stops. It is not safe for several goroutines.
type Patience struct {
	things map[Thing]*history
}

type history struct {
	Quarrel
	wrong bool // it was incorrect when it was last examined
	early bool // the last repair came before its wait was over

	repaired, changed time.Time // at last
	wait, quiet       time.Duration
}

// Quarrel records that an object was repaired and changed again.
type Quarrel struct {
	Since   time.Time // the first change
	Changes int       // that were noticed; there may have been more
	Repairs int
	// Quiet is the time without a change after which the object is repaired early.
	Quiet time.Duration
	By    string // the program that made the last change with a known author; "" if there is none
}

// Changed notes that another program changed an object, whether it was repaired since or not. The program's name may be empty.
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

// Listen restarts the time without changes of an object that needs repair: an earlier change would have gone unnoticed.
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

// of returns the history of an object; it starts a new history unless the present history still counts.
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

// Wrong notes that an object was found incorrect, and returns the time from which on it may be repaired.
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

// Due returns the time from which on an incorrect object may be repaired; false if nothing is wrong with it.
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

// Repaired notes that an object was repaired.
func (p *Patience) Repaired(t Thing, now time.Time) {
	h := p.of(t, now)
	h.early = h.Repairs > 0 && now.Before(h.repaired.Add(h.wait))
	if h.wait = min(2*h.wait, Longest); h.Repairs == 0 {
		h.wait = Shortest
	}
	h.Repairs++
	h.repaired, h.wrong = now, false
}

// Stuck notes that an object that was due could not be repaired, or not even be examined: the next attempt is later.
func (p *Patience) Stuck(t Thing, now time.Time) {
	h := p.of(t, now)
	h.wrong, h.early = true, false
	h.repaired, h.changed = now, now
	h.wait, h.quiet = min(max(2*h.wait, Shortest), Longest), min(2*h.quiet, Longest)
	h.Repairs = max(1, h.Repairs) // that was tried
}

// Right notes that an object was found correct. Earlier changes still count: an examination may come late, after the repair of
// the change that caused it.
func (p *Patience) Right(t Thing) {
	switch h := p.things[t]; {
	case h == nil:
	case h.Repairs == 0:
		delete(p.things, t)
	default:
		h.wrong = false
	}
}

// Stands returns the time since the repair of an object without a later change, 0 while it is incorrect; false if it was
// neither changed nor repaired.
func (p *Patience) Stands(t Thing, now time.Time) (time.Duration, bool) {
	h := p.things[t]
	if h == nil || h.wrong {
		return 0, h != nil
	}
	return now.Sub(h.repaired), true
}

// Quarrel returns the quarrel over an object that was repaired and changed again; false if there is no quarrel.
func (p *Patience) Quarrel(t Thing) (Quarrel, bool) {
	h := p.things[t]
	if h == nil || h.Repairs == 0 || !h.wrong && h.Repairs == 1 {
		return Quarrel{}, false
	}
	q := h.Quarrel
	q.Quiet = h.quiet
	return q, true
}

// Forget deletes the history of each object for which the function returns true: a client's own request is no quarrel.
func (p *Patience) Forget(is func(Thing) bool) {
	for t := range p.things {
		if is(t) {
			delete(p.things, t)
		}
	}
}
