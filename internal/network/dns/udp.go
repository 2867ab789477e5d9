package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Sockets are where questions come in. They stay open when Serve returns.
type Sockets struct {
	UDP []*net.UDPConn
	TCP []*net.TCPListener
}

// burst is how many datagrams are answered before the socket is let go for a moment.
const burst = 32

// Serve answers until the context ends, and returns when nothing that it started is left but questions upstream, for
// which Close waits. It may run several times at once, with other sockets. A socket that fails ends it.
func (s *Server) Serve(ctx context.Context, sockets Sockets) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sockets.setDeadline(time.Time{})
	woken := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(woken)
		sockets.setDeadline(time.Unix(1, 0))
	})
	var all sync.WaitGroup
	for _, c := range sockets.UDP {
		all.Go(func() { cancel(s.serveUDP(ctx, c)) })
	}
	for _, l := range sockets.TCP[:max(0, len(sockets.TCP)-1)] {
		all.Go(func() { cancel(s.serveTCP(ctx, l)) })
	}
	if n := len(sockets.TCP); n > 0 { // a thousand networks have a thousand stacks less so
		cancel(s.serveTCP(ctx, sockets.TCP[n-1]))
	}
	<-woken
	all.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// setDeadline lets waiting begin, or ends it when the time is past.
func (s Sockets) setDeadline(at time.Time) {
	for _, c := range s.UDP {
		_ = c.SetReadDeadline(at)
	}
	for _, l := range s.TCP {
		_ = l.SetDeadline(at)
	}
}

// serveUDP waits for datagrams without room for them: a thousand networks mostly wait.
func (s *Server) serveUDP(ctx context.Context, c *net.UDPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return fmt.Errorf("serve names on %s: %w", c.LocalAddr(), err)
	}
	for {
		var failed error
		err := raw.Read(func(fd uintptr) bool {
			if !readable(fd) {
				return false
			}
			// A stack that once grew to answer stays grown while it waits, and thousands wait: answers are made on
			// another.
			var answering sync.WaitGroup
			var more bool
			answering.Go(func() { more, failed = s.drain(ctx, int(fd), raw) })
			answering.Wait()
			return more || failed != nil
		})
		switch {
		case failed != nil:
			return fmt.Errorf("serve names on %s: %w", c.LocalAddr(), failed)
		case errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil:
			return nil
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("serve names on %s: %w", c.LocalAddr(), err)
		}
	}
}

// drain answers what has come in. It reports whether there may be more.
func (s *Server) drain(ctx context.Context, fd int, raw syscall.RawConn) (bool, error) {
	sc := s.shared.getScratch()
	defer s.shared.putScratch(sc)
	for range burst {
		n, from, err := unix.Recvfrom(fd, sc.in[:], unix.MSG_DONTWAIT)
		switch {
		case err == unix.EAGAIN:
			return false, nil
		case err == unix.EINTR, err == unix.ECONNREFUSED, err == unix.EHOSTUNREACH, err == unix.ENETUNREACH:
			continue // what happened to an answer of ours
		case err != nil:
			return false, err
		}
		port, ok := sender(from)
		if !ok {
			continue
		}
		msg := s.contained(ctx, sc, sc.in[:n], 0, func() client {
			return client{from: port, send: func(msg []byte, _ netip.AddrPort) {
				// A socket that has no room now loses the answer, as networks do; the client asks again.
				_ = raw.Write(func(fd uintptr) bool {
					_ = unix.Sendto(int(fd), msg, unix.MSG_DONTWAIT, from)
					return true
				})
			}}
		})
		if msg != nil {
			_ = unix.Sendto(fd, msg, unix.MSG_DONTWAIT, from)
		}
	}
	return true, nil
}

// sender returns where a datagram came from. From port zero nobody can be answered.
func sender(from unix.Sockaddr) (netip.AddrPort, bool) {
	switch a := from.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)), a.Port != 0
	case *unix.SockaddrInet6: // of two guests with the same link-local address only one is on the bridge
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port)), a.Port != 0
	}
	return netip.AddrPort{}, false
}
