// Package client speaks libvirt's remote protocol, and taproom's own program in it, to a daemon on a unix socket.
//
// A Client is safe for concurrent use; calls do not wait for each other. When the connection ends, every call, event
// channel and stream ends with the reason.
package client

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

// ErrClosed is the reason when Close ended the connection.
var ErrClosed = errors.New("connection is closed")

// Options configure a connection.
type Options struct {
	URI      string // qemu:///system when empty
	ReadOnly bool
	// Keepalive is how long the daemon may be silent before it is asked for a sign of life; after five such times the
	// connection ends. 0 asks never.
	Keepalive time.Duration
}

// Client is a connection to a daemon.
type Client struct {
	nc net.Conn
	wg sync.WaitGroup

	writing sync.Mutex // held while a message is written
	out     []byte

	mu      sync.Mutex
	serial  uint32
	calls   map[uint32]*call
	streams map[uint32]*Stream
	subs    map[subKey]*subscription
	err     error // why the connection ended
	ended   chan struct{}
	heard   bool // a message came since the last beat
}

// call is a call that waits for its reply. The reading goroutine fills ret and runs then, before done is closed.
type call struct {
	ret  xdr.Value
	then func()
	err  error
	done chan struct{}
}

// Dial connects to the socket and opens a connection on it.
func Dial(ctx context.Context, path string, o Options) (*Client, error) {
	nc, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("connect to the daemon: %w (is taproomd running?)", err)
	}
	c, err := New(ctx, nc, o)
	if err != nil {
		return nil, fmt.Errorf("open a connection on %s: %w", path, err)
	}
	return c, nil
}

// New opens a connection on nc, which it owns from then on.
func New(ctx context.Context, nc net.Conn, o Options) (*Client, error) {
	c := &Client{
		nc:      nc,
		calls:   map[uint32]*call{},
		streams: map[uint32]*Stream{},
		subs:    map[subKey]*subscription{},
		ended:   make(chan struct{}),
	}
	c.wg.Go(c.read)
	if err := c.open(ctx, o); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if o.Keepalive > 0 {
		c.wg.Go(func() { c.keepalive(o.Keepalive) })
	}
	return c, nil
}

func (c *Client) open(ctx context.Context, o Options) error {
	var auth remote.Ints
	if err := c.Call(ctx, remote.ProgramRemote, remote.ProcAuthList, &xdr.Void{}, &auth); err != nil {
		return err
	}
	if len(auth.N) != 1 || auth.N[0] != 0 {
		return fmt.Errorf("daemon wants authentication of type %v; only none is supported here", auth.N)
	}
	const keepalive = 10 // virDrvFeature
	if err := c.Call(ctx, remote.ProgramRemote, remote.ProcConnectSupportsFeature, &remote.Int{N: keepalive}, &remote.Int{}); err != nil {
		return err
	}
	uri := o.URI
	if uri == "" {
		uri = "qemu:///system"
	}
	args := remote.OptStringFlags{S: remote.Opt(uri)}
	if o.ReadOnly {
		args.Flags = 1
	}
	return c.Call(ctx, remote.ProgramRemote, remote.ProcConnectOpen, &args, &xdr.Void{})
}

// Close ends the connection and waits for what it started.
func (c *Client) Close() error {
	c.end(ErrClosed)
	c.wg.Wait()
	return nil
}

// Call makes one call. An answer that is an error comes back as *virterr.Error. When ctx ends first, the daemon still
// finishes the call.
func (c *Client) Call(ctx context.Context, program, procedure uint32, args, ret xdr.Value) error {
	_, err := c.call(ctx, program, procedure, args, ret, nil)
	return err
}

func (c *Client) call(ctx context.Context, program, procedure uint32, args, ret xdr.Value, then func(serial uint32)) (uint32, error) {
	w := &call{ret: ret, done: make(chan struct{})}
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return 0, c.err
	}
	c.serial++
	serial := c.serial
	if then != nil {
		w.then = func() { then(serial) }
	}
	c.calls[serial] = w
	c.mu.Unlock()
	h := remote.Header{Program: program, Version: remote.Version, Procedure: procedure, Type: remote.Call, Serial: serial}
	if err := c.write(h, args); err != nil {
		c.forget(serial)
		return serial, err
	}
	select {
	case <-w.done:
		return serial, w.err
	case <-ctx.Done():
		c.forget(serial)
		return serial, ctx.Err()
	}
}

