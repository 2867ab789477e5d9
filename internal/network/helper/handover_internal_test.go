package helper

import (
	"errors"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// stuck is one end of a connection whose other end is never read.
func stuck(t *testing.T) *net.UnixConn {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fds[1]) })
	f := os.NewFile(uintptr(fds[0]), "stuck")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	return c.(*net.UnixConn)
}

// Whoever starts a process waits for a hand-over, so a helper that reads nothing must end it.
func TestHandOver_EndsWhenTheHelperTakesNothing(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	defer k.Close()
	h := &Helper{k: k, wire: newWire(k, stuck(t), func(Event) {})}
	defer h.wire.close()
	config, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer config.Close()
	for range 100_000 {
		if _, err = h.handOver(Network{Bridge: "virbr0"}, config, nil, nil, nil); err != nil {
			break
		}
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.Is(err, ErrLost) {
		t.Errorf("it ended with %v", err)
	}
}
