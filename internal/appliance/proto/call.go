package proto

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// request is one to be made: what it asks, where its streams come from and go to, and who is told how far it is.
type request struct {
	op       Op
	what     string // for errors
	args     Message
	result   Message // nil: the answer holds nothing
	in       io.Reader
	out, err io.Writer
	progress func(Progress)
}

// asking says what was asked when err came in between.
func (r request) asking(err error) error {
	if r.what == "" {
		return fmt.Errorf("ask the appliance for %s: %w", r.op, err)
	}
	return fmt.Errorf("ask the appliance for %s %s: %w", r.op, r.what, err)
}

// Stoppable is input whose Read may block for ever: a terminal, for example. Stop is called when the request has its answer, and has a Read that
// blocks return.
type Stoppable interface{ Stop() }

// do makes a request and returns at its end. What is read from or written to for it is not touched after that: a Read or
// Write of the caller's that hangs is waited for, but for a Read of Stoppable input.
func (c *Client) do(ctx context.Context, r request) error {
	if r.args == nil {
		r.args = &Nothing{}
	}
	if r.result == nil {
		r.result = &Nothing{}
	}
	args, err := Encode(r.args)
	if err != nil {
		return r.asking(err)
	}
	answer, err := c.exchange(ctx, r, args)
	var guest *GuestError
	switch {
	case errors.As(err, &guest):
		guest.What = r.what
		return err
	case err != nil:
		return r.asking(err)
	}
	if err := Decode(answer, r.result); err != nil {
		c.fail(fmt.Errorf("its answer to %s: %w", r.op, err))
		return r.asking(c.Err())
	}
	return nil
}

// exchange makes a request, copies its streams meanwhile, and returns its answer.
func (c *Client) exchange(ctx context.Context, r request, args []byte) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var id uint32
	p := &pending{}
	if r.progress != nil {
		p.moved = make(chan Progress, 1)
	}
	if r.in != nil {
		p.in = newOutlet(func(b []byte) error {
			return c.enqueue(Frame{Kind: KindData, Sub: StreamIn, ID: id, Payload: b})
		})
	}
	for sub, w := range map[uint8]io.Writer{StreamOut: r.out, StreamErr: r.err} {
		if w != nil {
			p.out[sub] = newInlet(func(n int) { c.grant(stream{id, sub}, n) })
		}
	}
	id, err := c.begin(r.op, args, p)
	if err != nil {
		return nil, err
	}
	var copies sync.WaitGroup
	for sub, w := range map[uint8]io.Writer{StreamOut: r.out, StreamErr: r.err} {
		if w != nil {
			copies.Go(func() {
				if err := copyOut(w, p.out[sub]); err != nil {
					cancel(err)
				}
			})
		}
	}
	if r.in != nil {
		copies.Go(func() {
			if err := copyIn(p.in, r.in); err != nil {
				cancel(err)
			}
		})
	}
	answer, err := c.wait(ctx, id, p, r.progress)
	if in, ok := r.in.(Stoppable); ok {
		in.Stop()
	}
	copies.Wait()
	if err == nil {
		err = context.Cause(ctx) // the guest was done, and the caller's writer had failed at what it had sent before
	}
	return answer, err
}

// copyOut gives to w what the guest sends. Only w's own errors are returned: the guest's belong to the request.
func copyOut(w io.Writer, from *inlet) error {
	b := make([]byte, MaxData)
	for {
		n, err := from.Read(b)
		if n > 0 {
			if _, err := w.Write(b[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// copyIn sends to the guest what r holds. Only r's own errors are returned.
func copyIn(to *outlet, r io.Reader) error {
	b := make([]byte, MaxData)
	for {
		n, err := r.Read(b)
		if n > 0 {
			if _, err := to.Write(b[:n]); err != nil {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			_ = to.Close() // fails when the request has ended, which says why
			return nil
		}
		if err != nil {
			return err
		}
	}
}