func (c *Client) forget(serial uint32) {
	c.mu.Lock()
	delete(c.calls, serial)
	c.mu.Unlock()
}

func (c *Client) write(h remote.Header, v xdr.Value) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	b, err := remote.Append(c.out[:0], h, v)
	if err != nil {
		return err
	}
	return c.flush(b)
}

func (c *Client) writeRaw(h remote.Header, data []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.flush(remote.AppendRaw(c.out[:0], h, data))
}

// flush writes b and keeps its memory unless it is large.
func (c *Client) flush(b []byte) error {
	if cap(b) <= 64<<10 {
		c.out = b
	}
	if _, err := c.nc.Write(b); err != nil {
		c.end(fmt.Errorf("write to the daemon: %w", err))
		return err
	}
	return nil
}

// read deals with everything the daemon sends.
func (c *Client) read() {
	r := bufio.NewReaderSize(c.nc, 32<<10)
	var buf []byte
	for {
		var head [remote.HeaderSize]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			c.end(fmt.Errorf("daemon closed the connection: %w", err))
			return
		}
		size := binary.BigEndian.Uint32(head[:])
		if size < remote.HeaderSize || size > remote.MaxMessage {
			c.end(fmt.Errorf("daemon sent a message of %d bytes", size))
			return
		}
		n := int(size) - remote.HeaderSize
		if cap(buf) < n {
			buf = make([]byte, n)
		}
		if _, err := io.ReadFull(r, buf[:n]); err != nil {
			c.end(fmt.Errorf("daemon closed the connection in the middle of a message: %w", err))
			return
		}
		c.handle(remote.ParseHeader(head[:]), buf[:n])
		if cap(buf) > 1<<20 {
			buf = nil
		}
	}
}

func (c *Client) handle(h remote.Header, body []byte) {
	c.mu.Lock()
	c.heard = true
	c.mu.Unlock()
	switch {
	case h.Program == remote.ProgramKeepalive:
		if h.Procedure == remote.KeepalivePing {
			h.Procedure = remote.KeepalivePong
			_ = c.writeRaw(h, nil) // a daemon that is gone is noticed by read
		}
	case h.Type == remote.Reply:
		c.reply(h, body)
	case h.Type == remote.Stream:
		c.stream(h, body)
	case h.Type == remote.Message:
		c.event(h, body)
	}
}

func (c *Client) reply(h remote.Header, body []byte) {
	c.mu.Lock()
	w := c.calls[h.Serial]
	delete(c.calls, h.Serial)
	c.mu.Unlock()
	if w == nil {
		return // nobody waits any more
	}
	if h.Status == remote.OK {
		w.err = xdr.Decode(body, w.ret)
	} else {
		w.err = decodeError(body)
	}
	if w.err == nil && w.then != nil {
		w.then()
	}
	close(w.done)
}

func decodeError(body []byte) error {
	var e remote.Error
	if err := xdr.Decode(body, &e); err != nil {
		return fmt.Errorf("daemon sent an error that cannot be read: %w", err)
	}
	return e.Err()
}

// end ends the connection; the first reason counts.
func (c *Client) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	close(c.ended)
	calls, streams, subs := c.calls, c.streams, c.subs
	c.calls, c.streams, c.subs = nil, nil, nil
	c.mu.Unlock()
	_ = c.nc.Close()
	for _, w := range calls {
		w.err = err
		close(w.done)
	}
	for _, s := range streams {
		s.finish(err)
	}
	for _, s := range subs {
		close(s.events)
	}
}

// keepalive asks a silent daemon for a sign of life.
func (c *Client) keepalive(every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	const count = 5
	for silent := 0; ; {
		select {
		case <-c.ended:
			return
		case <-t.C:
		}
		c.mu.Lock()
		heard := c.heard
		c.heard = false
		c.mu.Unlock()
		if silent++; heard {
			silent = 0
		}
		if silent > count {
			c.end(fmt.Errorf("daemon is silent for %v", time.Duration(silent)*every))
			return
		}
		h := remote.Header{Program: remote.ProgramKeepalive, Version: remote.Version, Procedure: remote.KeepalivePing, Type: remote.Message}
		_ = c.writeRaw(h, nil) // ends the connection itself
	}
}
