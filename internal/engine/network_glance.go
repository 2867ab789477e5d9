package engine

import (
	"context"
	"fmt"

	"taproom/internal/network/why"
	"taproom/internal/spec"
)

// inTheWay begins the problems that rules of others are.
const inTheWay = "network '%s': its guests' packets are lost"

// glance looks whether rules of others lose packets of a network's guests, and lists that as a problem of the network. It
// sends nothing and runs no program; what it cannot see it says nothing of.
func (e *Engine) glance(ctx context.Context, n *network, doc *spec.Network) {
	if !doc.Routed() || len(doc.IPs) == 0 || e.why.look == nil {
		return
	}
	begin := fmt.Sprintf(inTheWay, n.label)
	e.troubles.solved(n.uuid, begin)
	facts, err := e.why.look.Glance(ctx, e.networkSubject(n, doc))
	if err != nil {
		e.log.Debug("look whether others' rules are in the way", "network", n.label, "error", err)
		return
	}
	for _, f := range why.Glance(facts) {
		what := fmt.Sprintf("%s: %s (%s, %s); fix: %s; taproom net why %s says more", begin, f.Words, f.Whose, f.Where, f.Fix, n.label)
		if e.troubles.add(n.uuid, what) {
			e.log.Warn(what)
		}
	}
}

// glanceAll does so for every network that is active.
func (e *Engine) glanceAll(ctx context.Context) {
	for _, n := range e.networks.all() {
		if v := n.view(); v.live != nil {
			e.glance(ctx, n, v.live)
		}
	}
}
