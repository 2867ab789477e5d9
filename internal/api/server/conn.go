package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"taproom/internal/api/remote"
)

// smallMessage holds nearly every call (a handle of a domain and flags), so that it arrives with one read.
const smallMessage = 512

// conn is one client.
type conn struct {
	srv  *Server
	nc   net.Conn
	id   uint64
	peer peer
	out  outbox

	calls    sync.WaitGroup // calls, streams and flushes that run
	slots    chan struct{}  // calls that take long
	priority chan struct{}  // the same, for calls that must not wait for those
	gone     chan struct{}  // closed when the connection is no longer read
	// asked ends with gone: for what is only done to answer this client.
	asked context.Context
	leave context.CancelFunc

	keepalive atomic.Bool // the client understands it
	heard     atomic.Bool // a message came since the last beat
	silent    int         // beats without one; the keepalive loop's alone

	large atomic.Int64 // bytes of the budget for replies

	// What follows is the reading goroutine's alone.
	buf     [smallMessage]byte
	have    int
	in      inbox
	message []byte // a large message, which the budget counts

	mu       sync.Mutex
	open     bool
	readOnly bool
	uri      string
	claimed  int32 // the process that a client says it speaks for; 0 when it speaks for itself
	streams  map[uint32]*stream
	regs     []registration
	owned    []Domain // guests that end with the connection
	nextReg  int32
}

func newConn(s *Server, nc net.Conn, p peer, readOnly bool) *conn {
	c := &conn{
		srv:      s,
		nc:       nc,
		in:       newInbox(nc),
		peer:     p,
		readOnly: readOnly,
		slots:    make(chan struct{}, s.opts.InFlight),
		priority: make(chan struct{}, s.opts.InFlight),
		gone:     make(chan struct{}),
	}
	c.asked, c.leave = context.WithCancel(s.ctx)
	c.out.init(nc, &s.bufs, c.calls.Go)
	c.out.limit, c.out.most = s.opts.EventQueue, s.opts.Limits.EventBytes
	return c
}

// serve reads until the client leaves or the server stops, and returns when nothing of the client is left.
func (c *conn) serve() {
	defer c.srv.forget(c)
	c.calls.Add(1) // held until the end: flushes may start at any time before it
	c.srv.log.Debug("client connected", "client", c.id, "pid", c.peer.PID, "uid", c.peer.UID, "read-only", c.readOnly)
	err := c.read()
	c.dropMessage()
	closeFiles(c.in.files)
	close(c.gone)
	c.leave()
	c.dropRegistrations()
	select {
	case <-c.srv.stopping: // let calls that run answer
	default:
		c.out.kill()
	}
	c.closeStreams()
	c.out.hush()
	c.calls.Done()
	c.calls.Wait()
	c.out.kill()
	c.endOwned()
	if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.srv.log.Info("client disconnected", "client", c.id, "pid", c.peer.PID, "uid", c.peer.UID, "error", err)
	}
}

// stopReading makes read return; calls that run may still answer.
func (c *conn) stopReading() { _ = c.nc.SetReadDeadline(time.Unix(1, 0)) }

// beat is called once per keepalive interval.
func (c *conn) beat(count int) {
	if !c.keepalive.Load() {
		return
	}
	if c.heard.Swap(false) {
		c.silent = 0
		return
	}
	if c.silent >= count {
		c.srv.log.Warn("client is silent, disconnecting it", "client", c.id, "pid", c.peer.PID)
		c.out.kill()
		return
	}
	c.silent++
	c.postKeepalive(remote.KeepalivePing)
}

func (c *conn) postKeepalive(procedure uint32) {
	h := remote.Header{Program: remote.ProgramKeepalive, Version: remote.Version, Procedure: procedure, Type: remote.Message}
	_ = c.out.post(remote.AppendRaw(nil, h, nil)) // a client that is gone is noticed by read
}

