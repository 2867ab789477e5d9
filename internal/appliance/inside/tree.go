package inside

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// tree is the folder below which images are mounted. Paths of a host are resolved in it as if it was the root: "..", absolute
// symbolic links and mounts stay within.
type tree struct{ root string }

// open opens a path in the tree. It never waits for the other end of a named pipe, and never makes a terminal ours.
func (t tree) open(name string, flags int, mode uint32) (*os.File, error) {
	root, err := unix.Open(t.root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the tree: %w", err)
	}
	defer func() { _ = unix.Close(root) }()
	return openAt(root, name, flags, mode)
}

func openAt(dir int, name string, flags int, mode uint32) (*os.File, error) {
	how := unix.OpenHow{
		Flags: uint64(flags | unix.O_CLOEXEC), Mode: uint64(mode),
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	}
	if flags&unix.O_PATH == 0 {
		how.Flags |= unix.O_NOCTTY | unix.O_NONBLOCK
	}
	if name == "" {
		return nil, unix.ENOENT
	}
	for {
		fd, err := unix.Openat2(dir, name, &how)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN): // a rename got in between (openat2(2))
			continue
		case err != nil:
			return nil, err
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

// find opens a file for nothing but to name it.
func (t tree) find(name string, follow bool) (*os.File, error) {
	flags := unix.O_PATH
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	return t.open(name, flags, 0)
}

// parent opens the folder in which a path's last name lies, to do something with that name and not with what it leads to.
func (t tree) parent(name string) (dir *os.File, base string, err error) {
	trimmed := strings.TrimRight(name, "/")
	base = path.Base(trimmed)
	if trimmed == "" || base == "." || base == ".." {
		return nil, "", fmt.Errorf("%q ends in no name: %w", name, unix.EINVAL)
	}
	above := trimmed[:len(trimmed)-len(base)]
	if above == "" {
		above = "/"
	}
	dir, err = t.open(above, unix.O_PATH|unix.O_DIRECTORY, 0)
	return dir, base, err
}

// procPath is a name for an open file that calls without a variant for descriptors take. The kernel goes to the file at once and
// resolves nothing.
func procPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }
