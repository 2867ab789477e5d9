package ra

import (
	"net/netip"
	"reflect"
	"slices"

	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

const (
	// maxWithdrawn bounds how many prefixes, resolvers and domains each are still being withdrawn.
	maxWithdrawn = 16
	// longestWithdrawal bounds how long one is, where its lifetime was longer still.
	longestWithdrawal = 86400
)

// Router is one network's advertisements over time. The zero Router is of no use; nothing in it is safe for concurrent
// use.
type Router struct {
	config   Config
	schedule *Schedule
	gone     withdrawals
}

// NewRouter starts to advertise; random is NewSchedule's. Config has been validated.
func NewRouter(c Config, now int64, random func(n int64) int64) *Router {
	r := &Router{config: c, schedule: NewSchedule(c.interval(), now, random)}
	if c.Off() {
		r.schedule.Stop()
	}
	return r
}

// Change takes another configuration, which has been validated. What it lacks is withdrawn by every advertisement from the
// next on, until no guest can have it any more: one that was suspended through the first of them hears a later one. The
// same configuration again changes nothing.
func (r *Router) Change(c Config, now int64) {
	if r.config.Off() && c.Off() || reflect.DeepEqual(r.config, c) {
		return
	}
	r.gone.change(r.config, c, now)
	r.config = c
	r.schedule.Change(c.interval(), now)
}

// Due returns when Advertise has something to send next; lease.Never for nothing.
func (r *Router) Due() int64 { return r.schedule.Due() }

// Advertise returns the frame to everybody that is due, or nil.
func (r *Router) Advertise(from packet.MAC, source netip.Addr, now int64) []byte {
	if r.schedule.Due() > now {
		return nil
	}
	r.schedule.Sent(now)
	if r.config.Off() && !r.schedule.Burst() { // three final ones are the most (RFC 4861, 6.2.5)
		r.schedule.Stop()
	}
	return r.frame(from, source, nil, now)
}

// Answer returns the frame for a guest that asked, or nil where the next one to everybody answers it: see Due.
func (r *Router) Answer(q *Solicitation, from packet.MAC, source netip.Addr, now int64) []byte {
	if r.config.Off() || !r.schedule.Solicited(q, now) {
		return nil
	}
	return r.frame(from, source, q, now)
}

// Stop returns the final frame to everybody, or nil when there was nothing to take back. Nothing is due afterwards.
func (r *Router) Stop(from packet.MAC, source netip.Addr, now int64) []byte {
	silent := r.schedule.Due() == lease.Never
	r.schedule.Stop()
	if silent {
		return nil
	}
	a := r.config.message()
	a.end()
	r.gone.add(a, now)
	return a.addressed(from, source, nil).Frame()
}

func (r *Router) frame(from packet.MAC, source netip.Addr, to *Solicitation, now int64) []byte {
	a := r.config.message()
	r.gone.add(a, now)
	return a.addressed(from, source, to).Frame()
}

// withdrawals is what a network has announced and does not any more, and until when guests may believe in it.
type withdrawals struct {
	prefixes []gone[Prefix]
	servers  []gone[netip.Addr]
	domains  []gone[string]
}

type gone[T any] struct {
	what  T
	until int64
}

// change compares two configurations.
func (w *withdrawals) change(old, c Config, now int64) {
	was, is := old.message(), c.message()
	candidates := w.prefixes
	for _, p := range was.Prefixes {
		until := now + min(int64(p.ValidSeconds), longestWithdrawal)
		p.ValidSeconds, p.PreferredSeconds = 0, 0
		candidates = append(candidates, gone[Prefix]{p, until})
	}
	w.prefixes = nil
	for _, g := range candidates {
		// A guest does not take a missing flag as a withdrawal (RFC 4861, 6.3.4; RFC 4862, 5.5.3): what the prefix was
		// for and is not any more is withdrawn by an option of its own.
		for _, p := range is.Prefixes {
			if p.Prefix == g.what.Prefix {
				g.what.OnLink, g.what.Autonomous = g.what.OnLink && !p.OnLink, g.what.Autonomous && !p.Autonomous
			}
		}
		if g.what.OnLink || g.what.Autonomous {
			w.prefixes = append(w.prefixes, g)
		}
	}
	until := now + min(int64(old.dnsSeconds()), longestWithdrawal)
	w.servers = replaced(w.servers, old.RDNSS, c.RDNSS, until)
	w.domains = replaced(w.domains, normal(old.Search), normal(c.Search), until)
	w.prefixes = newest(w.prefixes)
}

// replaced adds what is in old alone, and drops what has come back.
func replaced[T comparable](list []gone[T], old, now []T, until int64) []gone[T] {
	list = slices.DeleteFunc(list, func(g gone[T]) bool { return slices.Contains(now, g.what) })
	for _, o := range old {
		if !slices.Contains(now, o) {
			list = append(list, gone[T]{o, until})
		}
	}
	return newest(list)
}

func newest[T any](list []gone[T]) []gone[T] {
	return slices.Clone(list[max(0, len(list)-maxWithdrawn):])
}

// add puts lifetimes of zero into an advertisement, the latest withdrawals first, as far as it has room.
func (w *withdrawals) add(a *Advertisement, now int64) {
	ended := func(until int64) bool { return until <= now }
	w.prefixes = slices.DeleteFunc(w.prefixes, func(g gone[Prefix]) bool { return ended(g.until) })
	w.servers = slices.DeleteFunc(w.servers, func(g gone[netip.Addr]) bool { return ended(g.until) })
	w.domains = slices.DeleteFunc(w.domains, func(g gone[string]) bool { return ended(g.until) })
	for _, g := range slices.Backward(w.prefixes) {
		more := *a
		more.Prefixes = append(slices.Clip(a.Prefixes), g.what)
		if more.size() > minMTU {
			return
		}
		*a = more
	}
	for _, g := range slices.Backward(w.servers) {
		more := *a
		more.RDNSS = append(slices.Clip(a.RDNSS), RDNSS{Servers: []netip.Addr{g.what}})
		if more.size() > minMTU {
			return
		}
		*a = more
	}
	for _, g := range slices.Backward(w.domains) {
		more := *a
		more.Search = append(slices.Clip(a.Search), Search{Domains: []string{g.what}})
		if more.size() > minMTU {
			return
		}
		*a = more
	}
}
