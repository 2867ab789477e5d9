package nwfilters

import (
	"fmt"
	"net/netip"
	"slices"

	"taproom/internal/engine/store"
	"taproom/internal/network/nwfilter"
	"taproom/internal/network/nwfilter/learn"
	"taproom/internal/network/packet"
)

// Learner learns the addresses of NICs from what passes them; see learn.Learner.
type Learner interface {
	Watch(p learn.Port) ([]netip.Addr, error)
	Forget(port string)
	Close()
}

// Around is where a link lies, for learning.
type Around struct {
	Bridge   string         // within it an address belongs to one NIC
	Reserved []netip.Addr   // addresses there that no guest may have
	Within   []netip.Prefix // what a guest may claim addresses of; none is any
}

// learned is what is kept of the addresses of a NIC that were learned, with the name of its link.
type learned struct {
	Name  string          `json:"name"`
	State []learn.Learned `json:"state"`
}

// follow has the addresses of a NIC learned, where its filter asks for what nobody says, and returns it with those that are
// known by now. The caller holds change.
func (f *Filters) follow(c *compilers, b Binding) (Binding, error) {
	mode, err := b.learns(c)
	if err != nil {
		return b, err
	}
	if mode == learn.None {
		if f.learner != nil {
			f.learner.Forget(b.Port)
		}
		b.Learned = nil
		return b, nil
	}
	at, err := f.cfg.Around(b)
	if err != nil {
		return b, err
	}
	p := learn.Port{Name: b.Port, Network: at.Bridge, Mode: mode, Reserved: at.Reserved, Within: at.Within, Known: f.known[b.Port]}
	var ok bool
	if p.MAC, ok = packet.ParseMAC(b.MAC); !ok {
		return b, fmt.Errorf("%q is no MAC address", b.MAC)
	}
	for _, s := range b.Values(varServers) {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return b, fmt.Errorf("%s is %q, which is no address", varServers, s)
		}
		p.Trusted = append(p.Trusted, a)
	}
	if f.learner == nil {
		if f.learner, err = f.cfg.Learn(f.learnedOf); err != nil {
			return b, err
		}
	}
	b.Learned, err = f.learner.Watch(p)
	return b, err
}

// learns is how the addresses of a NIC are learned with a set of filters: not where its filter asks for none, nor where its
// document names them.
func (b Binding) learns(c *compilers) (learn.Mode, error) {
	mode, err := b.mode()
	if err != nil || mode == learn.None || b.Filter == "" {
		return learn.None, err
	}
	names, err := c.asked(b.Filter)
	if err != nil {
		return learn.None, err
	}
	if slices.ContainsFunc(names, func(name string) bool { return (name == varIPv4 || name == varIPv6) && b.Values(name) == nil }) {
		return mode, nil
	}
	return learn.None, nil
}

// learnedOf is told what the addresses of NICs have become: it writes that down and changes their values, in one transaction.
func (f *Filters) learnedOf(changes []learn.Change) {
	f.change.Lock()
	defer f.change.Unlock()
	var next []Binding
	var ports []nwfilter.Port
	for _, c := range changes {
		b, ok := f.Bound(c.Port)
		if !ok {
			continue
		}
		f.known[c.Port] = c.State
		if err := f.learnt.Put(store.Item[learned]{Key: c.Port, Head: learned{Name: c.Port, State: c.State}}); err != nil {
			f.cfg.Log.Error("the addresses of a NIC that were learned are not written down: after the next start of the daemon they have to be learned again", "link", c.Port, "error", err)
		}
		if b.Learned = c.Addresses; c.Renewed {
			continue
		}
		p, err := compile(f.compilers(), b)
		if err != nil {
			f.cfg.Log.Error("a NIC does not get the addresses that were learned", "link", c.Port, "error", err)
			continue
		}
		next, ports = append(next, b), append(ports, p)
	}
	if err := f.apply(f.cfg.Context, ports, nil); err != nil {
		f.certain = false
		f.cfg.Log.Error("NICs do not get the addresses that were learned; the next that is learned of them is tried again", "error", err)
		return
	}
	f.keep(next)
}

// keep remembers what links have.
func (f *Filters) keep(all []Binding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range all {
		f.ports[b.Port] = b
	}
}

// forget ends the learning for links that have nothing any more.
func (f *Filters) forget(ports []string) {
	for _, name := range ports {
		if f.learner != nil {
			f.learner.Forget(name)
		}
		if _, known := f.known[name]; !known {
			continue
		}
		delete(f.known, name)
		if err := f.learnt.Delete(name); err != nil {
			f.cfg.Log.Error("what was learned of a NIC that is gone is not removed", "link", name, "error", err)
		}
	}
}

// loadLearned reads what an earlier daemon learned.
func (f *Filters) loadLearned() error {
	items, damaged, err := f.learnt.Load()
	if err != nil {
		return err
	}
	f.cfg.Damaged(damaged)
	for _, i := range items {
		f.known[i.Key] = i.Head.State
	}
	return nil
}

// Close ends the learning. What is attached stays.
func (f *Filters) Close() {
	f.change.Lock()
	l := f.learner
	f.change.Unlock()
	if l != nil {
		l.Close() // it may be telling something, and that takes its turn
	}
}

// unfollow has links learned of as they were before, after a change that failed.
func (f *Filters) unfollow(all []Binding) {
	for _, b := range all {
		if before, ok := f.Bound(b.Port); ok {
			if _, err := f.follow(f.compilers(), before); err == nil {
				continue
			}
		}
		if f.learner != nil {
			f.learner.Forget(b.Port)
		}
	}
}

// refollow begins or ends to learn the addresses of links whose filter is another one now.
func (f *Filters) refollow(ports []nwfilter.Port) {
	var all []Binding
	for _, p := range ports {
		b, err := f.follow(f.compilers(), f.ports[p.Name])
		if err != nil {
			f.cfg.Problem(fmt.Sprintf("the addresses of %s are not learned: %v", b.who(), err))
		}
		all = append(all, b)
	}
	f.keep(all)
}

// recall goes on to learn after a start of the daemon, and forgets what was learned of links that are gone.
func (f *Filters) recall() {
	var all []Binding
	for _, b := range f.Bindings() {
		next, err := f.follow(f.compilers(), b)
		if err != nil && f.filters()[b.Filter] != nil {
			f.cfg.Problem(fmt.Sprintf("the addresses of %s are not learned: %v", b.who(), err))
		}
		all = append(all, next)
	}
	f.keep(all)
	var gone []string
	for name := range f.known {
		if _, ok := f.Bound(name); !ok {
			gone = append(gone, name)
		}
	}
	f.forget(gone)
}
