package proto

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

var (
	// ErrBroken is in the error of every call on a connection that is no more.
	ErrBroken = errors.New("connection to the appliance is broken")
	// ErrStalled says that the appliance gave no sign of life for too long.
	ErrStalled = errors.New("the appliance gives no sign of life")
	// ErrDetached is what calls fail with after Detach.
	ErrDetached = errors.New("the connection was given away")
)

// Times of the heartbeat. An appliance that is asked something and is silent is pinged, and one that still says
// nothing is given up. One that nobody asks anything is left alone.
const (
	DefaultBeat  = 2 * time.Second
	DefaultStall = 60 * time.Second // an emulated guest on a machine in trouble may take long to come to anything
)

// Client is the host's end. Its methods may be called at the same time. What the guest sends is not trusted.
type Client struct {
	// Beat and Stall are the heartbeat's times. They may be changed before the first call.
	Beat, Stall time.Duration

	conn   io.ReadWriteCloser
	tasks  sync.WaitGroup
	closed sync.Once

	mu       sync.Mutex
	wake     sync.Cond         // the writer's
	queue    [][]byte          // frames to write: bounded by what may be in flight and by what the guest has granted
	credits  map[stream]uint32 // to be written: what the guest does not take, it may not use
	calls    map[uint32]*pending
	next     uint32
	waiting  int       // calls that somebody waits for
	heard    time.Time // the last frame, or when somebody began to wait
	greeted  bool      // a frame has come: the guest has booted
	pinging  bool
	detached bool
	err      error // why the connection is no more
}

// stream is one of a request.
type stream struct {
	id  uint32
	sub uint8
}

// pending is a request whose end has not come.
type pending struct {
	op     Op
	done   chan struct{} // closed at the end
	answer []byte
	err    error
	in     *outlet
	out    [streams]*inlet
	moved  chan Progress // the last that was not told yet; nil where nobody is told
	given  bool          // nobody waits for it
}

// NewClient takes over a connection to the appliance's port. It sends nothing yet, and may be called before the appliance
// has booted: the first call waits for that, as long as its context allows.
func NewClient(conn io.ReadWriteCloser) *Client {
	c := &Client{Beat: DefaultBeat, Stall: DefaultStall, conn: conn, calls: map[uint32]*pending{}, credits: map[stream]uint32{}}
	c.wake.L = &c.mu
	c.tasks.Go(c.receive)
	c.tasks.Go(c.transmit)
	return c
}

// Close ends the connection and waits until nothing of the client runs any more. Calls that wait fail.
func (c *Client) Close() error {
	c.fail(fmt.Errorf("it was closed: %w", io.ErrClosedPipe))
	c.tasks.Wait()
	return nil
}

// Err is why the connection is no more, or nil.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Detach stops using the connection and gives it back, for somebody else to make a client of it. Nothing may be waited
// for. The connection must have read deadlines.
func (c *Client) Detach() (io.ReadWriteCloser, error) {
	d, ok := c.conn.(interface{ SetReadDeadline(t time.Time) error })
	if !ok {
		return nil, errors.New("give the appliance's connection away: it has no deadlines")
	}
	c.mu.Lock()
	if n := len(c.calls); n > 0 || c.err != nil {
		defer c.mu.Unlock()
		return nil, errors.Join(fmt.Errorf("give the appliance's connection away: %d requests in flight", n), c.err)
	}
	c.err, c.detached = ErrDetached, true
	c.wake.Broadcast()
	c.mu.Unlock()
	if err := d.SetReadDeadline(time.Unix(1, 0)); err != nil {
		return nil, err
	}
	c.tasks.Wait()
	return c.conn, d.SetReadDeadline(time.Time{})
}

// fail ends the connection: everybody who waits gets the reason.
func (c *Client) fail(why error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = fmt.Errorf("%w: %w", ErrBroken, why)
		for id, p := range c.calls {
			c.finish(id, p, nil, c.err)
		}
		c.queue = nil
	}
	detached := c.detached
	c.wake.Broadcast()
	c.mu.Unlock()
	if !detached {
		c.closed.Do(func() { _ = c.conn.Close() })
	}
}

// finish ends a request. The lock is held.
func (c *Client) finish(id uint32, p *pending, answer []byte, err error) {
	delete(c.calls, id)
	p.answer, p.err = answer, err
	if p.in != nil {
		p.in.fail(errors.Join(errEnded, err))
	}
	for _, out := range p.out {
		if out == nil {
			continue
		}
		if err == nil {
			err = io.EOF
		}
		out.fail(err)
	}
	close(p.done)
}

