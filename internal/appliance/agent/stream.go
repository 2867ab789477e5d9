package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/wire"
)

const (
	maxStreams = 64
	maxSinks   = 16
	// streamChunk is how much a call writes or reads: several of the largest segments.
	streamChunk = 256 << 10
	// pacing is how often a sender of datagrams wakes up, and segments how many it gives the kernel at once (UDP_MAX_SEGMENTS
	// of old kernels is 64).
	pacing   = 2 * time.Millisecond
	segments = 40
)

// streams are sinks and senders, until their context is done.
type streams struct {
	mu    sync.Mutex
	sinks map[wire.Meter]*sink
	tasks sync.WaitGroup
}

// sink counts what comes on a port.
type sink struct {
	mu    sync.Mutex
	taken wire.Metered
}

func (s *sink) take(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken.Bytes += int64(n)
	s.taken.Nanos = time.Now().UnixNano()
}

// sink opens one.
func (s *streams) sink(ctx context.Context, r wire.Sink) (wire.Listening, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sinks) >= maxSinks {
		return wire.Listening{}, fmt.Errorf("%d sinks are open already", maxSinks)
	}
	one := &sink{}
	var closer io.Closer
	var port int
	var config net.ListenConfig
	switch r.Protocol {
	case "tcp":
		l, err := config.Listen(ctx, "tcp", ":0")
		if err != nil {
			return wire.Listening{}, err
		}
		closer, port = l, l.Addr().(*net.TCPAddr).Port
		s.tasks.Go(func() { s.accept(ctx, l, one) })
	case "udp":
		l, err := config.ListenPacket(ctx, "udp", ":0")
		if err != nil {
			return wire.Listening{}, err
		}
		closer, port = l, l.LocalAddr().(*net.UDPAddr).Port
		_ = l.(*net.UDPConn).SetReadBuffer(4 << 20) // what the kernel allows of it
		s.tasks.Go(func() { drainDatagrams(l.(*net.UDPConn), one) })
	default:
		return wire.Listening{}, fmt.Errorf("a sink of protocol %q: there are tcp and udp", r.Protocol)
	}
	if s.sinks == nil {
		s.sinks = map[wire.Meter]*sink{}
	}
	s.sinks[wire.Meter{Protocol: r.Protocol, Port: port}] = one
	s.tasks.Go(func() {
		<-ctx.Done()
		_ = closer.Close()
	})
	return wire.Listening{Port: port}, nil
}

// accept takes what comes by TCP.
func (s *streams) accept(ctx context.Context, l net.Listener, one *sink) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.tasks.Go(func() {
			defer context.AfterFunc(ctx, func() { _ = c.Close() })()
			defer c.Close()
			drain(c.(*net.TCPConn), one)
		})
	}
}

// drain reads a stream to its end, without having the kernel copy what is thrown away.
func drain(c *net.TCPConn, one *sink) {
	buf := make([]byte, streamChunk)
	for {
		n, err := discard(c, buf)
		if n > 0 {
			one.take(n)
		}
		if err != nil {
			return
		}
	}
}

// discard takes what a connection has, up to the length of buf.
func discard(c *net.TCPConn, buf []byte) (n int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var got error
	err = raw.Read(func(fd uintptr) bool {
		n, _, got = unix.Recvfrom(int(fd), buf, unix.MSG_TRUNC|unix.MSG_DONTWAIT)
		return !errors.Is(got, unix.EAGAIN) && !errors.Is(got, unix.EINTR)
	})
	if err = errors.Join(err, got); err == nil && n == 0 {
		err = io.EOF
	}
	return max(n, 0), err
}

// meter reads one.
func (s *streams) meter(r wire.Meter) (wire.Metered, error) {
	s.mu.Lock()
	one := s.sinks[r]
	s.mu.Unlock()
	if one == nil {
		return wire.Metered{}, fmt.Errorf("port %d has no sink of protocol %q", r.Port, r.Protocol)
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	return one.taken, nil
}

// send begins to send.
func (s *streams) send(ctx context.Context, r wire.Send) (struct{}, error) {
	switch {
	case r.Protocol == "udp" && (r.Size < 1 || r.Size > maxDatagram || !(r.Rate > 0)):
		return struct{}{}, fmt.Errorf("datagrams of %d bytes, %g bytes a second: nothing would be sent", r.Size, r.Rate)
	case r.Protocol == "udp":
		r.Streams = 1
	case r.Protocol != "tcp":
		return struct{}{}, fmt.Errorf("send by protocol %q: there are tcp and udp", r.Protocol)
	case r.Streams < 1 || r.Streams > maxStreams:
		return struct{}{}, fmt.Errorf("%d streams: there are 1 to %d", r.Streams, maxStreams)
	}
	ctx, cancel := context.WithTimeout(ctx, bounded(r.Seconds, maxWait))
	var open []net.Conn
	for range r.Streams {
		c, err := (&net.Dialer{}).DialContext(ctx, r.Protocol, r.Address)
		if err == nil && r.Protocol == "udp" {
			err = cut(c.(*net.UDPConn), r.Size)
		}
		if err != nil {
			cancel()
			for _, c := range open {
				_ = c.Close()
			}
			return struct{}{}, err
		}
		open = append(open, c)
	}
	var tasks sync.WaitGroup
	for _, c := range open {
		tasks.Go(func() {
			defer c.Close()
			defer context.AfterFunc(ctx, func() { _ = c.Close() })()
			if r.Protocol == "udp" {
				datagrams(ctx, c, r.Size, r.Rate)
				return
			}
			for b := make([]byte, streamChunk); ; {
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		})
	}
	s.tasks.Go(func() {
		tasks.Wait()
		cancel()
	})
	return struct{}{}, nil
}

// cut has the kernel make datagrams of what is written.
func cut(c *net.UDPConn, size int) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, size) })
	return errors.Join(err, set)
}

// datagrams sends at a rate until nobody listens any more, and makes up for a pause of some of its intervals. What a queue
// refuses is lost, as datagrams are.
func datagrams(ctx context.Context, c net.Conn, size int, rate float64) {
	most := max(rate*(10*pacing).Seconds(), float64(size))
	tick := time.NewTicker(pacing)
	defer tick.Stop()
	buf := make([]byte, min(segments, max(1, maxDatagram/size))*size)
	owed, last := 0.0, time.Now()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			owed, last = min(owed+rate*now.Sub(last).Seconds(), most), now
		}
		for n := int(owed) / size; n > 0 && ctx.Err() == nil; n = int(owed) / size {
			n = min(n, len(buf)/size)
			if _, err := c.Write(buf[:n*size]); errors.Is(err, unix.ECONNREFUSED) {
				return
			}
			owed -= float64(n * size)
		}
	}
}
