package dns

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/miekg/dns"
)

// flight is one question that is being asked upstream, for everybody who asks it meanwhile.
type flight struct {
	key        string // of the reply
	name       string // of the flight
	question   question
	generation uint64
	cancel     context.CancelFunc
	waiters    []waiter
}

// waiter is a question of a client. It has no part of the message that it came in.
type waiter struct {
	q      query
	client client
}

// forward has the client's question asked, or joins it to the same question of another. It reports whether there was
// room.
func (s *Server) forward(ctx context.Context, q *query, generation uint64, key string, ask []netip.AddrPort, c client) bool {
	f := &s.flights
	f.mu.Lock()
	defer f.mu.Unlock()
	// A flight from before a change asks whom the network does not ask anymore, and a server that is not to recurse may
	// answer otherwise.
	name := fmt.Sprintf("%s %d %t", key, generation, q.flags&flagRD != 0)
	fl := f.of[name]
	if fl != nil && c.from.IsValid() {
		for _, w := range fl.waiters {
			if w.client.from == c.from && w.q.id == q.id {
				return true // it asks again: the answer to the first will do
			}
		}
	}
	if f.closed || f.waiting >= s.shared.limits.Waiting {
		return false
	}
	if fl == nil {
		if !s.shared.queries.enter(&s.queries, 1) {
			return false
		}
		s.counts.forwarded.Add(1)
		fl = &flight{
			key:        key,
			name:       name,
			generation: generation,
			question: question{
				name: string(q.name), typ: q.typ, rd: q.flags&flagRD != 0, cd: q.flags&flagCD != 0, do: q.do,
				streams: &s.streams, upstream: ask,
			},
		}
		f.of[name] = fl
		// Who asked first may leave: the question stays until it is answered, or the server is closed.
		ctx, fl.cancel = context.WithCancel(context.WithoutCancel(ctx))
		f.running.Go(func() { s.fly(ctx, fl) })
	} else {
		s.counts.joined.Add(1)
	}
	w := waiter{q: *q, client: c}
	w.q.question = append([]byte(nil), q.question...)
	w.q.name = nil
	fl.waiters = append(fl.waiters, w)
	f.waiting++
	return true
}

// fly asks, remembers, and tells all who wait.
func (s *Server) fly(ctx context.Context, fl *flight) {
	defer fl.cancel()
	r, from, err := s.shared.exchange(ctx, &fl.question)
	if err != nil {
		s.counts.failed.Add(1)
		r = failure(&fl.question)
	}
	if fl.question.rd {
		s.shared.cache.store(s.part, fl.generation, fl.key, r.wire, r.ttl, s.shared.now())
	}
	f := &s.flights
	f.mu.Lock()
	delete(f.of, fl.name)
	f.waiting -= len(fl.waiters)
	f.mu.Unlock()
	s.shared.queries.leave(&s.queries, 1)
	var b builder
	for i := range fl.waiters {
		w := &fl.waiters[i]
		w.client.send(b.replay(&w.q, r.wire, 0, w.client.limit), from)
	}
}

// failure is the reply that nobody gave.
func failure(q *question) *reply {
	wire := make([]byte, headerLen, headerLen+len(q.name)+4)
	wire[2], wire[3], wire[5] = flagQR>>8, dns.RcodeServerFailure, 1
	wire = append(wire, q.name...)
	wire = append(wire, byte(q.typ>>8), byte(q.typ), 0, dns.ClassINET)
	return &reply{wire: wire, ttl: failureTTL, rcode: dns.RcodeServerFailure}
}
