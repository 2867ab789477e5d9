package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"taproom/internal/network/state"
	"taproom/internal/qemu/qmp"
	"taproom/internal/qemu/rxfilter"
	"taproom/internal/spec"
)

// filterPause is the least time between two looks at what one guest wants of its NICs: a guest can change it as fast as it
// likes. QEMU says once that it changed, and again only after it was asked.
const filterPause = 100 * time.Millisecond

// filters are the NICs of a guest whose filters are to be looked at, by alias.
type filters struct {
	mu        sync.Mutex
	changed   map[string]bool
	following bool // there is a goroutine that looks
	// said is when something was last said of a NIC.
	said map[string]time.Time
}

// filterSaid is how long nothing more is said of a NIC whose guest wants what it cannot have: it can want that ten times a second.
const filterSaid = time.Minute

// maySay reports whether something may be said of a NIC again, which then is.
func (f *filters) maySay(name string, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if last, ok := f.said[name]; ok && now.Sub(last) < filterSaid {
		return false
	}
	if f.said == nil {
		f.said = map[string]time.Time{}
	}
	f.said[name] = now
	return true
}

// add notes NICs, and reports whether nobody looks yet: then the caller has to.
func (f *filters) add(names []string) (first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		f.changed = map[string]bool{}
	}
	for _, name := range names {
		f.changed[name] = true
	}
	first = !f.following && len(f.changed) > 0
	f.following = f.following || first
	return first
}

// more reports whether there is a NIC to look at; with none nobody looks any more.
func (f *filters) more() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.following = len(f.changed) > 0
	return f.following
}

// take are the NICs to look at now, each once.
func (f *filters) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.Sorted(maps.Keys(f.changed))
	clear(f.changed)
	return out
}

// onRxFilter is a guest that gave a NIC another address, joined a group, or the like.
func (e *Engine) onRxFilter(ctx context.Context, d *domain, run *running, ev qmp.Event) {
	var data struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(ev.Data, &data) == nil && slices.Contains(run.trusted(), data.Name) {
		e.followFilters(ctx, d, run, data.Name)
	}
}

// trusted are the NICs whose guest is believed, by alias.
func (run *running) trusted() (out []string) {
	now := run.hardware()
	for _, p := range now.rec.Ports {
		if p.Trust {
			out = append(out, now.nic(p).Alias.Name)
		}
	}
	return out
}

// followFilters has the host's ends of NICs take what their guest wants, one look after the other, until ctx is done or the
// guest is gone.
func (e *Engine) followFilters(ctx context.Context, d *domain, run *running, names ...string) {
	if !run.filters.add(names) {
		return
	}
	e.work.Go(func() {
		for run.filters.more() {
			j, err := d.slot.Begin(ctx, "follow what domain '"+d.label+"' wants of its NICs")
			if err != nil {
				return
			}
			if d.view().run != run {
				j.End()
				return
			}
			for _, name := range run.filters.take() {
				err := e.followFilter(j.Context(), d, run, name)
				if err != nil && j.Context().Err() == nil && run.filters.maySay(name, e.now()) {
					e.log.Warn("the host's end of a NIC does not take what its guest wants", "domain", d.label, "nic", name, "error", err)
				}
			}
			j.End()
			select {
			case <-time.After(filterPause):
			case <-ctx.Done():
				return
			}
		}
	})
}

// followFilter asks what the guest wants of a NIC, writes that down and makes it so. The caller holds the domain's slot.
func (e *Engine) followFilter(ctx context.Context, d *domain, run *running, name string) error {
	now := run.hardware()
	i := slices.IndexFunc(now.rec.Ports, func(p port) bool { return p.Trust && now.nic(p).Alias.Name == name })
	if i < 0 || run.isLost(now.rec.Ports[i].Name) {
		return nil
	}
	var reply json.RawMessage
	e.k.Step("qmp query-rx-filter")
	if err := run.mon.Execute(ctx, "query-rx-filter", map[string]string{"name": name}, &reply); err != nil {
		return err
	}
	wants, err := rxfilter.Parse(reply, name)
	if err != nil {
		return err
	}
	p := now.rec.Ports[i]
	wants.MAC = cmp.Or(wants.MAC, p.address())
	err = e.hear(ctx, run, now, i, wants)
	if err == nil || wants.MAC == p.address() {
		return err
	}
	// The address is another's. All else can be as the guest wants it.
	asked := wants.MAC
	wants.MAC = p.address()
	if again := e.hear(ctx, run, now, i, wants); again != nil {
		return errors.Join(err, again)
	}
	if run.filters.maySay(name, e.now()) {
		e.log.Warn("a guest gave a NIC an address that the host does not take", "domain", d.label, "nic", name, "address", asked, "stays", wants.MAC, "error", err)
	}
	return nil
}

