package qmp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"

	"taproom/internal/host"
)

const (
	// session is how many ids a connection has for itself. Their beginning is random: QEMU answers a command whose client
	// went away to the client that came after it (seen with QEMU 7.2 and a daemon killed right behind its command).
	session = 1 << 24
	// leftovers is how many messages to an earlier client may come before the greeting.
	leftovers = 64
	// maxLine bounds one message. The longest that QEMU 10.0 sends, query-qmp-schema's reply, has about 250 KB.
	maxLine = 8 << 20
	// maxEvent bounds an event, of which many may wait. QEMU's have some hundred bytes.
	maxEvent = 64 << 10
	// eventQueue is how many events may wait for their consumer. A guest can cause events at will, so there must be a
	// bound; one that only watches lifecycle and devices stays far below it.
	eventQueue = 1024
)

// Client is one connection to one QEMU. All methods may be called from any goroutine.
type Client struct {
	k        *host.Kernel
	conn     net.Conn
	peer     string
	greeting Greeting
	events   chan Event
	writing  chan struct{} // holds one token: whoever has it writes
	done     chan struct{} // closed by the reader when the connection is over
	entered  bool          // command mode; the reader's alone
	rest     int           // bytes of a message that had not come whole when the reader ended; set before done is closed

	mu      sync.Mutex
	pending map[uint64]*call
	base    uint64 // the ids of this connection come after it
	lastID  uint64
	err     error // why the connection is over
}

// call is a command that waits for its reply.
type call struct {
	command string
	reply   chan message // room for one: the reader never blocks
}

// Dial connects to the socket at path, takes QEMU's greeting and enters command mode. ctx bounds all of it. The caller
// must Close the client and must consume Events.
func Dial(ctx context.Context, k *host.Kernel, path string) (*Client, error) {
	conn, err := k.DialUnix(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("connect to QEMU's monitor: %w", err)
	}
	return New(ctx, k, conn, path)
}

// New is Dial for a connection that exists. It owns conn from here on, also when it fails. The peer is named in errors.
func New(ctx context.Context, k *host.Kernel, conn net.Conn, peer string) (*Client, error) {
	c := newClient(k, conn, peer)
	lines := newLineReader(conn, maxLine)
	if err := c.greet(ctx, lines); err != nil {
		_ = conn.Close()
		return nil, err
	}
	go c.read(lines)
	if err := c.Execute(ctx, "qmp_capabilities", nil, nil); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// Absent returns a Client without a connection, for a QEMU that does not answer: every call fails with the reason.
func Absent(peer string, why error) *Client {
	c := &Client{
		peer: peer, err: &ConnError{Peer: peer, Err: why},
		events: make(chan Event), writing: make(chan struct{}, 1), done: make(chan struct{}),
	}
	close(c.events)
	close(c.done)
	return c
}

func (c *Client) greet(ctx context.Context, lines *lineReader) error {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.Close() })
	m, err := c.firstMessage(lines)
	if !stop() {
		return &NoReplyError{Command: "the connection with a greeting", Err: ctx.Err()}
	}
	if err != nil {
		return &ConnError{Peer: c.peer, Err: sortOut(err)}
	}
	c.greeting = m.greeting
	return nil
}

// firstMessage reads the greeting. What comes before it was for somebody else.
func (c *Client) firstMessage(lines *lineReader) (message, error) {
	for n := 0; ; n++ {
		line, err := lines.next()
		if err != nil {
			return message{}, err
		}
		m, err := parse(line)
		if err != nil || m.kind == kindGreeting {
			return m, err
		}
		if n == leftovers {
			return m, fmt.Errorf("%w: want a greeting, got %s", ErrMalformed, excerpt(line))
		}
	}
}

// Greeting returns what QEMU said first.
func (c *Client) Greeting() Greeting { return c.greeting }

// Events returns the queue of events. It is closed when the connection is over; Err then tells why. When it runs full
// (1024 unread events) the connection is closed with ErrEventOverflow, so that a guest that floods its monitor costs its
// own connection and not the daemon's memory; the owner dials again and queries the state it missed.
func (c *Client) Events() <-chan Event { return c.events }

// Done is closed when the connection is over.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns nil while the connection lives and a *ConnError afterwards.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection, releases every waiting caller with ErrClosed and waits for the reader. It may be called
// more than once.
func (c *Client) Close() error {
	c.fail(ErrClosed)
	<-c.done
	return nil
}

// fail records why the connection is over, once, and makes the reader return.
func (c *Client) fail(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = &ConnError{Peer: c.peer, Err: err}
	}
	c.mu.Unlock()
	if c.conn == nil { // absent
		return
	}
	_ = c.conn.Close() // a second one is refused and changes nothing
}

// read is the reader: it ends with the connection and releases everybody.
func (c *Client) read(lines *lineReader) {
	defer close(c.done)
	defer close(c.events)
	for {
		line, err := lines.next()
		if err == nil {
			err = c.dispatch(line)
		}
		if err != nil {
			c.rest = lines.partial()
			c.fail(sortOut(err))
			return
		}
	}
}

func (c *Client) dispatch(line []byte) error {
	m, err := parse(line)
	if err != nil {
		return err
	}
	switch m.kind {
	case kindEvent:
		if len(line) > maxEvent {
			return fmt.Errorf("%w (event of %d bytes, %d allowed)", ErrLineTooLong, len(line), maxEvent)
		}
		select {
		case c.events <- m.event:
			return nil
		default:
			return ErrEventOverflow
		}
	case kindReturn, kindError:
		c.entered = c.entered || m.hasID && m.id == c.base+1
		return c.deliver(m, line)
	default:
		if !c.entered {
			return nil // a QEMU that is connected to while it sets its monitor up may greet twice (monitor_qmp_event)
		}
		return fmt.Errorf("%w: a second greeting", ErrMalformed)
	}
}

func (c *Client) deliver(m message, line []byte) error {
	if !m.hasID { // QEMU could not read what we sent, or the peer is not QEMU
		return fmt.Errorf("%w: reply without id: %s", ErrMalformed, excerpt(line))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.id <= c.base || m.id > c.base+session { // a command of an earlier client
		return nil
	}
	if m.id > c.lastID {
		return fmt.Errorf("%w: reply to a command that was never sent: %s", ErrMalformed, excerpt(line))
	}
	if w, ok := c.pending[m.id]; ok { // otherwise its caller gave up
		delete(c.pending, m.id)
		w.reply <- m
	}
	return nil
}

// sortOut turns the errors of a dead socket into ours: closing a unix socket with unread data resets its peer.
func sortOut(err error) error {
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrPeerClosed // one thing, whether reading or writing noticed it first
	}
	return err
}
