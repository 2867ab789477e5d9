package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"taproom/internal/api/own"
	"taproom/internal/api/virterr"
	"taproom/internal/network/helper"
	"taproom/internal/network/portforward"
	"taproom/internal/spec"
)

// targets are what is known of the guests that networks' forwards name, by network. Whoever changes it holds the network's
// slot.
type targets struct {
	mu sync.Mutex
	of map[spec.UUID]map[string]portforward.Guest // what the firewall has, or is about to have
	in map[spec.UUID]map[string]portforward.Guest // what it has
	// waiting are networks whose forwards are tried again in a while.
	waiting map[spec.UUID]bool
	// barred are ports of the loopback that somebody else has.
	barred map[spec.UUID][]*helper.ForwardTakenError
}

// waits notes whether a network's forwards are tried again in a while, and reports whether that is news.
func (t *targets) waits(id spec.UUID, so bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting[id] == so {
		return false
	}
	if t.waiting == nil {
		t.waiting = map[spec.UUID]bool{}
	}
	if t.waiting[id] = so; !so {
		delete(t.waiting, id)
	}
	return true
}

func (t *targets) known(id spec.UUID) map[string]portforward.Guest {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[id]
}

// force is where ports lead.
func (t *targets) force(id spec.UUID) map[string]portforward.Guest {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.in[id]
}

// done is when what was learnt is in force.
func (t *targets) done(id spec.UUID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.in == nil {
		t.in = map[spec.UUID]map[string]portforward.Guest{}
	}
	if t.in[id] = t.of[id]; len(t.in[id]) == 0 {
		delete(t.in, id)
	}
}

// learn reports whether it is something new.
func (t *targets) learn(id spec.UUID, known map[string]portforward.Guest) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if maps.Equal(t.of[id], known) {
		return false
	}
	if t.of == nil {
		t.of = map[spec.UUID]map[string]portforward.Guest{}
	}
	if t.of[id] = known; len(known) == 0 {
		delete(t.of, id)
	}
	return true
}

// lookForTargets finds out where the guests are that a network's forwards name: what the document says of a name first, then
// what the domain of that name has from DHCP. Names that guests give themselves count for nothing: they could be anybody's.
func (e *Engine) lookForTargets(ctx context.Context, n *network, doc *spec.Network) (map[string]portforward.Guest, error) {
	names := portforward.Named(doc)
	if len(names) == 0 {
		return nil, nil
	}
	known := map[string]portforward.Guest{}
	leased, err := e.leasedBy(ctx, n, doc)
	if err != nil {
		return nil, err
	}
	macs := e.macsOfGuests()[n.label]
	for _, name := range names {
		g, ok := portforward.Static(doc, name)
		for _, mac := range macs[name] {
			fixed, _ := portforward.StaticOf(doc, func(h spec.DHCPHost) bool { return strings.EqualFold(h.MAC, mac) })
			g.Add(fixed.Four, fixed.Six)
			for _, l := range leased[mac] {
				g.Add(l)
			}
		}
		d, defined := e.domains.named(name)
		switch {
		case ok || g.Four.IsValid() || g.Six.IsValid():
		case !defined:
			g.Why = fmt.Sprintf("there is no guest '%s', and no <host name='%[1]s'> in the network's <dhcp>", name)
		case d.view().run == nil:
			g.Why = fmt.Sprintf("guest '%s' does not run", name)
		case len(macs[name]) == 0:
			g.Why = fmt.Sprintf("guest '%s' has no NIC on network '%s'", name, n.label)
		default:
			g.Why = fmt.Sprintf("guest '%s' has no address from the network's DHCP yet; one that sets its address itself is named by that", name)
		}
		known[name] = g
	}
	return known, nil
}

// changeForwards makes a network's forwards follow their guests. The caller holds the slot.
func (e *Engine) changeForwards(ctx context.Context, n *network) error {
	live := n.view().live
	if live == nil {
		e.targets.unbar(n.uuid)
		e.targets.learn(n.uuid, nil)
		e.targets.done(n.uuid)
		return nil
	}
	known, err := e.lookForTargets(ctx, n, live)
	if err != nil {
		return err
	}
	was := e.targets.known(n.uuid)
	have, err := e.compileNetwork(live)
	if err != nil || !e.targets.learn(n.uuid, known) && len(e.targets.bars(n.uuid)) == 0 {
		return err
	}
	defer e.comes(n, live)()
	e.targets.unbar(n.uuid)
	if _, err = e.convergeButBarred(ctx, n, live, have); err != nil {
		e.targets.learn(n.uuid, was) // so that it is news the next time, too
		return err
	}
	e.targets.done(n.uuid)
	return e.targets.barsError(n.uuid)
}

// Forwards implements server.Forwards.
func (e *Engine) Forwards(ctx context.Context, name string) ([]own.Forward, error) {
	some := e.networks.all()
	if name != "" {
		n, err := e.networkNamed(name)
		if err != nil {
			return nil, err
		}
		some = []*network{n}
	}
	out := []own.Forward{}
	for _, n := range some {
		v := n.view()
		doc := v.live
		if doc == nil && v.def != nil {
			var err error
			if doc, err = spec.ParseNetwork(v.def.xml); err != nil {
				return nil, err
			}
		}
		if doc == nil {
			continue
		}
		all, err := portforward.Look(doc, e.targets.force(n.uuid))
		if err != nil {
			return nil, virterr.Wrap(virterr.XMLError, err)
		}
		for _, f := range all {
			if taken := e.barredWhy(n, f); taken != "" {
				f.Live, f.Why = nil, taken
			}
			out = append(out, ownForward(n, v, f))
		}
	}
	return out, nil
}

func ownForward(n *network, v *netView, f portforward.Forward) own.Forward {
	o := own.Forward{Network: n.label, Protocol: f.Protocol, Port: f.Port, End: f.End, To: f.Guest, ToPort: f.ToPort, Live: []string{}, Why: f.Why}
	if f.Address.IsValid() {
		o.Address = f.Address.String()
	}
	if f.Target.IsValid() {
		o.To = f.Target.String()
	}
	if v.live == nil {
		o.Why = "the network is not active"
		return o
	}
	for _, a := range f.Live {
		o.Live = append(o.Live, a.String())
	}
	slices.Sort(o.Live)
	return o
}
