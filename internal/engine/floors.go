package engine

import (
	"context"
	"slices"
	"strings"
	"sync"

	"taproom/internal/api/virterr"
	"taproom/internal/network/qos"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// floors are what NICs have of their networks' bandwidth in any case. A NIC has its part from when a place was found for it until
// its name is given back.
type floors struct {
	mu  sync.Mutex
	nic map[string]map[string]part // by the network's name and the port's id

	// applying is held while what bounds a network is made as it should be: each who changes its floors finds it as the one
	// before left it.
	applying sync.Mutex
	there    map[string]bool // networks whose bridges are there
}

// part is what a NIC has. While it is asked for less, what it had is nobody else's: the change may fail.
type part struct {
	qos.Floor
	had uint64 // KiB/s; 0 when nothing is asked for
}

// most is what the NIC may have in any case, in KiB/s.
func (p part) most() uint64 { return max(p.KiB, p.had) }

// claim gives a port a part of its network, in place of what it has; 0 is none. The class is another one only where it had none. What
// it has more until now is kept for it until settle.
func (f *floors) claim(network, id, mac string, kib, average uint64) (class uint16, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.nic[network]
	old, had := all[id]
	if kib == 0 {
		if had {
			f.set(network, id, part{Floor: qos.Floor{Class: old.Class, MAC: old.MAC}, had: old.most()})
		}
		return 0, nil
	}
	sum, used := kib, map[uint16]bool{}
	for other, n := range all {
		if other != id {
			sum += n.most()
			used[n.Class] = true
		}
	}
	switch {
	case average == 0:
		return 0, virterr.New(virterr.OperationUnsupported, "network '%s' has no inbound bandwidth that a floor could be a part of; give it one (<bandwidth><inbound average='…'/>), or leave the floor out", network)
	case sum > average:
		return 0, virterr.New(virterr.OperationInvalid, "a floor of %d KiB/s would overcommit 'inbound.average' of network '%s': it has %d, and floors of other NICs are %d", kib, network, average, sum-kib)
	}
	if class = old.Class; !had {
		if class, err = qos.Take(used); err != nil {
			return 0, virterr.New(virterr.OperationFailed, "network '%s': %w", network, err)
		}
	}
	f.set(network, id, part{Floor: qos.Floor{Class: class, MAC: strings.ToLower(mac), KiB: kib}, had: old.most()})
	return class, nil
}

// settle gives back what a port had and has no more.
func (f *floors) settle(network, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, ok := f.nic[network][id]
	switch n.had = 0; {
	case !ok:
	case n.KiB == 0:
		delete(f.nic[network], id)
	default:
		f.nic[network][id] = n
	}
}

// set notes a part that was claimed before. The caller holds mu.
func (f *floors) set(network, id string, n part) {
	if f.nic == nil {
		f.nic = map[string]map[string]part{}
	}
	if f.nic[network] == nil {
		f.nic[network] = map[string]part{}
	}
	f.nic[network][id] = n
}

// note notes the part that a port is written down with, or that it has none.
func (f *floors) note(p port) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.Shape == nil || p.Shape.Class == 0 {
		delete(f.nic[p.Network], p.ID)
		return
	}
	f.set(p.Network, p.ID, part{Floor: qos.Floor{Class: p.Shape.Class, MAC: p.Guest, KiB: p.Shape.In.Floor}})
}

// release takes a port's part back, and reports whether it had one.
func (f *floors) release(network, id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, had := f.nic[network][id]
	delete(f.nic[network], id)
	return had
}

// on are the parts of a network that there are to be, sorted by class.
func (f *floors) on(network string) []qos.Floor {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []qos.Floor
	for _, n := range f.nic[network] {
		if n.KiB > 0 {
			out = append(out, n.Floor)
		}
	}
	slices.SortFunc(out, func(a, b qos.Floor) int { return int(a.Class) - int(b.Class) })
	return out
}

// fit refuses a network's document whose bandwidth is less than the floors that NICs on it have.
func (f *floors) fit(doc *spec.Network) error {
	sum := f.sum(doc.Name)
	limits, err := qos.Read(doc.Bandwidth)
	if limits = limits.Kept(); err == nil && sum > limits.In.Average {
		return virterr.New(virterr.OperationInvalid, "NICs on network '%s' have floors of %d KiB/s together, and its inbound average would be %d; give it more, or take floors away first (virsh domiftune --inbound)", doc.Name, sum, limits.In.Average)
	}
	return err
}

// sum is what NICs have of a network together, in KiB/s.
func (f *floors) sum(network string) (sum uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.nic[network] {
		sum += n.most()
	}
	return sum
}

// bridgeThere says that a network's bridge is there to be bounded, or will not be.
func (f *floors) bridgeThere(network string, there bool) {
	f.applying.Lock()
	defer f.applying.Unlock()
	if f.there == nil {
		f.there = map[string]bool{}
	}
	f.there[network] = there
}

// rebound makes what bounds an active network be as its document and the NICs on it say.
func (e *Engine) rebound(ctx context.Context, network string) error {
	n, ok := e.networks.named(network)
	if !ok {
		return nil
	}
	live := n.view().live
	if live == nil || live.Bandwidth == nil { // without bandwidth there are no floors
		return nil
	}
	return e.reboundAs(ctx, live)
}

// reboundAs is rebound for a document that is not the network's yet.
func (e *Engine) reboundAs(ctx context.Context, doc *spec.Network) error {
	e.floors.applying.Lock()
	defer e.floors.applying.Unlock()
	if !e.floors.there[doc.Name] {
		return nil
	}
	want, err := e.networkShape(doc)
	if err == nil {
		_, err = e.converge(ctx, want, networkShapeScope(doc))
	}
	return err
}

// networkShapeScope is what may bound a network.
func networkShapeScope(doc *spec.Network) state.Scope {
	name := shaperName(doc.UUID.String())
	return state.Scope{Shapes: []string{doc.BridgeName(), name}, Shapers: []string{name}}
}

// reboundFor makes the networks of ports that have floors be bounded so.
func (e *Engine) reboundFor(ctx context.Context, ports []port) error {
	done := map[string]bool{}
	for _, p := range ports {
		if p.Shape == nil || p.Shape.Class == 0 || done[p.Network] {
			continue
		}
		done[p.Network] = true
		if err := e.rebound(ctx, p.Network); err != nil {
			return err
		}
	}
	return nil
}

// leaveFloor gives back what a port has of its network.
func (e *Engine) leaveFloor(p port) {
	if !e.floors.release(p.Network, p.ID) {
		return
	}
	if err := e.rebound(e.ctx, p.Network); err != nil && e.ctx.Err() == nil {
		e.log.Error("what a NIC had of its network's bandwidth is not given back", "network", p.Network, "error", err)
	}
}