// read handles messages until one cannot be read or answered.
func (c *conn) read() error {
	for {
		msg, err := c.next()
		if err != nil {
			return err
		}
		c.heard.Store(true)
		if msg == nil { // it was refused
			continue
		}
		h := remote.ParseHeader(msg)
		if h.Type == remote.CallWithFDs {
			if err := c.handleWithFiles(msg); err != nil {
				return err
			}
			continue
		}
		if err := c.handle(h, msg[remote.HeaderSize:], nil); err != nil {
			return err
		}
		c.consume(msg)
	}
}

// next returns a whole message, or nil for a message that was too large and has been answered. It is valid until consume.
func (c *conn) next() ([]byte, error) {
	n, err := c.fill(remote.LengthSize, 0)
	if err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(c.buf[:]))
	if size < remote.HeaderSize || size > remote.MaxMessage {
		return nil, fmt.Errorf("message of %d bytes; want %d to %d", size, remote.HeaderSize, remote.MaxMessage)
	}
	if size <= smallMessage {
		if n, err = c.fill(int(size), n); err != nil {
			return nil, err
		}
		return c.buf[:size], c.whole(n)
	}
	if size > FreeMessage {
		if c.mayOnlyRead() {
			return nil, c.refuse(int(size))
		}
		msg, err := c.receiveLarge(int(size))
		if err != nil {
			return nil, err
		}
		return msg, c.whole(1)
	}
	msg, err := c.receive(int(size))
	if err != nil {
		return nil, err
	}
	return msg, c.whole(1)
}

// fill reads until want bytes are there. Between messages it waits for ever; within one, only so long. waited counts the
// deadlines that were set.
func (c *conn) fill(want, waited int) (int, error) {
	for c.have < want {
		if c.have > 0 && waited == 0 {
			if err := c.deadline(); err != nil {
				return waited, err
			}
			waited++
		}
		n, err := c.recv(c.buf[c.have:])
		c.have += n
		if err != nil {
			if c.have > 0 && c.have < want {
				return waited, fmt.Errorf("after %d bytes of a message: %w", c.have, err)
			}
			if c.have < want {
				return waited, err
			}
		}
	}
	return waited, nil
}

// receive reads a message that does not fit into buf. Memory grows with the received bytes, not with the announced size.
func (c *conn) receive(size int) ([]byte, error) {
	if err := c.deadline(); err != nil {
		return nil, err
	}
	msg := append(c.srv.bufs.get(), c.buf[:c.have]...)
	c.have = 0
	for len(msg) < size {
		room := min(size-len(msg), max(len(msg), 16<<10))
		at := len(msg)
		msg = append(msg, make([]byte, room)...)
		n, err := io.ReadFull(receiver{c}, msg[at:])
		if err != nil {
			return nil, fmt.Errorf("after %d of %d bytes of a message: %w", at+n, size, err)
		}
	}
	return msg, nil
}

// receiver is the connection as something that is read.
type receiver struct{ *conn }

// Read implements io.Reader.
func (r receiver) Read(b []byte) (int, error) { return r.recv(b) }

func (c *conn) deadline() error {
	return c.stoppable(time.Now().Add(c.srv.opts.MessageTimeout))
}

// whole lifts the deadline of a message that has come.
func (c *conn) whole(waited int) error {
	if waited == 0 {
		return nil
	}
	return c.stoppable(time.Time{})
}

// stoppable sets a deadline unless the server stops, whose deadline must not be overwritten.
func (c *conn) stoppable(t time.Time) error {
	if err := c.nc.SetReadDeadline(t); err != nil {
		return err
	}
	select {
	case <-c.srv.stopping:
		c.stopReading()
	default:
	}
	return nil
}

// consume makes room for the next message.
func (c *conn) consume(msg []byte) {
	switch {
	case len(msg) > FreeMessage:
		c.dropMessage()
		return
	case len(msg) > smallMessage:
		c.srv.bufs.put(msg)
		return
	}
	c.have = copy(c.buf[:], c.buf[len(msg):c.have])
}
