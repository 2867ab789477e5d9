package agent

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// datagramBatch is how many datagrams a sink takes before it counts them.
const datagramBatch = 64

// drainDatagrams takes what comes by UDP until the socket is closed. The processor may be busy with what the card brings alone; so
// the kernel hands out what came of one sender in one piece where it can (UDP_GRO, udp(7)), and what is taken is counted while
// more waits.
func drainDatagrams(c *net.UDPConn, one *sink) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_GRO, 1) })
	for over := false; !over; {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			var waits bool
			n, waits, over = takeDatagrams(int(fd))
			return !waits
		})
		if n > 0 {
			one.take(n)
		}
		over = over || err != nil
	}
}

// takeDatagrams takes what waits at a socket, at most a batch, and returns how many bytes of payload that was, whether nothing waited, and
// whether nothing will. None of it is copied.
func takeDatagrams(fd int) (n int, waits, over bool) {
	var buf [1]byte
	for range datagramBatch {
		size, _, err := unix.Recvfrom(fd, buf[:], unix.MSG_TRUNC|unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return n, n == 0, false
		case err != nil:
			return n, false, true
		default:
			n += size
		}
	}
	return n, false, false
}