// errEnded is what a write to a request fails with that has ended.
var errEnded = errors.New("the request has ended")

// transmit writes what is queued.
func (c *Client) transmit() {
	for {
		c.mu.Lock()
		for len(c.queue) == 0 && len(c.credits) == 0 && c.err == nil {
			c.wake.Wait()
		}
		if c.err != nil {
			c.mu.Unlock()
			return
		}
		queue := append(c.queue, c.grants()...)
		c.queue = nil
		c.mu.Unlock()
		for _, b := range queue {
			if _, err := c.conn.Write(b); err != nil {
				c.fail(fmt.Errorf("write to the appliance: %w", err))
				return
			}
		}
	}
}

// grants are frames for the credit that has come up. The lock is held.
func (c *Client) grants() (frames [][]byte) {
	for s, n := range c.credits {
		b, err := Encode(&Credit{n})
		if err == nil && c.calls[s.id] != nil {
			frames = append(frames, Frame{Kind: KindCredit, Sub: s.sub, ID: s.id, Payload: b}.Append(nil))
		}
	}
	clear(c.credits)
	return frames
}

// grant has the guest told that it may send more. One that is owed a whole window has sent without having been told: it does not read
// what it is told.
func (c *Client) grant(s stream, n int) {
	c.mu.Lock()
	if c.calls[s.id] == nil {
		c.mu.Unlock()
		return
	}
	c.credits[s] += uint32(n)
	over := c.credits[s] > Window
	c.wake.Broadcast()
	c.mu.Unlock()
	if over {
		c.fail(fmt.Errorf("the appliance does not keep to the protocol: %w", errWindow))
	}
}

// enqueue has a frame written.
func (c *Client) enqueue(f Frame) error {
	b := f.Append(make([]byte, 0, HeaderSize+len(f.Payload)))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.queue = append(c.queue, b)
	c.wake.Broadcast()
	return nil
}

// begin registers a request and has it sent.
func (c *Client) begin(op Op, args []byte, p *pending) (uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	if len(c.calls) >= MaxInFlight-1 { // one is left for pings
		return 0, fmt.Errorf("the appliance has %d requests in flight already", len(c.calls))
	}
	if c.waiting == 0 {
		c.heard = time.Now()
	}
	c.waiting++
	return c.register(op, args, p), nil
}

// register gives a request its number and has it sent. The lock is held.
func (c *Client) register(op Op, args []byte, p *pending) uint32 {
	c.next++
	p.op, p.done = op, make(chan struct{})
	c.calls[c.next] = p
	c.queue = append(c.queue, Frame{Kind: KindRequest, Sub: uint8(op), ID: c.next, Payload: args}.Append(nil))
	c.wake.Broadcast()
	return c.next
}

// wait waits for a request's end, and watches over the guest meanwhile. A request that is given up is cancelled.
func (c *Client) wait(ctx context.Context, id uint32, p *pending, progress func(Progress)) ([]byte, error) {
	beat := time.NewTicker(c.Beat)
	defer beat.Stop()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting--
	}()
	for {
		select {
		case <-p.done:
			return p.answer, p.err
		case <-ctx.Done():
			c.giveUp(id, p, context.Cause(ctx))
			return nil, context.Cause(ctx)
		case m := <-p.moved:
			progress(m)
		case <-beat.C:
			c.watch()
		}
	}
}

// giveUp tells the guest that nobody waits any more. The request keeps its place until the guest has ended it.
func (c *Client) giveUp(id uint32, p *pending, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[id] != p {
		return
	}
	p.given = true
	if p.in != nil {
		p.in.fail(why)
	}
	for _, out := range p.out {
		if out != nil {
			out.discard()
		}
	}
	c.queue = append(c.queue, Frame{Kind: KindCancel, ID: id}.Append(nil))
	c.wake.Broadcast()
}

// watch pings a guest that is silent, and gives up one that stays so.
func (c *Client) watch() {
	c.mu.Lock()
	silent := time.Since(c.heard)
	if c.err != nil || !c.greeted || silent < c.Beat {
		c.mu.Unlock()
		return
	}
	if silent >= c.Stall {
		c.mu.Unlock()
		c.fail(fmt.Errorf("%w for %v, though it was asked", ErrStalled, silent.Round(time.Second)))
		return
	}
	if !c.pinging {
		c.pinging = true
		c.register(OpPing, nil, &pending{given: true})
	}
	c.mu.Unlock()
}
