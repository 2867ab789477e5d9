package pool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// askWithin is how long a client may take to say what it wants, and to say that it has what it got.
const askWithin = 10 * time.Second

// Server hands out what a Stock has.
type Server struct {
	Kernel   *host.Kernel
	Listener net.Listener // of a Unix socket
	Stock    *Stock
	Idle     time.Duration // how long nobody has to ask before Serve returns; 0 is for ever
	Leave    func()        // takes the socket's name away; called once, before the listener closes
}

// session is a Serve that runs.
type session struct {
	*Server
	cancel context.CancelFunc
	leave  func() // nobody finds the pool any more
	tasks  sync.WaitGroup

	mu     sync.Mutex
	active int
	idle   *time.Timer
}

// Serve answers until ctx is done, nobody has asked for a while, or a client has it end. The Stock stays the caller's.
func (s *Server) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &session{Server: s, cancel: cancel}
	if s.Idle > 0 {
		r.idle = time.AfterFunc(s.Idle, r.rest)
		defer r.idle.Stop()
	}
	r.leave = sync.OnceFunc(func() {
		s.Leave()
		_ = s.Listener.Close()
	})
	stop := context.AfterFunc(ctx, r.leave)
	defer stop()
	defer r.tasks.Wait()
	for {
		c, err := s.Listener.Accept()
		switch {
		case err == nil:
			r.begin(ctx, c)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ECONNABORTED):
			// Descriptors come back when clients have theirs; there is nothing that says when.
			pause(ctx, 100*time.Millisecond)
		default:
			cancel()
			return fmt.Errorf("accept a client of the pool: %w", err)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// rest ends the pool unless somebody came meanwhile.
func (r *session) rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active == 0 {
		r.cancel()
	}
}

func (r *session) begin(ctx context.Context, c net.Conn) {
	r.mu.Lock()
	r.active++
	r.mu.Unlock()
	r.tasks.Go(func() {
		r.serve(ctx, c)
		_ = c.Close()
		r.Stock.Refill() // only now: until then the client is busy with what it got
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.active--; r.active == 0 && r.idle != nil {
			r.idle.Reset(r.Idle)
		}
	})
}

// serve answers one client's request. What goes wrong is told to the client alone; there is nobody else.
func (r *session) serve(ctx context.Context, c net.Conn) {
	cred, err := r.Kernel.PeerCredentials(c)
	if err == nil && int(cred.Uid) != os.Geteuid() {
		err = fmt.Errorf("this pool of appliances is user %d's; user %d gets one from a pool of his own", os.Geteuid(), cred.Uid)
	}
	if err != nil {
		_ = send(r.Kernel, c, failure(err), nil)
		return
	}
	if err := c.SetDeadline(time.Now().Add(askWithin)); err != nil {
		return
	}
	var q request
	files, err := receive(r.Kernel, c, &q)
	(&Parcel{Files: files}).Close() // nobody is asked for any
	if err != nil {
		if !errors.Is(err, io.EOF) {
			_ = send(r.Kernel, c, failure(fmt.Errorf("read what is asked of the pool: %w", err)), nil)
		}
		return
	}
	if err := q.check(); err != nil {
		_ = send(r.Kernel, c, failure(err), nil)
		return
	}
	switch q.Op {
	case opTake:
		r.take(ctx, c, q)
	case opStatus:
		st := r.Stock.Status()
		st.PID = os.Getpid()
		_ = send(r.Kernel, c, reply{Status: &st}, nil)
	case opStop:
		r.cancel()
		r.leave() // when this returns, it has
		_ = send(r.Kernel, c, reply{}, nil)
	default:
		_ = send(r.Kernel, c, failure(fmt.Errorf("the pool cannot %q", q.Op)), nil)
	}
}

// take hands out one appliance, and waits until the client has done with it what it had to, or hung up.
func (r *session) take(pool context.Context, c net.Conn, q request) {
	if err := c.SetDeadline(time.Time{}); err != nil {
		return
	}
	ctx, cancel := context.WithCancel(pool)
	defer cancel()
	var hung sync.WaitGroup
	hung.Go(func() { // a client says nothing more: what ends this is that it hangs up, or that we do
		_, _ = c.Read(make([]byte, 1))
		cancel()
	})
	defer hung.Wait()
	err := r.hand(ctx, c, q)
	if err != nil && pool.Err() != nil { // whoever asked may ask the next one, which finds the place free
		r.leave()
		err = ErrEnding
	}
	if err != nil {
		_ = send(r.Kernel, c, failure(err), nil)
	}
	_ = c.SetReadDeadline(time.Now().Add(askWithin))
}

func (r *session) hand(ctx context.Context, c net.Conn, q request) error {
	clone, err := r.Stock.Take(ctx, q.Wait)
	if err != nil {
		return err
	}
	p, err := clone.Hand(ctx)
	if err != nil { // it is of no use to anybody, and Close ends it
		return errors.Join(fmt.Errorf("hand out an appliance: %w", err), clone.Close())
	}
	defer p.Close()
	if err := send(r.Kernel, c, reply{Facts: p.Facts}, p.Files); err != nil {
		return fmt.Errorf("hand out an appliance: %w", err)
	}
	return nil
}
