package proxy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// most is the longest datagram there is.
const most = 65535

// client is who sends datagrams, and where to.
type client struct {
	at   At
	from netip.AddrPort
}

// session is one client's way to a guest. The socket is connected, so the guest's answers are those of this client alone.
type session struct {
	to    netip.AddrPort
	by    *net.UDPConn // what came in by it is answered by it
	guest *net.UDPConn
	rooms *sync.Pool   // that datagrams are read into: those that wait have none
	last  atomic.Int64 // when something was sent last, either way, in nanoseconds since the epoch
}

func (n *session) touch() { n.last.Store(time.Now().UnixNano()) }

// receive takes datagrams.
func (s *Server) receive(ctx context.Context, c *net.UDPConn) error {
	local, ok := c.LocalAddr().(*net.UDPAddr)
	if !ok {
		return errors.New("it listens at no address")
	}
	at := At{"udp", local.AddrPort()}
	buf := make([]byte, most)
	for {
		n, from, err := c.ReadFromUDPAddrPort(buf)
		switch {
		case ended(ctx, err):
			return nil
		case refused(err):
			continue // what happened to an answer of ours
		case err != nil:
			return err
		}
		if to, leads := s.leads(at); leads {
			s.pass(c, client{at, from}, to, buf[:n])
		}
	}
}

// refused reports whether an error is that of a datagram sent before, of which somebody told that it did not arrive.
func refused(err error) bool {
	return errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.EHOSTUNREACH) || errors.Is(err, unix.ENETUNREACH)
}

// pass sends a datagram to a guest, in its client's session.
func (s *Server) pass(c *net.UDPConn, of client, to netip.AddrPort, data []byte) {
	n := s.session(c, of, to)
	if n == nil {
		return
	}
	n.touch()
	_, _ = n.guest.Write(data) // as lost as it would be on its way
}

// session returns a client's session, or a new one: when it has none, and when the port leads elsewhere now. It is nil when
// there is no room.
func (s *Server) session(c *net.UDPConn, of client, to netip.AddrPort) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.sessions[of]
	if old != nil && old.to == to && old.by == c {
		return old
	}
	if old != nil {
		_ = old.guest.Close()
		delete(s.sessions, of)
	}
	if s.ctx.Err() != nil || !s.take() {
		return nil
	}
	guest, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
	if err != nil {
		s.give()
		return nil
	}
	n := &session{to: to, by: c, guest: guest, rooms: s.rooms}
	n.touch()
	s.sessions[of] = n
	s.work.Go(func() {
		defer s.give()
		stop := context.AfterFunc(s.ctx, func() { _ = guest.Close() })
		defer stop()
		n.answer(of.from, s.o.Idle)
		s.forget(of, n)
	})
	return n
}

// answer carries what the guest sends until nobody has sent anything for a while, or there is nobody to carry it to.
func (n *session) answer(to netip.AddrPort, idle time.Duration) {
	raw, err := n.guest.SyscallConn()
	if err != nil {
		return
	}
	for {
		ends := time.Unix(0, n.last.Load()).Add(idle)
		if !time.Now().Before(ends) || n.guest.SetReadDeadline(ends) != nil {
			return
		}
		var failed error
		err := raw.Read(func(fd uintptr) (done bool) {
			done, failed = n.one(int(fd), to) // EAGAIN is of none that waits
			return done
		})
		switch {
		case err == nil && failed == nil, refused(failed): // nobody listens there yet: the client may ask again
		case errors.Is(err, os.ErrDeadlineExceeded): // something may have been sent meanwhile
		default:
			return
		}
	}
}

// one carries one datagram; done is false when there is none.
func (n *session) one(fd int, to netip.AddrPort) (done bool, err error) {
	room := n.rooms.Get().(*[most]byte)
	defer n.rooms.Put(room)
	size, err := read(fd, room[:])
	if err != nil {
		return !errors.Is(err, unix.EAGAIN), err
	}
	n.touch()
	if _, err = n.by.WriteToUDPAddrPort(room[:size], to); errors.Is(err, net.ErrClosed) {
		return true, err
	}
	return true, nil // a client that has gone asks no more
}

// forget ends a session.
func (s *Server) forget(of client, n *session) {
	_ = n.guest.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[of] == n {
		delete(s.sessions, of)
	}
}
