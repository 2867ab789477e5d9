package proto

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// late is when a test gives up: no machine is that slow.
const late = time.Minute

func timeout(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), late)
	t.Cleanup(cancel)
	return ctx
}

// wires returns the two ends of a connection, which a socket's buffer lies between, as with QEMU.
func wires(t *testing.T) (host, guest net.Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "wire")
		if ends[i], err = net.FileConn(f); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		t.Cleanup(func() { _ = ends[i].Close() })
	}
	return ends[0], ends[1]
}

// pair returns a client of a server with these handlers. Both are gone when the test ends.
func pair(t *testing.T, handlers map[Op]Handler) *Client {
	t.Helper()
	host, guest := wires(t)
	s := &Server{Handlers: handlers, Inline: map[Op]Handler{
		OpPing: func(context.Context, *Call) (Message, error) { return nil, nil },
	}}
	done := make(chan error, 1)
	go func() { done <- s.Serve(context.WithoutCancel(t.Context()), guest) }()
	c := NewClient(host)
	t.Cleanup(func() {
		_ = c.Close()
		if err := <-done; !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			t.Errorf("the server ended with %v, want the end of the connection", err)
		}
	})
	return c
}

// contextWithCause ends after a time, with a reason.
func contextWithCause(t *testing.T, after time.Duration, why error) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeoutCause(t.Context(), after, why)
}
