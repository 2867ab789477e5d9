package proto

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"
)

// GuestError is the appliance's own answer that something failed. It unwraps to Linux's error number.
type GuestError struct {
	Op    Op
	What  string // the path, device or program that was asked about; may be ""
	Errno syscall.Errno
	Text  string // what the appliance said
}

// Error implements error.
func (e *GuestError) Error() string {
	if e.What == "" {
		return fmt.Sprintf("appliance: %s: %s", e.Op, e.Text)
	}
	return fmt.Sprintf("appliance: %s %s: %s", e.Op, e.What, e.Text)
}

// Unwrap lets errors.Is(err, fs.ErrNotExist) work.
func (e *GuestError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// receive takes frames until the connection ends.
func (c *Client) receive() {
	frames := NewFrameReader(c.conn)
	for {
		f, err := frames.Next()
		if err == nil {
			err = c.take(f)
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			err = fmt.Errorf("the appliance is gone: %w", err)
		case errors.Is(err, ErrFrame), errors.Is(err, ErrMessage):
			err = fmt.Errorf("the appliance does not keep to the protocol: %w", err)
		}
		c.fail(err)
		return
	}
}

// take does what one frame says. An error loses the connection.
func (c *Client) take(f Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.heard, c.greeted = time.Now(), true
	if f.ID == 0 && f.Kind == KindFailure {
		var m Failure
		if err := Decode(f.Payload, &m); err != nil {
			return err
		}
		return fmt.Errorf("the appliance gave up: %q", m.Text)
	}
	p := c.calls[f.ID]
	if p == nil {
		return fmt.Errorf("kind %d for request %d, which is not in flight: %w", f.Kind, f.ID, ErrFrame)
	}
	switch f.Kind {
	case KindAnswer:
		c.end(f.ID, p, append([]byte(nil), f.Payload...), nil)
		return nil
	case KindFailure:
		var m Failure
		if err := Decode(f.Payload, &m); err != nil {
			return err
		}
		c.end(f.ID, p, nil, &GuestError{Op: p.op, Errno: syscall.Errno(m.Errno), Text: printable(m.Text)})
		return nil
	case KindData:
		if int(f.Sub) >= len(p.out) || p.out[f.Sub] == nil {
			return fmt.Errorf("data of stream %d, which %s has not: %w", f.Sub, p.op, ErrFrame)
		}
		return p.out[f.Sub].push(f.Payload)
	case KindCredit:
		var m Credit
		if err := Decode(f.Payload, &m); err != nil {
			return err
		}
		if f.Sub != StreamIn || p.in == nil {
			return fmt.Errorf("credit for stream %d, which %s has not: %w", f.Sub, p.op, ErrFrame)
		}
		return p.in.add(m.Bytes)
	case KindProgress:
		var m Progress
		if err := Decode(f.Payload, &m); err != nil {
			return err
		}
		if p.moved == nil {
			return nil
		}
		select {
		case <-p.moved: // nobody took the one before
		default:
		}
		p.moved <- m // has room: this is the only place that fills it
		return nil
	}
	return fmt.Errorf("kind %d from the appliance: %w", f.Kind, ErrFrame)
}

// end ends a request that the guest has ended. The lock is held.
func (c *Client) end(id uint32, p *pending, answer []byte, err error) {
	if p.op == OpPing && p.given {
		c.pinging = false
	}
	c.finish(id, p, answer, err)
}

// printable is a guest's text without what would move a terminal's cursor, and not too long.
func printable(s string) string {
	const longest = 4096
	out := []rune(s[:min(len(s), longest)])
	for i, r := range out {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			out[i] = '?'
		}
	}
	return string(out)
}
