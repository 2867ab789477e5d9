package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"taproom/internal/api/virterr"
	"taproom/internal/host"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// hostAccess is what a guest asked for of a macvlan that is the host's own: without one, the host and the guests on
// macvtaps on the same link do not reach each other.
type hostAccess struct {
	Lower     string         `json:"lower"`     // the host's link
	Name      string         `json:"name"`      // of the macvlan; "" as long as none was chosen
	MAC       string         `json:"mac"`       // of the macvlan
	Addresses []netip.Prefix `json:"addresses"` // of the host there
}

// accesses are the macvlans of the host's own, by the link that they lie on. Whoever makes or changes one holds mu
// meanwhile: of two guests that come and go at once, the second finds what the first made.
type accesses struct {
	mu      sync.Mutex
	byLower map[string]*access
	seen    atomic.Pointer[map[string]state.Macvlan] // as it was when mu was last given back
}

// hold is for whoever makes or changes one.
func (s *accesses) hold() (release func()) {
	s.mu.Lock()
	return func() {
		seen := s.now().Macvlans
		s.seen.Store(&seen)
		s.mu.Unlock()
	}
}

// now is all that there should be of them. The caller holds mu.
func (s *accesses) now() state.State {
	all := state.State{Macvlans: map[string]state.Macvlan{}}
	for lower, a := range s.byLower {
		if len(a.asked) > 0 {
			all.Macvlans[a.name] = a.held(lower)
		}
	}
	return all
}

type access struct {
	name   string
	mac    string
	asked  map[spec.UUID][]netip.Prefix // what each guest asked for
	behind bool                         // less is asked for than there is: that could not be taken away
}

// want is what the macvlan should be: it has the addresses of all who asked.
func (a *access) want(lower string) state.Macvlan {
	var all []netip.Prefix
	for _, addresses := range a.asked {
		all = append(all, addresses...)
	}
	slices.SortFunc(all, host.ComparePrefix)
	return state.Macvlan{Owner: accessOwner(lower), Lower: lower, Mode: host.MacvlanBridge, MAC: a.mac, Addresses: slices.Compact(all), Static: true, Up: true}
}

// accessOwner is what its label says: it belongs to no guest.
func accessOwner(lower string) string { return "host-" + lower }

// accessMAC is the address of the host on a link: the same each time, so that guests that know it need not ask again, and
// another one for each daemon of the machine.
func (e *Engine) accessMAC(lower string) (string, error) {
	l, err := e.k.LinkByName(lower)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", e.cfg.Identity.LinkGroup, l.MAC, lower))
	return net.HardwareAddr(append([]byte{0x02}, sum[:5]...)).String(), nil // of nobody's range, and no group's
}

