package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"taproom/internal/host"
	"taproom/internal/network/heal"
	"taproom/internal/network/state"
	"taproom/internal/network/vnet"
	"taproom/internal/spec"
)

// fenceNow is the fence that the bridge of a network should have at present.
func (e *Engine) fenceNow(doc *spec.Network) host.Fence {
	f := vnet.Fence(doc)
	if e.healer.sheltered.Load() {
		f = f.Or(vnet.Shelter(doc))
	}
	return f
}

// unprotected reports whether rules are gone that keep others from guests. While firewalld runs, a bridge that is out of its zone
// counts as missing though the rules for it are there.
func (e *Engine) unprotected(got state.Observed, want state.State) bool {
	zones := e.zones != nil && e.zones.Runs()
	for el := range want.Elements {
		bridge := strings.HasSuffix(el.Set, "bridges") || strings.HasPrefix(el.Set, "zone")
		if !got.Elements[el] && !(zones && bridge) {
			return true
		}
	}
	return false
}

// withdraws notes which elements a plan removes from the firewall, before it does.
func (h *healer) withdraws(scope []state.Element, want map[state.Element]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, el := range scope {
		if want[el] {
			continue
		}
		if h.withdrawn == nil {
			h.withdrawn = map[state.Element]bool{}
		}
		h.withdrawn[el] = true
	}
}

// restored notes that the firewall has elements again that may have been withdrawn.
func (h *healer) restored(elements map[state.Element]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.withdrawn, func(el state.Element, _ bool) bool { return elements[el] })
}

// notWithdrawn returns those of the elements that the daemon itself does not remove. It forgets withdrawn elements of which no active
// network has any.
func (h *healer) notWithdrawn(elements, ofActive map[state.Element]bool) map[state.Element]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.withdrawn, func(el state.Element, _ bool) bool { return !ofActive[el] })
	out := maps.Clone(elements)
	maps.DeleteFunc(out, func(el state.Element, _ bool) bool { return h.withdrawn[el] })
	return out
}

// lossesNow counts how often the rules that protect guests were found gone.
func (h *healer) lossesNow() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.losses
}

// protected notes whether the rules that protect guests were there at the last look, and closes or opens networks accordingly. Where
// changes are found by polling, rules that were just restored open nothing yet. Two looks may overlap: losses is lossesNow of before
// the look, and rules that were there open nothing if another look has found them gone since.
func (e *Engine) protected(yes bool, losses int) {
	h := &e.healer
	h.mu.Lock()
	switch {
	case !yes:
		h.losses++
	case h.losses != losses:
		h.mu.Unlock()
		return
	}
	stands, repaired := h.patience.Stands(heal.Thing{Kind: heal.Rules}, e.now())
	h.exposed = !yes || e.polls && h.exposed && repaired && stands < standsFor
	h.mu.Unlock()
	e.shelter()
}

// shelter closes networks, or opens them again, as is needed now. Guests of closed networks are unreachable: without rules, the
// host cannot distinguish replies from other packets. The next call (pollSettings) retries bridges that failed.
func (e *Engine) shelter() {
	h := &e.healer
	h.sheltering.Lock()
	defer h.sheltering.Unlock()
	h.mu.Lock()
	r, quarrel := h.quarrels[heal.Thing{Kind: heal.Rules}]
	on := h.exposed || quarrel && r.removed
	h.mu.Unlock()
	if e.fabric == nil || e.noFences != nil {
		return
	}
	// Set sheltered first: a network that starts now makes its bridge accordingly.
	if flips := h.sheltered.Swap(on) != on; flips {
		h.flips++
	} else if !h.unsettled {
		return
	}
	done, failed := e.refence()
	h.unsettled = len(failed) > 0
	e.unfenced(on, failed)
	if len(done) > 0 {
		e.log.Warn(map[bool]string{
			true:  "nothing is forwarded to guests of these networks until the firewall's rules stand",
			false: "what the firewall's rules let through is forwarded again to guests of these networks",
		}[on], "networks", strings.Join(done, ", "))
	}
}

// flipsNow counts how often networks were closed and opened. A caller that applies a network's fence passes the count from before it
// made the Env to refenceSince.
func (e *Engine) flipsNow() int {
	h := &e.healer
	h.sheltering.Lock()
	defer h.sheltering.Unlock()
	return h.flips
}

// refenceSince sets fences again if networks were closed or opened since: the caller may have applied a fence of before.
func (e *Engine) refenceSince(flips int) {
	h := &e.healer
	h.sheltering.Lock()
	stale := h.flips != flips
	h.unsettled = h.unsettled || stale
	h.sheltering.Unlock()
	if stale {
		e.shelter()
	}
}

