package proxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

// At is where a port is listened on.
type At struct {
	Protocol string // tcp or udp
	Addr     netip.AddrPort
}

// Sockets are where connections and datagrams come in. They stay open when Serve returns.
type Sockets struct {
	TCP []*net.TCPListener
	UDP []*net.UDPConn
}

// Options are limits. What is zero is as usual.
type Options struct {
	Total  *Limit        // of connections and sessions of all servers; nil: only those of this one
	Most   int           // connections and sessions of this one
	Within time.Duration // a guest takes a connection
	Idle   time.Duration // until a session of datagrams ends
}

const (
	mostOfOne = 1024
	within    = 10 * time.Second
	// idle is what the kernel keeps an answered connection of UDP for in its table (nf_conntrack_udp_timeout_stream).
	idle = 120 * time.Second
)

// Server carries what comes in for one network. Its methods may be called from several goroutines.
type Server struct {
	o    Options
	own  *Limit
	ctx  context.Context // of what is under way
	end  context.CancelFunc
	work sync.WaitGroup

	rooms *sync.Pool // of *[most]byte

	mu       sync.Mutex
	to       map[At]netip.AddrPort
	sessions map[client]*session
}

// New makes a server that leads nowhere. It must be closed; what is under way ends with ctx too.
func New(ctx context.Context, o Options) *Server {
	if o.Most == 0 {
		o.Most = mostOfOne
	}
	if o.Within == 0 {
		o.Within = within
	}
	if o.Idle == 0 {
		o.Idle = idle
	}
	s := &Server{o: o, own: NewLimit(o.Most), sessions: map[client]*session{}, rooms: &sync.Pool{New: func() any { return new([most]byte) }}}
	s.ctx, s.end = context.WithCancel(ctx)
	return s
}

// Lead says where ports lead from now on. Connections that there are go on.
func (s *Server) Lead(to map[At]netip.AddrPort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = maps.Clone(to)
}

func (s *Server) leads(at At) (netip.AddrPort, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to, ok := s.to[at]
	return to, ok
}

// Close ends everything that is under way. Every Serve must have returned.
func (s *Server) Close() {
	s.end()
	s.work.Wait()
}

// Serve takes what comes in until ctx ends, and returns when nothing that it started reads the sockets any more; what it has
// taken goes on. A socket that fails ends it. Only one Serve may run at a time.
func (s *Server) Serve(ctx context.Context, sockets Sockets) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sockets.deadline(time.Time{})
	woken := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(woken)
		sockets.deadline(time.Unix(1, 0))
	})
	var all sync.WaitGroup
	for _, l := range sockets.TCP {
		all.Go(func() { cancel(s.accept(ctx, l)) })
	}
	for _, c := range sockets.UDP {
		all.Go(func() { cancel(s.receive(ctx, c)) })
	}
	if len(sockets.TCP)+len(sockets.UDP) == 0 {
		cancel(nil)
	}
	<-woken
	all.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("forward ports of the loopback: %w", err)
	}
	return nil
}

// deadline lets waiting begin, or ends it when the time is past.
func (s Sockets) deadline(at time.Time) {
	for _, l := range s.TCP {
		_ = l.SetDeadline(at)
	}
	for _, c := range s.UDP {
		_ = c.SetReadDeadline(at)
	}
}

// ended reports whether an error is only that of waiting that was to end.
func ended(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, os.ErrDeadlineExceeded)
}

// take takes room for one connection or session, of this server and of all.
func (s *Server) take() bool {
	if !s.own.take() {
		return false
	}
	if !s.o.Total.take() {
		s.own.give()
		return false
	}
	return true
}

func (s *Server) give() {
	s.own.give()
	s.o.Total.give()
}
