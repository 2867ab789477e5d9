package server

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pair is two ends of a connection of the kernel's.
func pair(t *testing.T) (ends [2]net.Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		ends[i], err = net.FileConn(f)
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ends[i].Close() })
	}
	return ends
}

// long is longer than any test takes.
const long = 24 * time.Hour

// moveBack has it look as if the client had last taken something long ago.
func (o *outbox) moveBack() {
	o.mu.Lock()
	o.moved = time.Now().Add(-long)
	o.mu.Unlock()
}

// What a slow client takes does not let the daemon write more until most of the socket is free. It counts nevertheless.
func TestOutbox_AClientThatReadsSlowlyIsNotStalled(t *testing.T) {
	t.Parallel()
	ends := pair(t)
	var o outbox
	o.init(ends[0], new(buffers), func(f func()) { go f() })
	if err := ends[0].SetWriteDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	o.writing = true
	if err := o.write(make([]byte, 4<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("wrote to a client that reads nothing: %v", err)
	}
	o.stalledFor() // the first look
	buf := make([]byte, step)
	for range 5 {
		o.moveBack()
		if _, err := io.ReadFull(ends[1], buf); err != nil {
			t.Fatal(err)
		}
		if d := o.stalledFor(); d >= long {
			t.Fatalf("a client that has taken %d bytes is stalled for %v", len(buf), d)
		}
		o.moveBack()
		if d := o.stalledFor(); d < long {
			t.Fatalf("a client that has taken nothing since is stalled for %v", d)
		}
	}
	o.writing = false
	if d := o.stalledFor(); d != 0 {
		t.Errorf("nothing is written for %v", d)
	}
}
