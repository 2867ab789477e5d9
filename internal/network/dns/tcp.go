package dns

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// pipeline is how many questions of a connection are answered at once (RFC 7766 section 6.2.1.1).
	pipeline = 32
	// maxQuestion is the longest message of a client that is read: a name, and options.
	maxQuestion = 2048
	// sendRoom bounds what the kernel keeps for a client that does not read.
	sendRoom = 64 << 10
	// breath is how long nobody is let in when the process has no descriptor left.
	breath = 100 * time.Millisecond
)

func (s *Server) serveTCP(ctx context.Context, l *net.TCPListener) error {
	var all sync.WaitGroup
	defer all.Wait()
	from := &callers{of: map[netip.Addr]int{}, most: s.shared.limits.PerClient}
	for {
		c, err := l.AcceptTCP()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ENOMEM):
			select {
			case <-ctx.Done():
			case <-time.After(breath):
			}
			continue
		case errors.Is(err, unix.ECONNABORTED), errors.Is(err, os.ErrDeadlineExceeded):
			continue
		case err != nil:
			return fmt.Errorf("serve names on %s: %w", l.Addr(), err)
		}
		who := c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()
		if !from.enter(who) {
			_ = c.Close()
			continue
		}
		if !s.shared.clients.enter(&s.clients, 1) {
			from.leave(who)
			_ = c.Close()
			continue
		}
		s.counts.streams.Add(1)
		all.Go(func() {
			defer from.leave(who)
			defer s.shared.clients.leave(&s.clients, 1)
			s.serveStream(ctx, c)
		})
	}
}

// callers counts the connections of each client, so that one cannot take them all.
type callers struct {
	mu   sync.Mutex
	of   map[netip.Addr]int
	most int
}

func (c *callers) enter(a netip.Addr) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[a] >= c.most {
		return false
	}
	c.of[a]++
	return true
}

func (c *callers) leave(a netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[a]--; c.of[a] == 0 {
		delete(c.of, a)
	}
}

// stream is a client's TCP connection. A question takes one of its tokens and gives it back when its answer is written,
// so there is always room in replies.
type stream struct {
	server  *Server
	conn    *net.TCPConn
	tokens  chan struct{}
	replies chan []byte
	ended   context.Context

	mu       sync.Mutex
	finished bool
}

// serveStream answers in whatever order answers come, until the client is silent for too long or does not read.
func (s *Server) serveStream(ctx context.Context, c *net.TCPConn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	defer c.Close()
	_ = c.SetWriteBuffer(sendRoom)
	st := &stream{
		server: s, conn: c, ended: ctx, tokens: make(chan struct{}, pipeline), replies: make(chan []byte, pipeline),
	}
	var writer sync.WaitGroup
	writer.Go(func() {
		if st.write() != nil {
			cancel()
		}
	})
	_ = st.read(ctx)
	// A client that has nothing more to ask may still want its answers.
	for range pipeline {
		select {
		case <-ctx.Done():
		case st.tokens <- struct{}{}:
			continue
		}
		break
	}
	cancel()
	writer.Wait()
	st.finish()
}

// finish gives back what was counted and is not sent. What upstream still answers comes too late.
func (st *stream) finish() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.finished = true
	for len(st.replies) > 0 {
		st.server.shared.unsent.leave(&st.server.unsent, len(<-st.replies))
	}
}

func (st *stream) read(ctx context.Context) error {
	var head [2]byte
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case st.tokens <- struct{}{}:
		}
		asked, err := st.question(ctx, head[:])
		if !asked {
			<-st.tokens
		}
		if err != nil {
			return err
		}
	}
}

// question reads one, within the time that a client may be silent, and reports whether it will be answered.
func (st *stream) question(ctx context.Context, head []byte) (bool, error) {
	s := st.server
	if err := st.conn.SetReadDeadline(time.Now().Add(s.shared.limits.Idle)); err != nil {
		return false, err
	}
	if _, err := io.ReadFull(st.conn, head); err != nil {
		return false, err
	}
	n := int(binary.BigEndian.Uint16(head))
	if n > maxQuestion {
		return false, fmt.Errorf("a question of %d bytes", n)
	}
	msg := make([]byte, n)
	if _, err := io.ReadFull(st.conn, msg); err != nil {
		return false, err
	}
	sc := s.shared.getScratch()
	defer s.shared.putScratch(sc)
	later := false
	out := s.contained(ctx, sc, msg, maxTCP, func() client {
		later = true
		return client{send: func(msg []byte, _ netip.AddrPort) { st.send(msg) }}
	})
	if out != nil {
		st.send(out)
		return true, nil
	}
	return later, nil
}

// send hands a reply to the writer. A client for which too much waits already is not reading.
func (st *stream) send(msg []byte) {
	out := make([]byte, 2+len(msg))
	binary.BigEndian.PutUint16(out, uint16(len(msg)))
	copy(out[2:], msg)
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.finished {
		return
	}
	s := st.server
	if !s.shared.unsent.enter(&s.unsent, len(out)) {
		_ = st.conn.Close()
		<-st.tokens
		return
	}
	st.replies <- out
}

func (st *stream) write() error {
	for {
		select {
		case <-st.ended.Done():
			return nil
		case msg := <-st.replies:
			err := st.conn.SetWriteDeadline(time.Now().Add(st.server.shared.limits.Idle))
			if err == nil {
				_, err = st.conn.Write(msg)
			}
			st.server.shared.unsent.leave(&st.server.unsent, len(msg))
			<-st.tokens
			if err != nil {
				return err
			}
		}
	}
}
