package host

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// IsTerminal reports whether path is the name of a pseudo-terminal, such as /dev/pts/3.
func IsTerminal(path string) bool {
	number, ok := strings.CutPrefix(path, "/dev/pts/")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// OpenTerminal opens the pseudo-terminal at path, which a process of the user uid made. Anything else is refused: the
// name may come from a QEMU that was taken over, and must not lead to another file or to another guest's terminal.
func (k *Kernel) OpenTerminal(path string, uid uint32) (*os.File, error) {
	k.Step("terminal open")
	if !IsTerminal(path) {
		return nil, fmt.Errorf("open %q: it is no pseudo-terminal", path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	raw, err := f.SyscallConn()
	var st unix.Stat_t
	if err == nil {
		var serr error
		err = raw.Control(func(fd uintptr) { serr = unix.Fstat(int(fd), &st) })
		if err == nil {
			err = serr
		}
	}
	const firstPTS, lastPTS = 136, 143 // UNIX98_PTY_SLAVE_MAJOR and its seven followers
	major := unix.Major(st.Rdev)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT != unix.S_IFCHR || major < firstPTS || major > lastPTS:
		err = fmt.Errorf("open %s: it is no pseudo-terminal", path)
	case st.Uid != uid:
		err = fmt.Errorf("open %s: it is a terminal of user %d, not %d", path, st.Uid, uid)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