// hear has the host's end of a port take what a guest wants. When that cannot be, it is as it was.
func (e *Engine) hear(ctx context.Context, run *running, was *hardware, i int, wants rxfilter.Filter) error {
	if rx := was.rec.Ports[i].Rx; rx != nil && rx.Equal(wants) {
		return nil
	}
	next := *was
	next.rec.Ports = slices.Clone(was.rec.Ports)
	next.rec.Ports[i].Rx = &wants
	if err := e.saveHardware(run, &next); err != nil {
		return err
	}
	run.has.Store(&next)
	err := e.takeFrames(ctx, &next, i)
	if err == nil {
		return nil
	}
	run.has.Store(was)
	back, cancel := settingBack(ctx, answerWithin)
	defer cancel()
	for _, again := range []error{e.takeFrames(back, was, i), e.saveHardware(run, was)} {
		if again != nil {
			e.log.Error("the host's end of a NIC is not as it was before its guest wanted something else of it", "domain", was.rec.Name, "error", again)
		}
	}
	return err
}

// takeFrames makes the host's end of a port as its record says.
func (e *Engine) takeFrames(ctx context.Context, h *hardware, i int) error {
	r := h.rec
	r.Ports = r.Ports[i : i+1]
	all := e.linksNow(r)
	want := state.State{Ports: all.Ports, Macvlans: all.Macvlans}
	_, err := e.converge(ctx, want, want.Scope())
	return err
}

// address is the one that the host expects behind a port.
func (p *port) address() string {
	own := cmp.Or(p.Guest, p.MAC)
	if p.Rx == nil {
		return own
	}
	return cmp.Or(p.Rx.MAC, own)
}

// told is what a macvtap takes whose guest has said that.
func (p *port) told(m *state.Macvlan) {
	if p.Rx == nil {
		return
	}
	m.Told, m.MAC, m.AllMulticast, m.Promiscuous = true, p.address(), p.Rx.AllMulticast, p.Rx.Promiscuous
	hears := slices.Clone(p.Rx.Multicast)
	if p.Direct.Mode == "passthrough" { // in another mode the kernel looks for a macvtap by one address
		hears = append(hears, p.Rx.Unicast...)
	}
	slices.Sort(hears)
	m.Hears = strings.Join(slices.Compact(hears), " ")
}

// behind are the addresses that a managed bridge is told of a port: what its guest says, but for the bridge's own, and what
// another guest has by its document, or said before.
func (e *Engine) behind(r record, p port) string {
	if p.Rx == nil {
		return p.Guest
	}
	mine := append([]string{p.address()}, p.Rx.Unicast...)
	first := func(other *record, o port) bool { return other.ID < r.ID || other.ID == r.ID && o.NIC < p.NIC }
	taken := map[string]bool{}
	if n, ok := e.networks.named(p.Network); ok {
		if live := n.view().live; live != nil && live.MAC != nil {
			taken[strings.ToLower(live.MAC.Address)] = true
		}
	}
	for _, d := range e.domains.all() {
		run := d.view().run
		if run == nil {
			continue
		}
		other := run.rec()
		for _, o := range other.Ports {
			if o.Network != p.Network || o.ID == p.ID {
				continue
			}
			taken[o.Guest] = true
			if o.Rx != nil && first(other, o) {
				taken[o.address()] = true
				for _, mac := range o.Rx.Unicast {
					taken[mac] = true
				}
			}
		}
	}
	mine = slices.DeleteFunc(mine, func(mac string) bool { return taken[mac] && mac != p.Guest })
	slices.Sort(mine)
	return strings.Join(slices.Compact(mine), " ")
}

// trusts reports whether a NIC's guest is believed: as the NIC says, or else its network. It takes a model whose guest says
// anything, which QEMU's virtio-net alone has.
func (p port) trusts(nic *spec.Interface) bool {
	return nic.Model != nil && strings.HasPrefix(nic.Model.Type, "virtio") && p.whole(nic).TrustRx == "yes"
}

// believed are NICs of a running guest whose guest is believed from now on, or no longer, by alias.
type believed []string

// trusting finds them in the next hardware, and says there which it is.
func trusting(now, next *hardware) believed {
	var out believed
	for i, nic := range next.doc.Devices.Interfaces {
		at := slices.IndexFunc(now.doc.Devices.Interfaces, func(o spec.Interface) bool { return o.Alias.Name == nic.Alias.Name })
		p := slices.IndexFunc(next.rec.Ports, func(p port) bool { return p.NIC == i })
		if at < 0 || p < 0 {
			continue
		}
		was := now.doc.Devices.Interfaces[at]
		trust := next.rec.Ports[p].trusts(&nic)
		if next.rec.Ports[p].Trust == trust || connection(was) == connection(nic) && asksAlike(was, nic) {
			continue
		}
		next.rec.Ports = slices.Clone(next.rec.Ports)
		next.rec.Ports[p].Trust = trust
		if !trust && next.rec.Ports[p].Rx != nil { // as it is for a guest that was never believed
			next.rec.Ports[p].Rx = &rxfilter.Filter{AllMulticast: true}
		}
		out = append(out, nic.Alias.Name)
	}
	return out
}

// carryOut has the host's ends of the NICs as they are in h. What a guest wants that is believed now, is asked afterwards.
func (b believed) carryOut(ctx context.Context, e *Engine, h *hardware) error {
	for i, p := range h.rec.Ports {
		if p.Rx != nil && slices.Contains(b, h.nic(p).Alias.Name) {
			if err := e.takeFrames(ctx, h, i); err != nil {
				return err
			}
		}
	}
	return nil
}
