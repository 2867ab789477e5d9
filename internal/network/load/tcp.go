package load

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// In runs something where sockets are of one network namespace.
type In func(func())

// Flow is traffic under way. Stop it.
type Flow struct {
	Meter
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	closing sync.Mutex
	closers []func() error
}

// keep has Stop close something; after Stop, at once.
func (f *Flow) keep(ctx context.Context, c func() error) bool {
	f.closing.Lock()
	defer f.closing.Unlock()
	if ctx.Err() != nil {
		_ = c()
		return false
	}
	f.closers = append(f.closers, c)
	return true
}

// Stop ends the traffic and waits for both of its ends.
func (f *Flow) Stop() {
	f.cancel()
	f.closing.Lock()
	for _, c := range f.closers {
		_ = c()
	}
	f.closing.Unlock()
	f.tasks.Wait()
}

// chunk is how much one call reads or writes: some of the largest segments, so that the calls cost little.
const chunk = 256 << 10

// connectWithin is how long a connection may take on a machine that is busy with everything else.
const connectWithin = 30 * time.Second

// TCP sends over so many connections, from one namespace to an address of the other, until it is stopped.
func TCP(ctx context.Context, from, to In, address netip.Addr, streams int) (_ *Flow, err error) {
	var l net.Listener
	to(func() { l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", netip.AddrPortFrom(address, 0).String()) })
	if err != nil {
		return nil, fmt.Errorf("receive at %v: %w", address, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &Flow{cancel: cancel}
	f.keep(ctx, l.Close)
	f.tasks.Go(func() { f.accept(ctx, l) })
	d := net.Dialer{Timeout: connectWithin}
	for range streams {
		var c net.Conn
		from(func() { c, err = d.DialContext(ctx, "tcp", l.Addr().String()) })
		if err != nil {
			f.Stop()
			return nil, fmt.Errorf("send to %v: %w", address, err)
		}
		if !f.keep(ctx, c.Close) {
			break
		}
		f.tasks.Go(func() {
			for b := make([]byte, chunk); ; {
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		})
	}
	return f, nil
}

// accept receives until the listener is closed.
func (f *Flow) accept(ctx context.Context, l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if !f.keep(ctx, c.Close) {
			return
		}
		f.tasks.Go(func() {
			for b := make([]byte, chunk); ; {
				n, err := c.Read(b)
				if n > 0 {
					f.add(n)
				}
				if err != nil {
					return
				}
			}
		})
	}
}
