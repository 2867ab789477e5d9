package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// maxUnixPath is what fits into sun_path with its final NUL. Longer paths go through a descriptor of their directory.
const maxUnixPath = 107

// ListenUnix makes a listening stream socket at path with the given mode; at no moment is it more open than that. A
// socket nobody listens on any more is replaced; one that somebody serves gives ErrInUse. The path stays when the file
// is closed. Serve it with net.FileListener, or hand it to a child.
func (k *Kernel) ListenUnix(path string, mode fs.FileMode) (*os.File, error) {
	f, err := k.bindUnix(path, mode)
	if errors.Is(err, unix.EADDRINUSE) {
		if err := k.removeStale(path); err != nil {
			return nil, err
		}
		f, err = k.bindUnix(path, mode)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return f, nil
}

func (k *Kernel) bindUnix(path string, mode fs.FileMode) (*os.File, error) {
	k.Step("socket listen " + filepath.Base(path))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	err = withShortPath(path, func(short string) error {
		// The socket's own mode becomes that of its name, less the umask; so there is no moment of too wide a mode.
		if err := unix.Fchmod(fd, uint32(mode.Perm())); err != nil {
			return err
		}
		if err := unix.Bind(fd, &unix.SockaddrUnix{Name: short}); err != nil {
			return err
		}
		if err := os.Chmod(path, mode.Perm()); err != nil {
			return err
		}
		return unix.Listen(fd, unix.SOMAXCONN)
	})
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// removeStale removes the name of a socket nobody listens on.
func (k *Kernel) removeStale(path string) error {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("listen on %s: something that is not a socket is there; move it away", path)
	}
	if served(path) {
		return fmt.Errorf("listen on %s: %w; stop that process, or choose another directory", path, ErrInUse)
	}
	return k.Remove(path)
}

// RemoveSocket removes the name of a socket that nobody listens on any more. What is served, or is no socket, stays.
func (k *Kernel) RemoveSocket(path string) error {
	k.Step("socket remove " + filepath.Base(path))
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Mode().Type() != fs.ModeSocket || served(path) {
		return nil
	}
	return k.Remove(path)
}

// lastChild is how long a child may keep the sockets of a process that was killed right after it forked the child: until
// the child executes its program, which takes milliseconds.
const lastChild = time.Second

// served reports whether somebody listens on a socket and will go on doing so.
func served(path string) bool {
	err := tryConnect(path, lastChild)
	if err == nil { // it may have been a last child, which has let go by now
		err = tryConnect(path, 0)
	}
	return !errors.Is(err, unix.ECONNREFUSED)
}

// tryConnect connects without waiting: a listener with a full queue gives EAGAIN, no listener ECONNREFUSED. It hangs up
// when the other side does or says something, at the latest after stay.
func tryConnect(path string, stay time.Duration) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	err = withShortPath(path, func(short string) error { return unix.Connect(fd, &unix.SockaddrUnix{Name: short}) })
	if err != nil || stay == 0 {
		return err
	}
	if err := f.SetReadDeadline(time.Now().Add(stay)); err != nil {
		return err
	}
	_, _ = f.Read(make([]byte, 1)) // whatever ends it, the next attempt tells what that means
	return nil
}

// DialUnix connects to a socket at path. Each Write on the connection announces itself as a call of its own, so write a
// message at a time.
func (k *Kernel) DialUnix(ctx context.Context, path string) (net.Conn, error) {
	k.Step("socket connect " + filepath.Base(path))
	c, err := dialUnix(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", path, err)
	}
	return &steppedConn{UnixConn: c, k: k, name: "message " + filepath.Base(path)}, nil
}

func dialUnix(ctx context.Context, path string) (*net.UnixConn, error) {
	var c *net.UnixConn
	err := withShortPath(path, func(short string) error {
		// Nothing is cheap to find: on a host without a system bus each network asks for one, twice.
		if err := unix.Access(short, unix.F_OK); errors.Is(err, unix.ENOENT) {
			return err
		}
		conn, err := new(net.Dialer).DialContext(ctx, "unix", short)
		if err == nil {
			c = conn.(*net.UnixConn)
		}
		return err
	})
	return c, err
}

// withShortPath calls f with a name for path that fits into a socket address.
func withShortPath(path string, f func(short string) error) error {
	if len(path) <= maxUnixPath {
		return f(path)
	}
	dir, base := filepath.Split(path)
	d, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(d)
	return f("/proc/self/fd/" + strconv.Itoa(d) + "/" + base)
}

// steppedConn announces every message.
type steppedConn struct {
	*net.UnixConn
	k    *Kernel
	name string
}

// Write announces and writes one message.
func (c *steppedConn) Write(b []byte) (int, error) {
	c.k.Step(c.name)
	return c.UnixConn.Write(b)
}

// SendFiles writes one message with descriptors. conn is what DialUnix or a Unix listener gave.
func (k *Kernel) SendFiles(conn net.Conn, data []byte, files ...*os.File) error {
	u, err := unixConn(conn)
	if err != nil {
		return err
	}
	if len(data) == 0 {
		return errors.New("send descriptors: a stream socket needs at least one byte with them")
	}
	k.Step("message with descriptors")
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(rawFD(f))
	}
	n, oob, err := u.WriteMsgUnix(data, unix.UnixRights(fds...), nil)
	if err != nil {
		return fmt.Errorf("send %d descriptors: %w", len(files), err)
	}
	if n < len(data) && oob > 0 { // the descriptors went with the first part
		_, err = u.Write(data[n:])
	}
	return err
}

// ReceiveFiles reads once, up to len(buf) bytes, with at most limit descriptors. More than that is an error, and then none
// is kept.
func (k *Kernel) ReceiveFiles(conn net.Conn, buf []byte, limit int) (int, []*os.File, error) {
	u, err := unixConn(conn)
	if err != nil {
		return 0, nil, err
	}
	oob := make([]byte, unix.CmsgSpace(4*limit))
	n, oobn, flags, _, err := u.ReadMsgUnix(buf, oob)
	if err != nil {
		return n, nil, err
	}
	files, err := parseRights(oob[:oobn])
	if err == nil && flags&unix.MSG_CTRUNC != 0 {
		err = fmt.Errorf("receive descriptors: the peer sent more than %d", limit)
	}
	if err != nil {
		for _, f := range files {
			f.Close()
		}
		return n, nil, err
	}
	return n, files, nil
}

func parseRights(oob []byte) ([]*os.File, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			continue // credentials or the like: nothing that needs closing
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}

// PeerCredentials says who is at the other end of a Unix socket.
func (k *Kernel) PeerCredentials(conn net.Conn) (*unix.Ucred, error) {
	u, err := unixConn(conn)
	if err != nil {
		return nil, err
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	if cerr := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); cerr != nil {
		return nil, cerr
	}
	return cred, err
}

func unixConn(conn net.Conn) (*net.UnixConn, error) {
	switch c := conn.(type) {
	case *net.UnixConn:
		return c, nil
	case *steppedConn:
		return c.UnixConn, nil
	}
	return nil, fmt.Errorf("%T is not a Unix socket", conn)
}
