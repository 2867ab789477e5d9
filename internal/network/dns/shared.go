package dns

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"taproom/internal/network/lease"
)

// Dialer opens sockets to servers upstream. They are connected, so that the kernel drops what others send to them, and
// have a port that nobody can guess.
type Dialer interface {
	DialUDP(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	DialTCP(ctx context.Context, to netip.AddrPort) (net.Conn, error)
}

// Limits bound what networks can use. A zero field is replaced by its default.
type Limits struct {
	CacheBytes int           // of all networks; 4 MB
	Total      time.Duration // from a question to SERVFAIL; 4.5 s, since clients wait for 5
	Queries    Quota         // being asked upstream; 64 per network, 256 and 512 in all
	Waiting    int           // clients that wait for them, per network; 256
	Streams    Quota         // TCP connections to upstream; 4 per network, 32 and 64
	Clients    Quota         // TCP connections of clients; 32 per network, 256 and 512
	PerClient  int           // TCP connections of one address; 8
	Idle       time.Duration // until a silent TCP connection is closed; 10 s
	Unsent     Quota         // bytes of replies that wait for clients to read them; 256 KB per network, 2 and 4 MB
}

// Shared is what the networks of a process have in common.
type Shared struct {
	limits  Limits
	dialer  Dialer
	now     func() int64
	random  io.Reader
	cache   *cache
	queries *gate
	streams *gate
	clients *gate
	unsent  *gate
	times   *times
	scratch sync.Pool // *scratch
	buffers sync.Pool // *[receiveLen]byte

	mu        sync.RWMutex
	upstreams []netip.AddrPort
	own       map[netip.Addr]int // how many networks have it
}

// Options are what a Shared is made of.
type Options struct {
	Limits Limits
	Dialer Dialer      // nil: sockets of this process
	Clock  lease.Clock // for how old remembered answers are
	Random io.Reader   // nil: the kernel's. Ids and case of questions upstream are read from it, concurrently
}

// NewShared makes what the networks of one process share.
func NewShared(o Options) *Shared {
	l := o.Limits.withDefaults()
	s := &Shared{
		limits:  l,
		dialer:  o.Dialer,
		now:     o.Clock.Steady,
		random:  o.Random,
		cache:   newCache(l.CacheBytes),
		queries: newGate(l.Queries),
		streams: newGate(l.Streams),
		clients: newGate(l.Clients),
		unsent:  newGate(l.Unsent),
		times:   newTimes(),
		own:     map[netip.Addr]int{},
	}
	if s.dialer == nil {
		s.dialer = kernelDialer{}
	}
	if s.random == nil {
		s.random = rand.Reader
	}
	s.scratch.New = func() any { return new(scratch) }
	s.buffers.New = func() any { return new([receiveLen]byte) }
	return s
}

func (l Limits) withDefaults() Limits {
	fill := func(n *int, d int) {
		if *n == 0 {
			*n = d
		}
	}
	fill(&l.CacheBytes, 4<<20)
	fill(&l.Waiting, 256)
	fill(&l.PerClient, 8)
	for q, d := range map[*Quota]Quota{
		&l.Queries: {Each: 64, Soft: 256, Hard: 512, Reserve: 4},
		&l.Streams: {Each: 4, Soft: 32, Hard: 64, Reserve: 1},
		&l.Clients: {Each: 32, Soft: 256, Hard: 512, Reserve: 2},
		&l.Unsent:  {Each: 256 << 10, Soft: 2 << 20, Hard: 4 << 20, Reserve: 2 + maxTCP},
	} {
		if *q == (Quota{}) {
			*q = d
		}
	}
	if l.Total == 0 {
		l.Total = 4500 * time.Millisecond
	}
	if l.Idle == 0 {
		l.Idle = 10 * time.Second
	}
	return l
}

// SetUpstreams says which resolvers the host uses, in order. What was learnt from others is forgotten: a host that
// joins or leaves a site hears other answers.
func (s *Shared) SetUpstreams(list []netip.AddrPort) {
	s.mu.Lock()
	changed := !slices.Equal(s.upstreams, list)
	s.upstreams = slices.Clone(list)
	s.mu.Unlock()
	if changed {
		s.cache.flushAll()
	}
}

// ChangeOwn says which addresses networks of this process have no more, and which they have now: no question is ever
// forwarded to them, for it would come back. One that two networks have, on bridges of their own, is ours until both are
// without it.
func (s *Shared) ChangeOwn(gone, come []netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range come {
		s.own[a.Unmap().WithZone("")]++
	}
	for _, a := range gone {
		a = a.Unmap().WithZone("")
		if s.own[a]--; s.own[a] == 0 {
			delete(s.own, a)
		}
	}
}

func (s *Shared) hosts() []netip.AddrPort {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.upstreams
}

// others returns who of a list is not one of our own.
func (s *Shared) others(list []netip.AddrPort, mine []netip.Addr) []netip.AddrPort {
	s.mu.RLock()
	defer s.mu.RUnlock()
	isOwn := func(to netip.AddrPort) bool {
		a := to.Addr().Unmap().WithZone("")
		return s.own[a] > 0 || slices.Contains(mine, a)
	}
	if !slices.ContainsFunc(list, isOwn) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), isOwn)
}

type kernelDialer struct{}

func (kernelDialer) DialUDP(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "udp", to.String())
}

func (kernelDialer) DialTCP(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	return (&net.Dialer{KeepAlive: -1}).DialContext(ctx, "tcp", to.String())
}
