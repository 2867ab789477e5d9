package dns

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/miekg/dns"
)

// Server answers the questions of one network. All its methods may be used at once.
type Server struct {
	shared *Shared
	zone   atomic.Pointer[zone]
	leases *leases
	part   *part
	counts counts

	queries, streams, clients, unsent share // of the process's quotas

	flights flights
}

// scratch is what one question needs while it is being answered. Nobody holds one while nothing is to be done.
type scratch struct {
	in   [maxUDP + 1]byte
	name [2 * maxName]byte // of the question, and of what follows it
	key  []byte
	b    builder

	cached bool // the answer came from memory
}

// maxKept is the longest room for a reply that is kept for the next one.
const maxKept = 4096

func (s *Shared) getScratch() *scratch { return s.scratch.Get().(*scratch) }

func (s *Shared) putScratch(sc *scratch) {
	if cap(sc.b.out) > maxKept {
		sc.b.out = nil
	}
	s.scratch.Put(sc)
}

// New makes a network's server. It must be closed.
func New(c Config, shared *Shared) (*Server, error) {
	z, err := newZone(c)
	if err != nil {
		return nil, err
	}
	s := &Server{shared: shared, leases: newLeases(), part: newPart(), flights: flights{of: map[string]*flight{}}}
	s.zone.Store(z)
	return s, nil
}

// Config returns what is served.
func (s *Server) Config() Config { return s.zone.Load().config }

// SetConfig serves another configuration from the next question on. Names of leases stay; remembered answers go.
func (s *Server) SetConfig(c Config) error {
	z, err := newZone(c)
	if err != nil {
		return err
	}
	s.zone.Store(z)
	s.shared.cache.flush(s.part)
	return nil
}

// SetLease says what the guest with an address calls itself; with an empty name the address has none anymore. It
// reports whether the guest may be called that, which takes a name of one label, or one in the network's domain.
func (s *Server) SetLease(ip netip.Addr, name string) bool {
	known := s.zone.Load().leaseName(name)
	s.leases.set(ip, known)
	return known != ""
}

// Close ends what is being asked upstream, waits for it, and gives back what the network held of Shared. Serve must
// have returned.
func (s *Server) Close() {
	s.flights.close()
	s.shared.cache.flush(s.part)
}

// client is who waits for an answer: how to reply, and what for.
type client struct {
	from  netip.AddrPort // of a datagram, so that its repetitions are told from other questions; zero otherwise
	limit int
	send  func(msg []byte, from netip.AddrPort) // from: who upstream said so. It must not block
}

// handle answers a message, or returns nil. The reply lies in the scratch. What must be asked upstream first is sent to
// the client that later() makes.
func (s *Server) handle(ctx context.Context, sc *scratch, msg []byte, limit int, later func() client) []byte {
	q, rcode, ok := parseQuery(msg, sc.name[:])
	s.counts.queries.Add(1)
	sc.cached = false
	if !ok {
		s.counts.malformed.Add(1)
		return nil
	}
	if limit == 0 {
		limit = q.size
	}
	if rcode != dns.RcodeSuccess {
		s.counts.malformed.Add(1)
		return sc.b.plainReply(&q, rcode, limit)
	}
	sc.b.begin(&q, limit)
	if _, done := s.zone.Load().answer(&sc.b, s.leases, s.shared.hosts()); done {
		s.counts.local.Add(1)
		return sc.b.finish()
	}
	sc.key = appendKey(sc.key[:0], &q)
	if wire, age := s.shared.cache.lookup(s.part, sc.key, s.shared.now()); wire != nil {
		s.counts.cached.Add(1)
		sc.cached = true
		return sc.b.replay(&q, wire, age, limit)
	}
	// Who is asked must be looked up after the generation: what others said before a change is not to be kept.
	generation := s.shared.cache.current(s.part)
	sc.b.begin(&q, limit)
	ask, done := s.zone.Load().answer(&sc.b, s.leases, s.shared.hosts())
	if done {
		return sc.b.finish()
	}
	if ask = s.shared.others(ask, s.Config().Addresses); len(ask) == 0 {
		s.counts.refused.Add(1)
		return sc.b.plainReply(&q, dns.RcodeRefused, limit)
	}
	c := later()
	c.limit = limit
	if !s.forward(ctx, &q, generation, string(sc.key), ask, c) {
		s.counts.refused.Add(1)
		return sc.b.plainReply(&q, dns.RcodeServerFailure, limit)
	}
	return nil
}

// contained is handle for a server that others depend on: a message that leads to a fault gets no answer, and nobody else
// hears of it.
func (s *Server) contained(ctx context.Context, sc *scratch, msg []byte, limit int, later func() client) (answer []byte) {
	defer func() {
		if recover() != nil {
			s.counts.faults.Add(1)
			answer = nil
		}
	}()
	return s.handle(ctx, sc, msg, limit, later)
}

// appendKey writes what a remembered reply answers: the name, the type, and whether signatures and unchecked data were
// asked for. RD is no part of it: what was learnt for another may be told.
func appendKey(key []byte, q *query) []byte {
	key = append(key, q.name...)
	var flags byte
	if q.do {
		flags |= 1
	}
	if q.flags&flagCD != 0 {
		flags |= 2
	}
	return append(key, byte(q.typ>>8), byte(q.typ), flags)
}

// counts are what Stats tells.
type counts struct {
	queries, malformed, local, cached, forwarded, joined, refused, failed, streams, faults atomic.Uint64
}

// Stats counts what happened since the server was made, and tells what it holds now.
type Stats struct {
	Queries   uint64 `json:"queries"`
	Malformed uint64 `json:"malformed"`
	Local     uint64 `json:"local"`     // answered from the network's own names
	Cached    uint64 `json:"cached"`    // answered from memory
	Forwarded uint64 `json:"forwarded"` // asked upstream
	Joined    uint64 `json:"joined"`    // waited for the answer to the same question of another
	Refused   uint64 `json:"refused"`   // nobody to ask, or too many questions at once
	Failed    uint64 `json:"failed"`    // nobody upstream gave a good answer
	Streams   uint64 `json:"streams"`   // TCP connections of clients
	Faults    uint64 `json:"faults"`    // questions that led to a panic, and to no answer

	Asking       int `json:"asking"`
	CacheEntries int `json:"cache_entries"`
	CacheBytes   int `json:"cache_bytes"`
}

// Stats returns the counters.
func (s *Server) Stats() Stats {
	c := &s.counts
	entries, bytes := s.shared.cache.size(s.part)
	return Stats{
		Queries: c.queries.Load(), Malformed: c.malformed.Load(), Local: c.local.Load(), Cached: c.cached.Load(),
		Forwarded: c.forwarded.Load(), Joined: c.joined.Load(), Refused: c.refused.Load(), Failed: c.failed.Load(),
		Streams: c.streams.Load(), Faults: c.faults.Load(), Asking: s.shared.queries.of(&s.queries), CacheEntries: entries, CacheBytes: bytes,
	}
}

// flights are the questions that are being asked upstream, by key.
type flights struct {
	mu      sync.Mutex
	of      map[string]*flight
	waiting int
	closed  bool
	running sync.WaitGroup
}

func (f *flights) close() {
	f.mu.Lock()
	f.closed = true
	for _, fl := range f.of {
		fl.cancel()
	}
	f.mu.Unlock()
	f.running.Wait()
}