// accessFor is what a document asks for, or says why that cannot be. Names are chosen when it is made.
func (e *Engine) accessFor(doc *spec.Domain) ([]hostAccess, error) {
	asked, err := doc.HostAccess()
	if err != nil {
		return nil, documentError(err)
	}
	defer e.access.hold()()
	var out []hostAccess
	for _, a := range asked {
		one := hostAccess{Lower: a.Dev, Addresses: a.Addresses}
		if err := e.fits(doc.Name, *doc.UUID, one); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// fits refuses an address that another guest asked for with another prefix, or on another link. The caller holds e.access.mu.
func (e *Engine) fits(name string, uuid spec.UUID, one hostAccess) error {
	for lower, a := range e.access.byLower {
		for other, addresses := range a.asked {
			for _, p := range addresses {
				i := slices.IndexFunc(one.Addresses, func(q netip.Prefix) bool { return q.Addr() == p.Addr() })
				if other == uuid || i < 0 || lower == one.Lower && p == one.Addresses[i] {
					continue
				}
				who := other.String()
				if d, ok := e.domains.uuid(other); ok {
					who = "'" + d.label + "'"
				}
				return virterr.New(virterr.ConfigUnsupported, "domain '%s': host access on %s with %s: domain %s runs, and asked for %s on %s; ask for the same, or for another address", name, one.Lower, one.Addresses[i], who, p, lower)
			}
		}
	}
	return nil
}

// grantAccess gives the host the macvlans that a guest asks for. Their names are written down by save before they are made.
func (e *Engine) grantAccess(ctx context.Context, r *record, save func() error) error {
	if len(r.Access) == 0 {
		return nil
	}
	defer e.access.hold()()
	for i := range r.Access {
		if err := e.grant(ctx, r, &r.Access[i], save); err != nil {
			return fmt.Errorf("host access on %s: %w", r.Access[i].Lower, err)
		}
	}
	return nil
}

func (e *Engine) grant(ctx context.Context, r *record, to *hostAccess, save func() error) error {
	if err := e.fits(r.Name, r.UUID, *to); err != nil { // another guest may have been quicker
		return err
	}
	a := e.access.byLower[to.Lower]
	if a == nil {
		mac, err := e.accessMAC(to.Lower)
		if err != nil {
			return err
		}
		name, err := e.macvlans.Take()
		if err != nil {
			return err
		}
		a = e.access.put(to.Lower, name, mac)
	}
	a.asked[r.UUID] = to.Addresses
	for try := 1; ; try++ {
		to.Name, to.MAC = a.name, a.mac
		if err := save(); err != nil {
			return err
		}
		err := e.makeAccess(ctx, to.Lower, a, true)
		if !errors.Is(err, state.ErrForeign) || len(a.asked) > 1 || try == nameTries { // the records of others have this name
			return err
		}
		if err := e.lookAtLinks(); err != nil {
			return err
		}
		name, err := e.macvlans.Take()
		if err != nil {
			return err
		}
		e.releaseName(a.name)
		a.name = name
	}
}

// put begins to look after the macvlan on a link.
func (s *accesses) put(lower, name, mac string) *access {
	a := &access{name: name, mac: mac, asked: map[spec.UUID][]netip.Prefix{}}
	if s.byLower == nil {
		s.byLower = map[string]*access{}
	}
	s.byLower[lower] = a
	return a
}

// makeAccess makes the macvlan on a link, or changes the one that there is. The link is brought up for a guest that starts.
func (e *Engine) makeAccess(ctx context.Context, lower string, a *access, up bool) error {
	want := state.State{
		Macvlans: map[string]state.Macvlan{a.name: a.want(lower)},
		Lowers:   map[string]state.Lower{lower: {Up: up}},
	}
	_, err := e.converge(ctx, want, want.Scope())
	return err
}

// leaveAccess takes away what a guest alone asked for and does not go on to ask for, and the macvlan with the last guest. It may
// be called again.
func (e *Engine) leaveAccess(ctx context.Context, uuid spec.UUID, keep ...hostAccess) error {
	defer e.access.hold()()
	var errs []error
	for lower, a := range e.access.byLower {
		if _, asked := a.asked[uuid]; !asked && !a.behind {
			continue
		}
		delete(a.asked, uuid)
		for _, k := range keep {
			if k.Lower == lower {
				a.asked[uuid] = k.Addresses
			}
		}
		a.behind = true
		want := state.State{}
		if len(a.asked) > 0 {
			want.Macvlans = map[string]state.Macvlan{a.name: a.held(lower)}
		}
		scope := state.Scope{Macvlans: []string{a.name}, Owner: accessOwner(lower)}
		if _, err := e.converge(ctx, want, scope); err != nil {
			errs = append(errs, fmt.Errorf("host access on %s: %w", lower, err))
			continue
		}
		a.behind = false
		if len(a.asked) == 0 {
			delete(e.access.byLower, lower)
			e.releaseName(a.name)
		}
	}
	return errors.Join(errs...)
}

// held is what one should be that is there. It may go with its link at any moment, and is not made then.
func (a *access) held(lower string) state.Macvlan {
	m := a.want(lower)
	m.Held = true
	return m
}

// recallAccess takes over what records say that guests asked for, before anything is cleared away: it may be shared.
func (e *Engine) recallAccess(r record) {
	defer e.access.hold()()
	for _, one := range r.Access {
		if one.Name == "" { // nothing was made
			continue
		}
		a := e.access.byLower[one.Lower]
		if a == nil {
			e.reserveName(one.Name)
			a = e.access.put(one.Lower, one.Name, one.MAC)
		}
		a.asked[r.UUID] = one.Addresses
	}
}

// keepAccess leaves to a guest that nothing is known of what there is and nobody asked for.
func (e *Engine) keepAccess(uuid spec.UUID, all state.State) {
	defer e.access.hold()()
	for name, m := range all.Macvlans {
		if m.Tap || m.Owner != accessOwner(m.Lower) || e.access.byLower[m.Lower] != nil {
			continue
		}
		e.reserveName(name)
		e.access.put(m.Lower, name, m.MAC).asked[uuid] = m.Addresses
	}
}

// accessNow is all that there should be of them, as long as their links are there.
func (e *Engine) accessNow() state.State {
	e.access.mu.Lock()
	defer e.access.mu.Unlock()
	return e.access.now()
}

// restoreAccess makes those again that somebody removed while no daemon was there.
func (e *Engine) restoreAccess(ctx context.Context) {
	defer e.access.hold()()
	for lower, a := range e.access.byLower {
		if len(a.asked) == 0 {
			continue
		}
		if err := e.makeAccess(ctx, lower, a, false); err != nil && ctx.Err() == nil {
			e.problem.add(e.log, fmt.Sprintf("the host has no access on %s to guests that ask for it; start one of them again: %v", lower, err))
		}
	}
}

// planAccess adds to want what a record asks for, as it would be made. What it returns gives names back.
func (e *Engine) planAccess(r record, want *state.State) (release func(), err error) {
	defer e.access.hold()()
	var names []string
	release = func() {
		for _, name := range names {
			e.releaseName(name)
		}
	}
	for _, one := range r.Access {
		a := access{asked: map[spec.UUID][]netip.Prefix{r.UUID: one.Addresses}}
		if have := e.access.byLower[one.Lower]; have != nil {
			a.name, a.mac = have.name, have.mac
			for uuid, addresses := range have.asked {
				if uuid != r.UUID {
					a.asked[uuid] = addresses
				}
			}
		} else if a.name, err = e.macvlans.Take(); err != nil {
			return release, err
		} else {
			names = append(names, a.name)
			if a.mac, err = e.accessMAC(one.Lower); err != nil {
				return release, err
			}
		}
		want.Macvlans[a.name] = a.want(one.Lower)
	}
	return release, nil
}
