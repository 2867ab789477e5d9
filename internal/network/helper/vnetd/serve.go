package vnetd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"taproom/internal/host"
	"taproom/internal/network/helper"
	"taproom/internal/network/lease"
)

const (
	// maxConnections is how many daemons (one) and curious tools may be connected at a time.
	maxConnections = 16
)

// Options say who is served and what to say about oneself.
type Options struct {
	Owner    uint32 // the user whose processes may connect
	Build    string // of the program
	Confined Confined
	Clock    lease.Clock
	Hook     Hook // for tests
	NoLimit  bool // of messages a second, for tests
}

// server is the process.
type server struct {
	options  Options
	kernel   *host.Kernel
	ctx      context.Context // of what clients ask for
	networks *networks
	quit     context.CancelFunc

	mu    sync.Mutex
	conns map[*conn]bool
}

// Serve answers on a listening SOCK_SEQPACKET socket until ctx is done or a peer asks to quit, and closes everything.
func Serve(ctx context.Context, listener *os.File, o Options) error {
	l, err := net.FileListener(listener)
	listener.Close()
	if err != nil {
		return fmt.Errorf("listen for the daemon: %w", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // the name is the daemon's
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{options: o, kernel: host.New(host.Options{}), ctx: ctx, quit: cancel, conns: map[*conn]bool{}}
	s.networks = newNetworks(ctx, o.Clock, s.publish)
	s.networks.hook, s.networks.noLimit = o.Hook, o.NoLimit
	defer s.networks.close()

	var group sync.WaitGroup
	defer group.Wait()
	defer context.AfterFunc(ctx, func() { l.Close(); s.hangUp() })()
	defer func() { cancel(); l.Close(); s.hangUp() }()
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				c.Close()
			}
			return nil
		case err != nil:
			return fmt.Errorf("accept the daemon's connection: %w", err)
		}
		if n := s.admit(c); n != nil {
			group.Go(n.read)
			group.Go(n.write)
		}
	}
}

func (s *server) hello() *helper.Hello {
	o := s.options
	return &helper.Hello{Version: helper.WireVersion, Build: o.Build, PID: os.Getpid(), Landlock: o.Confined.Landlock, Seccomp: o.Confined.Seccomp}
}

// admit takes a connection from the owner, or closes it.
func (s *server) admit(c net.Conn) *conn {
	cred, err := s.kernel.PeerCredentials(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || cred.Uid != s.options.Owner || len(s.conns) >= maxConnections {
		c.Close()
		return nil
	}
	n := &conn{
		server: s, socket: c, out: make(chan answer), gone: make(chan struct{}),
		events: make(chan helper.Event, eventQueue), missed: make(chan struct{}, 1), asking: make(chan struct{}, maxLookups),
	}
	s.conns[n] = false
	return n
}

func (s *server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.socket.Close()
	}
}

func (s *server) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

func (s *server) subscribe(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = true
}

// publish hands an event to those who want it and waits for nobody.
func (s *server) publish(e helper.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, wants := range s.conns {
		if wants {
			c.offer(e)
		}
	}
}

var errUnknown = errors.New("no such network is being served")
