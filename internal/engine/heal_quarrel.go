package engine

import (
	"fmt"
	"time"

	"taproom/internal/network/firewall"
	"taproom/internal/network/heal"
)

const (
	// probeEvery is the interval of checks whether other programs keep changing a repaired object. It is less than heal.Quiet, so
	// that they are not taken for quiet.
	probeEvery = heal.Quiet / 6
	// standsFor is how long restored rules must last before networks that are closed without them are opened. Rules that are
	// flushed ten times a second do not last that long.
	standsFor = heal.Quiet / 2
)

// insist follows an object that other programs changed again after its repair: it is repaired later, and again, until the
// repair lasts. It reports the quarrel as a trouble.
func (e *Engine) insist(r repair) {
	h := &e.healer
	h.mu.Lock()
	_, already := h.quarrels[r.thing]
	if h.quarrels == nil {
		h.quarrels = map[heal.Thing]repair{}
	}
	h.quarrels[r.thing] = r
	h.mu.Unlock()
	if already {
		return
	}
	e.troubled(r.thing, e.insistence(r))
	e.work.Go(func() { e.followQuarrel(r.thing) })
}

// stuck schedules another repair of an object that could not be repaired, or not be examined.
func (e *Engine) stuck(r repair, err error) {
	h := &e.healer
	r.err = err
	h.mu.Lock()
	h.patience.Stuck(r.thing, e.now())
	h.mu.Unlock()
	e.insist(r)
}

// quarrelOf returns the followed repair of an object that other programs keep changing, or that cannot be repaired, and whether
// it will be repaired: not if it counts as repaired, nor if it is not followed.
func (h *healer) quarrelOf(t heal.Thing) (r repair, due bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, quarrel := h.quarrels[t]
	_, wrong := h.patience.Due(t)
	return r, quarrel && wrong
}

// wrong reports whether an object was incorrect when it was last examined, and is not repaired since.
func (h *healer) wrong(t heal.Thing) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, wrong := h.patience.Due(t)
	return wrong
}

// unseen notes that rules that protect guests may be gone: they could not be read.
func (h *healer) unseen(t heal.Thing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r, quarrel := h.quarrels[t]; quarrel {
		r.removed = true
		h.quarrels[t] = r
	}
}

// followQuarrel repairs an object whenever it is due, until the repair lasts or the engine ends.
func (e *Engine) followQuarrel(t heal.Thing) {
	rules := t.Kind == heal.Rules
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	seen := -1
	for over := false; !over; over = e.quarrelOver(t) {
		if rules {
			e.shelter()
			seen = e.probeRules(t, seen)
		}
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
		}
	}
	if !rules {
		return
	}
	e.shelter()
	if err := firewall.UnprobeOf(e.ctx, e.fw); err != nil {
		e.log.Warn("remove the mark by which flushes of the firewall's rules were noticed", "error", err)
	}
}

// probeRules checks whether other programs keep removing rules while the rules of networks are missing. Seen is the number of
// changes that the last call returned, and -1 at first; it returns the present number.
func (e *Engine) probeRules(t heal.Thing, seen int) int {
	gone, err := firewall.ProbeOf(e.ctx, e.fw)
	h := &e.healer
	h.mu.Lock()
	defer h.mu.Unlock()
	now := e.now()
	_, wrong := h.patience.Due(t)
	q, _ := h.patience.Quarrel(t)
	if gone && err == nil && wrong { // a look that failed is made again
		if q.Changes == seen { // no notification reported it
			h.patience.Changed(t, "", now)
			q.Changes++
		}
		h.patience.Listen(t, now)
	}
	return q.Changes
}

// quarrelOver repairs an object if that is due, and reports whether the repair lasts: then it is followed no longer.
func (e *Engine) quarrelOver(t heal.Thing) bool {
	if !known(healView{e}, t) {
		return e.forsake(t, false)
	}
	h := &e.healer
	h.mu.Lock()
	due, wrong := h.patience.Due(t)
	stands, any := h.patience.Stands(t, e.now())
	h.mu.Unlock()
	switch {
	case any && !wrong && (t.Kind != heal.Rules || stands >= standsFor):
		return e.forsake(t, true)
	case any && (!wrong || e.now().Before(due)):
		return false
	}
	h.mu.Lock()
	o, _ := h.queue(t)
	h.mu.Unlock()
	e.healOwned(o)
	h.mu.Lock()
	now := e.now()
	if late, wrong := h.patience.Due(t); wrong && late.Equal(due) {
		h.patience.Stuck(t, now)
	}
	_, anyNow := h.patience.Stands(t, now)
	h.mu.Unlock()
	return !any && !anyNow && e.forsake(t, true) // a client asked for the present state, and nothing is wrong with it
}

// forsake stops following an object, unless it was changed since.
func (e *Engine) forsake(t heal.Thing, right bool) bool {
	h := &e.healer
	h.mu.Lock()
	if _, wrong := h.patience.Due(t); right && wrong {
		h.mu.Unlock()
		return false
	}
	if t.Kind == heal.Rules {
		h.exposed = false
	}
	r := h.quarrels[t]
	delete(h.quarrels, t)
	delete(h.troubles, t)
	h.mu.Unlock()
	if right {
		e.log.Info(r.what + " is as it should be again, and nobody changes it")
	}
	return true
}

// insistence describes the state of a quarrel.
func (e *Engine) insistence(r repair) string {
	h, now := &e.healer, e.now()
	h.mu.Lock()
	q, _ := h.patience.Quarrel(r.thing)
	due, wrong := h.patience.Due(r.thing)
	h.mu.Unlock()
	by := q.By
	if by == "" {
		by = r.who
	}
	if by != "" {
		by = ", last by " + by
	}
	next := "it is put back now, and counts as put back once it stands"
	if wrong {
		next = fmt.Sprintf("it is put back again in %.1f s, or when nobody has changed it for %v", max(0, due.Sub(now).Seconds()), q.Quiet)
	}
	if r.err != nil {
		next += fmt.Sprintf(", as it could not be the last time (%v)", r.err)
	}
	closed := ""
	if r.thing.Kind == heal.Rules {
		closed = e.closedMeanwhile()
	}
	return fmt.Sprintf("%s was put back %d times and changed again: %d changes were noticed within %.0f s%s; %s%s; %s, or put it back by hand:\n%s",
		r.what, q.Repairs, q.Changes, max(1, now.Sub(q.Since).Seconds()), by, next, closed, r.instead, r.commands)
}
