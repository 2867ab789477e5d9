package load

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// batch is how many datagrams are taken before they are counted.
const batch = 64

// gathered has the kernel hand out what came of one sender in one piece (UDP_GRO, udp(7)), where it can: a receiver that takes less long
// for each datagram gets more of a flood.
func gathered(c *net.UDPConn) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_GRO, 1) })
}

// take waits for datagrams, takes what waits then, at most a batch, and returns how many bytes of payload that was. Nothing of it is
// copied.
func take(c *net.UDPConn) (n int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var buf [1]byte
	var got error
	err = raw.Read(func(fd uintptr) bool {
		for range batch {
			size, _, err := unix.Recvfrom(int(fd), buf[:], unix.MSG_TRUNC|unix.MSG_DONTWAIT)
			switch {
			case errors.Is(err, unix.EINTR):
			case errors.Is(err, unix.EAGAIN):
				return n > 0
			case err != nil:
				got = err
				return true
			default:
				n += size
			}
		}
		return true
	})
	return n, errors.Join(err, got)
}
