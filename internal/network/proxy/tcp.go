package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pause is how long a listener waits that has no descriptor left for a connection: others may end meanwhile.
const pause = 100 * time.Millisecond

// accept takes connections.
func (s *Server) accept(ctx context.Context, l *net.TCPListener) error {
	local, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return errors.New("it listens at no address")
	}
	at := At{"tcp", local.AddrPort()}
	for {
		c, err := l.AcceptTCP()
		switch {
		case ended(ctx, err):
			return nil
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ENOMEM):
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
			}
			continue
		case errors.Is(err, unix.ECONNABORTED):
			continue
		case err != nil:
			return err
		}
		to, leads := s.leads(at)
		if !leads || !s.take() {
			reset(c)
			continue
		}
		s.work.Go(func() {
			defer s.give()
			s.carry(c, to)
		})
	}
}

// reset closes a connection so that the other side knows that it was not served.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// carry connects to a guest and carries both ways until both are closed.
func (s *Server) carry(c *net.TCPConn, to netip.AddrPort) {
	d := net.Dialer{Timeout: s.o.Within}
	conn, err := d.DialContext(s.ctx, "tcp", to.String()) // DialTCP binds, which a confined process may not
	if err != nil {
		reset(c)
		return
	}
	other := conn.(*net.TCPConn)
	stop := context.AfterFunc(s.ctx, func() { reset(c); reset(other) })
	defer stop()
	var back sync.WaitGroup
	back.Go(func() { s.half(c, other) })
	s.half(other, c)
	back.Wait()
	_ = c.Close()
	_ = other.Close()
}

// half carries one way until that is closed, and closes it behind. What fails ends both ways, as the other side would see it
// without anybody in between.
func (s *Server) half(to, from *net.TCPConn) {
	raw, err := from.SyscallConn()
	for err == nil {
		err = s.some(to, raw)
	}
	if errors.Is(err, io.EOF) {
		_ = to.CloseWrite()
		return
	}
	reset(to)
	reset(from)
}

// some carries what there is to read. A connection that waits has no room: most do nothing else.
func (s *Server) some(to *net.TCPConn, from syscall.RawConn) error {
	var room *[most]byte
	var n int
	var err error
	werr := from.Read(func(fd uintptr) bool {
		room = s.rooms.Get().(*[most]byte)
		if n, err = read(int(fd), room[:]); errors.Is(err, unix.EAGAIN) {
			s.rooms.Put(room)
			room = nil
			return false
		}
		return true
	})
	if room != nil {
		defer s.rooms.Put(room)
	}
	switch {
	case werr != nil:
		return werr
	case err != nil:
		return err
	case n == 0:
		return io.EOF
	}
	_, err = to.Write(room[:n])
	return err
}

// read reads what there is; EAGAIN is nothing.
func read(fd int, to []byte) (int, error) {
	for {
		if n, err := unix.Read(fd, to); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
