package launch

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// errLetGo means that nobody holds the other end of the leash any more.
var errLetGo = errors.New("whoever started it is gone")

// putOnLeash has the kernel send SIGKILL when the last writing end of a pipe closes (F_SETSIG in fcntl(2)). A death signal
// would do the same for one thread, which a program written in Go does not choose; an end of a pipe belongs to a process,
// and can be given to another one.
func (s Spec) putOnLeash() error {
	if s.Leash == 0 {
		return nil
	}
	if s.Leash < firstKept || s.Leash >= firstKept+s.Keep {
		return fmt.Errorf("descriptor %d is none of those that it keeps and cannot be its leash", s.Leash)
	}
	for _, set := range []struct{ command, value int }{
		{unix.F_SETOWN, unix.Getpid()}, {unix.F_SETSIG, int(unix.SIGKILL)}, {unix.F_SETFL, unix.O_ASYNC | unix.O_NONBLOCK},
	} {
		if _, err := unix.FcntlInt(uintptr(s.Leash), set.command, set.value); err != nil {
			return fmt.Errorf("have the kernel watch the leash: %w", err)
		}
	}
	// The signal is for what happens from now on.
	fds := []unix.PollFd{{Fd: int32(s.Leash), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("look at the leash: %w", err)
		case fds[0].Revents&unix.POLLHUP != 0:
			return errLetGo
		default:
			return nil
		}
	}
}
