package qmp

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"time"

	"taproom/internal/host"
)

// ErrDetached means that the connection was given away.
var ErrDetached = errors.New("connection was given to another process")

// Detach closes the client and returns its connection, as a descriptor that may be sent to another process, for Resume there.
// Nothing may be under way. Events that nobody has taken yet are lost. An error leaves the client closed.
func (c *Client) Detach() (*os.File, error) {
	f, err := c.detach()
	if err != nil {
		return nil, fmt.Errorf("give the connection to QEMU's monitor away: %w", errors.Join(err, c.Close()))
	}
	return f, nil
}

func (c *Client) detach() (*os.File, error) {
	conn, ok := c.conn.(interface{ File() (*os.File, error) })
	if !ok {
		return nil, fmt.Errorf("%T has no descriptor", c.conn)
	}
	f, err := conn.File() // of its own: the reader closes the other one
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	under := len(c.pending)
	if under == 0 && c.err == nil {
		c.err = &ConnError{Peer: c.peer, Err: ErrDetached}
	} else if c.err == nil {
		err = fmt.Errorf("%d commands are under way", under)
	} else {
		err = c.err
	}
	c.mu.Unlock()
	if err == nil {
		err = c.conn.SetReadDeadline(time.Unix(1, 0)) // the reader ends
	}
	if err == nil {
		if <-c.done; c.rest != 0 {
			err = fmt.Errorf("%d bytes of a message have come", c.rest)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Resume is New for a connection that Detach gave away: QEMU is in command mode and greets nobody again, so that Greeting is empty.
func Resume(k *host.Kernel, conn net.Conn, peer string) *Client {
	c := newClient(k, conn, peer)
	c.entered = true
	go c.read(newLineReader(conn, maxLine))
	return c
}

// newClient is a client that reads nothing yet.
func newClient(k *host.Kernel, conn net.Conn, peer string) *Client {
	c := &Client{
		k: k, conn: conn, peer: peer,
		events: make(chan Event, eventQueue), writing: make(chan struct{}, 1), done: make(chan struct{}),
		pending: map[uint64]*call{},
		base:    rand.Uint64N(1<<62/session) * session, // QEMU's numbers end at 2^63
	}
	c.lastID = c.base
	return c
}
