package appliance

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"taproom/internal/appliance/wire"
)

// ErrClosed is returned for a request whose answer can no longer come.
var ErrClosed = errors.New("connection to the guest's agent is closed")

// RefusedError is the agent's own answer that it cannot do something.
type RefusedError struct {
	Op      wire.Op
	Message string
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the guest's agent: %s: %s", e.Op, e.Message)
}

// Client talks to the agent of one guest. Its methods may be called at the same time. What the guest sends is not
// trusted: it is bounded, and an answer that was not asked for is dropped.
type Client struct {
	conn net.Conn
	done chan struct{}

	write   sync.Mutex
	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan wire.Response
	failed  error
}

// Dial connects to the socket behind a guest's agent port, and returns when the agent answers: it may be called before
// the guest has booted.
func Dial(ctx context.Context, path string) (*Client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("connect to the guest's agent: %w", err)
	}
	return NewClient(ctx, conn)
}

// NewClient takes over a connection to the agent port, and returns when the agent answers. It closes conn when it fails.
func NewClient(ctx context.Context, conn net.Conn) (*Client, error) {
	// Answers to the process before us bear its numbers. Ours begin elsewhere.
	var start [8]byte
	if _, err := rand.Read(start[:]); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c := &Client{
		conn: conn, done: make(chan struct{}), waiting: map[uint64]chan wire.Response{},
		next: binary.NativeEndian.Uint64(start[:]) >> 16, // as a float, which JSON may make of it, still exact
	}
	frames := wire.NewDecoder(conn)
	if err := c.synchronise(ctx, frames); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("wait for the guest's agent: %w", err)
	}
	go c.receive(frames)
	return c, nil
}

// synchronise sends a reset and drops everything up to the agent's.
func (c *Client) synchronise(ctx context.Context, frames *wire.Decoder) error {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	_, err := c.conn.Write(wire.Reset())
	for err == nil {
		_, err = frames.Next()
		if errors.Is(err, wire.ErrTooLong) {
			err = nil // the rest of a frame to somebody else
		}
	}
	if !stop() {
		return ctx.Err()
	}
	if !errors.Is(err, wire.ErrReset) {
		return err
	}
	return nil
}

// Close ends the connection and waits until nothing of the client runs any more.
func (c *Client) Close() error {
	err := c.conn.Close()
	<-c.done
	return err
}

// receive hands answers to those who wait for them, until the connection ends.
func (c *Client) receive(frames *wire.Decoder) {
	defer close(c.done)
	var err error
	for {
		var payload []byte
		payload, err = frames.Next()
		if errors.Is(err, wire.ErrReset) {
			continue // the rest of the reset that answered ours
		}
		if err != nil {
			break
		}
		var r wire.Response
		if err = json.Unmarshal(payload, &r); err != nil {
			err = fmt.Errorf("the guest's agent sent no answer: %w", err)
			break
		}
		c.mu.Lock()
		if answer := c.waiting[r.ID]; answer != nil {
			answer <- r
			delete(c.waiting, r.ID)
		}
		c.mu.Unlock()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		err = ErrClosed
	}
	_ = c.conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = fmt.Errorf("%w: %w", ErrClosed, err)
	for id, answer := range c.waiting {
		close(answer)
		delete(c.waiting, id)
	}
}

// Do asks for an operation and stores its result, which may be nil when nobody is interested.
func (c *Client) Do(ctx context.Context, op wire.Op, args, result any) error {
	if err := c.do(ctx, op, args, result); err != nil {
		var refused *RefusedError
		if errors.As(err, &refused) {
			return err
		}
		return fmt.Errorf("ask the guest's agent for %s: %w", op, err)
	}
	return nil
}

func (c *Client) do(ctx context.Context, op wire.Op, args, result any) error {
	r := wire.Request{Op: op}
	if args != nil {
		var err error
		if r.Args, err = json.Marshal(args); err != nil {
			return err
		}
	}
	answer, err := c.register(&r)
	if err != nil {
		return err
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, r.ID)
	}()
	if err := c.send(ctx, r); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case response, ok := <-answer:
		switch {
		case !ok:
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.failed
		case response.Error != "":
			return &RefusedError{Op: op, Message: response.Error}
		case result == nil:
			return nil
		}
		return json.Unmarshal(response.Result, result)
	}
}

func (c *Client) register(r *wire.Request) (<-chan wire.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return nil, c.failed
	}
	c.next++
	r.ID = c.next
	answer := make(chan wire.Response, 1)
	c.waiting[r.ID] = answer
	return answer, nil
}

// send writes a request. A guest that takes no bytes cannot hold the caller beyond ctx; the connection is lost then,
// because half a frame may be on its way.
func (c *Client) send(ctx context.Context, r wire.Request) error {
	payload, err := json.Marshal(r)
	if err != nil {
		return err
	}
	frame, err := wire.Encode(payload)
	if err != nil {
		return err
	}
	c.write.Lock()
	defer c.write.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetWriteDeadline(time.Unix(1, 0)) })
	_, err = c.conn.Write(frame)
	if !stop() && err != nil {
		_ = c.conn.Close()
		return ctx.Err()
	}
	return err
}