// misfenced is the bridge of an active network that has another fence than it should have at present.
type misfenced struct {
	uuid  spec.UUID
	live  *spec.Network
	index int
	want  host.Fence
}

// unfenced logs which bridges could not be closed or opened, each failure once until it is another or has ended. Bridges that are not
// there are none. The caller holds h.sheltering.
func (e *Engine) unfenced(on bool, failed map[spec.UUID]error) {
	h := &e.healer
	before := h.unfenced
	h.unfenced = map[spec.UUID]string{}
	for uuid, err := range failed {
		if errors.Is(err, host.ErrNoLink) {
			continue
		}
		what := fmt.Sprintf("cannot be %s; it is tried again: %v", map[bool]string{true: "closed while the firewall's rules are missing", false: "opened"}[on], err)
		if h.unfenced[uuid] = what; before[uuid] == what {
			continue
		}
		name := "bridges of networks"
		if n, ok := e.networks.uuid(uuid); ok {
			name = "the bridge of network '" + n.label + "'"
		}
		e.log.Error(name + " " + what)
	}
}

// misfenced compares the fences of all active networks' bridges. Failed is why bridges could not be compared, by network: ErrNoLink if
// a bridge is not there. The zero UUID stands for the list of links. The caller holds h.sheltering.
func (e *Engine) misfenced() (wrong []misfenced, failed map[spec.UUID]error) {
	failed = map[spec.UUID]error{}
	links, err := e.k.Links()
	if err != nil {
		failed[spec.UUID{}] = err
		if !errors.Is(err, host.ErrPartial) {
			return nil, failed
		}
	}
	bridges := map[string]int{} // by name and alias
	for _, l := range links {
		if l.Kind == "bridge" && l.Group == e.cfg.Identity.LinkGroup {
			bridges[l.Name+" "+l.Alias] = l.Index
		}
	}
	var all []misfenced
	for uuid, live := range e.activeNetworks() {
		if vnet.Fence(live).Or(vnet.Shelter(live)) == (host.Fence{}) { // it has none at any time
			continue
		}
		index, there := bridges[live.BridgeName()+" "+state.Alias(uuid.String())]
		if !there {
			failed[uuid] = fmt.Errorf("%s: %w", live.BridgeName(), host.ErrNoLink)
			continue
		}
		all = append(all, misfenced{uuid, live, index, e.fenceNow(live)})
	}
	var indexes []int
	for _, m := range all {
		indexes = append(indexes, m.index)
	}
	have, unread := e.k.Fences(indexes)
	for _, m := range all {
		if err := unread[m.index]; err != nil {
			failed[m.uuid] = fmt.Errorf("%s: %w", m.live.BridgeName(), err)
		} else if have[m.index] != m.want {
			wrong = append(wrong, m)
		}
	}
	return wrong, failed
}

// refence sets the fences of active networks' bridges where they are not as wanted, and returns the names of these networks, and as
// misfenced why others failed.
func (e *Engine) refence() (done []string, failed map[spec.UUID]error) {
	wrong, failed := e.misfenced()
	want := map[int]host.Fence{}
	for _, m := range wrong {
		want[m.index] = m.want
	}
	if len(want) == 0 {
		return nil, failed
	}
	unset := e.k.SetFences(want)
	for _, m := range wrong {
		if err := unset[m.index]; err != nil {
			failed[m.uuid] = fmt.Errorf("%s: %w", m.live.BridgeName(), err)
		} else {
			done = append(done, m.live.Name)
		}
	}
	slices.Sort(done)
	return done, failed
}

// closedMeanwhile says which networks are closed without the firewall's rules, and which are open.
func (e *Engine) closedMeanwhile() string {
	names := map[string][]string{}
	for _, live := range e.activeNetworks() {
		what := "; open to others without rules: "
		switch fence := e.fenceNow(live); {
		case fence == host.ClosedFence() && e.noFences == nil:
			what = "; isolated as ever: "
		case fence != host.Fence{} && e.noFences == nil:
			what = "; closed meanwhile, so that nothing is forwarded to guests: "
		case fence == host.Fence{} && vnet.Shelter(live) == host.Fence{}: // this network is open in any case
			continue
		}
		names[what] = append(names[what], live.Name)
	}
	var parts []string
	for what, list := range names {
		slices.Sort(list)
		parts = append(parts, what+strings.Join(list, ", "))
	}
	slices.Sort(parts)
	return strings.Join(parts, "")
}
