package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"runtime"
	"sync"
	"time"
)

// Options configure a Server. Only Backend has no default.
type Options struct {
	Backend Backend
	Log     *slog.Logger
	// URI is what the hypervisor calls itself: qemu:///system (the default) or qemu:///session.
	URI string
	// Changed, where it is not nil, is told after clients have come or gone; it has room for one message.
	Changed chan<- struct{}
	// KeepaliveInterval is how long a connection may be silent before it is asked for a sign of life, once the client
	// has said that it understands (default 5 s); KeepaliveCount is how often it is asked (default 5).
	KeepaliveInterval time.Duration
	KeepaliveCount    int
	// MessageTimeout is how long the rest of a message may take once its first byte came (default 30 s).
	MessageTimeout time.Duration
	// InFlight is how many calls of one client run at once; beyond it the connection is not read (default 64).
	InFlight int
	// ClientName says what a client's process is called; "" when it is gone or has none. nil: nobody knows.
	ClientName func(pid int32) string
	// Limits bound the connections and the daemon's memory that clients may use.
	Limits Limits
	// EventQueue is how many events may wait for one client before it is disconnected (default 4096).
	EventQueue int
}

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	num := func(n *int, v int) {
		if *n == 0 {
			*n = v
		}
	}
	set(&o.KeepaliveInterval, 5*time.Second)
	set(&o.MessageTimeout, 30*time.Second)
	num(&o.KeepaliveCount, 5)
	if o.URI == "" {
		o.URI = "qemu:///system"
	}
	num(&o.InFlight, 64)
	num(&o.EventQueue, 4096)
	o.Limits = o.Limits.withDefaults()
	if o.ClientName == nil {
		o.ClientName = func(int32) string { return "" }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// ErrClosed is what Serve returns after Shutdown.
var ErrClosed = errors.New("server is shut down")

// Server serves one Backend on any number of listeners.
type Server struct {
	opts     Options
	backend  Backend
	log      *slog.Logger
	programs map[uint32]*program
	ctx      context.Context // of calls; ends when Shutdown runs out of patience
	cancel   context.CancelFunc
	stopping chan struct{}
	bufs     buffers
	missing  *missing
	census   *census
	messages *budget // of large messages that are read
	replies  *budget // of large replies that wait for their clients
	making   *budget // turns to make large replies
	discards discards

	unsubscribe func()
	wg          sync.WaitGroup // listeners' connections and the keepalive loop

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	nextID    uint64
	stopped   bool

	subsMu sync.RWMutex
	subs   map[*conn]struct{} // connections with registrations
}

// New returns a Server that is subscribed to the Backend's events. ctx is the context of the calls it will serve: jobs go
// on when their client leaves, and end early only when ctx or the patience of Shutdown ends. Shutdown must be called.
func New(ctx context.Context, o Options) *Server {
	o = o.withDefaults()
	s := &Server{
		opts:      o,
		backend:   o.Backend,
		log:       o.Log,
		programs:  newPrograms(),
		stopping:  make(chan struct{}),
		listeners: map[net.Listener]struct{}{},
		conns:     map[*conn]struct{}{},
		missing:   newMissing(),
		census:    newCensus(o.Limits, uint32(os.Getuid())),
		messages:  newBudget(o.Limits.MessageBytes),
		replies:   newBudget(o.Limits.ReplyBytes),
		making:    newBudget(int64(max(2, runtime.GOMAXPROCS(0)))),
		subs:      map[*conn]struct{}{},
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.unsubscribe = o.Backend.Subscribe(s.publish)
	s.wg.Go(s.keepalive)
	return s
}

// Serve accepts connections on l until Shutdown, and then returns ErrClosed. It closes l. readOnly is the flag of the
// "-ro" sockets.
func (s *Server) Serve(l net.Listener, readOnly bool) error {
	if !s.addListener(l) {
		return errors.Join(ErrClosed, l.Close())
	}
	defer s.removeListener(l)
	for {
		nc, err := l.Accept()
		if err == nil {
			s.start(nc, readOnly)
			continue
		}
		select {
		case <-s.stopping:
			return ErrClosed
		default:
		}
		if !temporary(err) {
			return err
		}
		s.log.Error("accept a connection", "error", err, "remedy", "raise the limit of open files")
		if !s.pause(100 * time.Millisecond) {
			return ErrClosed
		}
	}
}

// pause waits until descriptors may be free again; it reports false when the server stops.
func (s *Server) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.stopping:
		return false
	}
}

func (s *Server) addListener(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.listeners[l] = struct{}{}
	return true
}

func (s *Server) removeListener(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
	_ = l.Close() // closed already after Shutdown
}

// start makes a connection of nc and serves it on a goroutine that Shutdown waits for.
func (s *Server) start(nc net.Conn, readOnly bool) {
	p := peerOf(nc)
	if err := s.census.enter(p.UID); err != nil {
		_ = nc.Close()
		if s.census.firstRefusal(p.UID) {
			s.log.Warn("connection refused", "error", err, "pid", p.PID, "uid", p.UID, "program", s.opts.ClientName(p.PID))
		}
		return
	}
	c := newConn(s, nc, p, readOnly)
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		s.census.leave(p.UID)
		_ = nc.Close()
		return
	}
	s.nextID++
	c.id = s.nextID
	s.conns[c] = struct{}{}
	s.wg.Go(c.serve)
	s.mu.Unlock()
	s.changed()
}

// changed tells that clients came or went.
func (s *Server) changed() {
	select {
	case s.opts.Changed <- struct{}{}:
	default: // nobody wants to know, or will look soon
	}
}

func (s *Server) forget(c *conn) {
	s.census.leave(c.peer.UID)
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.changed()
}

// Shutdown stops accepting and reading, lets calls that run finish until ctx ends, then cancels them, and returns when
// everything has ended.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.stopped {
		s.stopped = true
		close(s.stopping)
	}
	for l := range s.listeners {
		_ = l.Close()
	}
	for c := range s.conns {
		c.stopReading()
	}
	s.mu.Unlock()
	s.unsubscribe()

	ended := make(chan struct{})
	go func() { s.wg.Wait(); close(ended) }()
	var err error
	select {
	case <-ended:
	case <-ctx.Done():
		err = ctx.Err()
		s.cancel()
		s.mu.Lock()
		for c := range s.conns {
			c.out.kill()
		}
		s.mu.Unlock()
		<-ended
	}
	s.cancel()
	return err
}

// Connections is how many clients there are.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// keepalive asks silent connections for a sign of life.
func (s *Server) keepalive() {
	t := time.NewTicker(s.opts.KeepaliveInterval)
	defer t.Stop()
	for {
		select {
		case <-s.stopping:
			return
		case <-t.C:
		}
		s.mu.Lock()
		for c := range s.conns {
			c.beat(s.opts.KeepaliveCount)
		}
		s.mu.Unlock()
	}
}

// Listening is how many clients have asked for events.
func (s *Server) Listening() int {
	s.subsMu.RLock()
	defer s.subsMu.RUnlock()
	return len(s.subs)
}
