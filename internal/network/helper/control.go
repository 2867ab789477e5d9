package helper

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// listenControl makes the helper's listening socket, open to the calling user alone. A stale name is replaced.
func listenControl(k *host.Kernel, path string) (*os.File, error) {
	if err := k.Remove(path); err != nil {
		return nil, err
	}
	k.Step("socket listen " + filepath.Base(path))
	f, err := controlSocket(path, func(fd int, a *unix.SockaddrUnix) error {
		// The name gets the socket's own mode, so it is never open to others.
		if err := unix.Fchmod(fd, 0o600); err != nil {
			return err
		}
		if err := unix.Bind(fd, a); err != nil {
			return err
		}
		return unix.Listen(fd, 16)
	})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return f, nil
}

// dialControl connects to a helper. A socket of this kind connects at once or not at all.
func dialControl(k *host.Kernel, path string) (*net.UnixConn, error) {
	k.Step("socket connect " + filepath.Base(path))
	f, err := controlSocket(path, func(fd int, a *unix.SockaddrUnix) error { return unix.Connect(fd, a) })
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", path, err)
	}
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", path, err)
	}
	return c.(*net.UnixConn), nil
}

func controlSocket(path string, use func(int, *unix.SockaddrUnix) error) (*os.File, error) {
	// Any path fits into a socket address by way of its directory's descriptor.
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	name := "/proc/self/fd/" + strconv.Itoa(dir) + "/" + filepath.Base(path)
	if err := use(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), path), nil
}
