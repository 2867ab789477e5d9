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

// begin makes a flow without ends.
func begin(ctx context.Context) (*Flow, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	return &Flow{cancel: cancel}, ctx
}

// Receive takes what comes to an address by a transport, on the port that it returns, and counts it.
func Receive(ctx context.Context, to In, x Transport, address netip.Addr) (*Flow, netip.AddrPort, error) {
	f, ctx := begin(ctx)
	at, err := f.receive(ctx, to, x, address)
	if err != nil {
		f.Stop()
		return nil, at, fmt.Errorf("receive at %v: %w", address, err)
	}
	return f, at, nil
}

// Send sends to somebody who takes it, until it is stopped. Rate is what passes, in bytes of payload a second, of which UDP
// sends a third more.
func Send(ctx context.Context, from In, x Transport, to netip.AddrPort, mtu int, rate float64) (*Flow, error) {
	f, ctx := begin(ctx)
	if err := f.send(ctx, from, x, to, mtu, rate); err != nil {
		f.Stop()
		return nil, fmt.Errorf("send to %v: %w", to, err)
	}
	return f, nil
}

// Start is Receive, and Send to there.
func Start(ctx context.Context, from, to In, x Transport, pair [2]netip.Addr, mtu int, rate float64) (*Flow, error) {
	f, ctx := begin(ctx)
	at, err := f.receive(ctx, to, x, x.Pick(pair))
	if err == nil {
		err = f.send(ctx, from, x, at, mtu, rate)
	}
	if err != nil {
		f.Stop()
		return nil, fmt.Errorf("send %v to %v: %w", x, x.Pick(pair), err)
	}
	return f, nil
}

func (f *Flow) receive(ctx context.Context, to In, x Transport, address netip.Addr) (netip.AddrPort, error) {
	if x.Streams == 0 {
		return f.receiveUDP(ctx, to, address)
	}
	var l net.Listener
	var err error
	to(func() { l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", netip.AddrPortFrom(address, 0).String()) })
	if err != nil {
		return netip.AddrPort{}, err
	}
	f.keep(ctx, l.Close)
	f.tasks.Go(func() { f.accept(ctx, l) })
	return l.Addr().(*net.TCPAddr).AddrPort(), nil
}

func (f *Flow) send(ctx context.Context, from In, x Transport, to netip.AddrPort, mtu int, rate float64) error {
	if x.Streams == 0 {
		return f.sendUDP(ctx, from, to, x.Datagram(mtu), Offered(rate))
	}
	d := net.Dialer{Timeout: connectWithin}
	for range x.Streams {
		var c net.Conn
		var err error
		from(func() { c, err = d.DialContext(ctx, "tcp", to.String()) })
		if err != nil {
			return err
		}
		f.keep(ctx, c.Close)
		f.tasks.Go(func() {
			for b := make([]byte, chunk); ; {
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		})
	}
	return nil
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
