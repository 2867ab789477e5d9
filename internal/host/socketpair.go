package host

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// SocketPair makes two connected stream sockets.
func (k *Kernel) SocketPair() (a, b *os.File, err error) {
	k.Step("socket pair")
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "socket pair"), os.NewFile(uintptr(fds[1]), "socket pair"), nil
}
