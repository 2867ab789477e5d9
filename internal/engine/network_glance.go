package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"taproom/internal/engine/netwhy"
	"taproom/internal/network/why"
)

// inTheWay begins the problems that rules of others are.
const inTheWay = "network '%s': its guests' packets are lost"

// glanceAfter is how long after its start a network is looked at: no start waits for it, and those that start meanwhile are
// looked at together. Firewalld alone has some hundred rules.
const glanceAfter = 100 * time.Millisecond

// glanceShare is which part of the time is spent on looks, at most, while networks start one after the other: with the rules of
// iptables a look takes in those of every network.
const glanceShare = 20

// glancePause is how long to wait before the next look, after one that took so long.
func glancePause(took time.Duration) time.Duration {
	return max(glanceAfter, (glanceShare-1)*took)
}

// glances is the networks that started and are still to be looked at.
type glances struct {
	mu      sync.Mutex
	waiting map[*network]bool
	now     chan struct{} // closed when somebody wants to know; nil: it is, or there is nobody to look
	over    chan struct{} // closed when nobody waits any more; nil: nobody looks
	took    time.Duration // the last look
}

// glanceSoon has it looked at whether rules of others lose packets of networks' guests.
func (e *Engine) glanceSoon(nets ...*network) {
	if e.why.look == nil {
		return
	}
	g := &e.glances
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting == nil {
		g.waiting = map[*network]bool{}
	}
	for _, n := range nets {
		g.waiting[n] = true
	}
	if g.over == nil && len(nets) > 0 {
		g.now, g.over = make(chan struct{}), make(chan struct{})
		now := g.now
		e.work.Go(func() { e.glanceWaiting(now) })
	}
}

// glanceWaiting looks at all that wait, until nobody does.
func (e *Engine) glanceWaiting(now <-chan struct{}) {
	g := &e.glances
	for {
		g.mu.Lock()
		pause := glancePause(g.took)
		g.mu.Unlock()
		select {
		case <-time.After(pause):
		case <-now:
		case <-e.ctx.Done():
		}
		g.mu.Lock()
		nets := slices.Collect(maps.Keys(g.waiting))
		clear(g.waiting)
		g.mu.Unlock()
		began := time.Now()
		if e.ctx.Err() == nil {
			e.glance(e.ctx, nets)
		}
		g.mu.Lock()
		g.took = time.Since(began)
		if len(g.waiting) == 0 || e.ctx.Err() != nil {
			close(g.over)
			g.now, g.over = nil, nil
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
	}
}

// glanced waits until every network that has started has been looked at.
func (e *Engine) glanced(ctx context.Context) {
	g := &e.glances
	g.mu.Lock()
	over := g.over
	if g.now != nil {
		close(g.now)
		g.now = nil
	}
	g.mu.Unlock()
	if over == nil {
		return
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// glance looks whether rules of others lose packets of networks' guests, and lists that as problems of the networks. It sends
// nothing and runs no program; what it cannot see it says nothing of.
func (e *Engine) glance(ctx context.Context, nets []*network) {
	if e.why.look == nil {
		return
	}
	others := e.why.look.Others()
	for _, n := range nets {
		e.glanceAt(ctx, others, n)
		if n.view().live == nil { // it went meanwhile, and its problems with it
			e.troubles.solved(n.uuid, fmt.Sprintf(inTheWay, n.label))
		}
	}
}

func (e *Engine) glanceAt(ctx context.Context, others *netwhy.Others, n *network) {
	doc := n.view().live
	if doc == nil || !doc.Routed() || len(doc.IPs) == 0 {
		return
	}
	begin := fmt.Sprintf(inTheWay, n.label)
	facts, err := others.Glance(ctx, e.networkSubject(n, doc))
	if err != nil {
		e.log.Debug("look whether others' rules are in the way", "network", n.label, "error", err)
		e.troubles.solved(n.uuid, begin)
		return
	}
	var what []string
	for _, f := range why.Glance(facts) {
		what = append(what, fmt.Sprintf("%s: %s (%s, %s); fix: %s; taproom net why %s says more", begin, f.Words, f.Whose, f.Where, f.Fix, n.label))
	}
	for _, s := range e.troubles.instead(n.uuid, begin, what...) { // most looks find what the one before has found
		e.log.Warn(s)
	}
}
