package server

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
)

// mayOnlyRead reports whether the connection is read-only.
func (c *conn) mayOnlyRead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readOnly
}

// refuse takes in a message that is too large for a client that may only read, without keeping it, and answers it. It answers
// at the end since libvirt's clients read no answer before they have sent their call.
func (c *conn) refuse(size int) error {
	if err := c.deadline(); err != nil {
		return err
	}
	if _, err := c.fill(remote.HeaderSize, 1); err != nil {
		return err
	}
	h := remote.ParseHeader(c.buf[:])
	left := size - c.have
	c.have = 0
	for left > 0 {
		n, err := c.discard(left)
		if err != nil {
			return fmt.Errorf("with %d bytes of a message of %d left: %w", left, size, err)
		}
		left -= n
	}
	if err := c.whole(1); err != nil {
		return err
	}
	return c.reject(h, virterr.New(virterr.OperationDenied, "read only access prevents messages of %d bytes: at most %d are read; ask about fewer objects at a time, or connect for reading and writing", size, FreeMessage).In(virterr.FromRPC))
}

// discards is where messages that are refused go.
type discards struct {
	mu  sync.Mutex
	buf [32 << 10]byte
}

// discard reads up to most bytes and drops them, with descriptors that come along. It serves a single client at a time: many
// clients that send refused messages would else keep all processors from other clients.
func (c *conn) discard(most int) (n int, err error) {
	nc, ok := c.nc.(syscall.Conn)
	if !ok {
		return 0, errors.New("not a connection of the kernel's")
	}
	raw, err := nc.SyscallConn()
	if err != nil {
		return 0, err
	}
	d := &c.srv.discards
	rerr := raw.Read(func(fd uintptr) bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		for {
			n, err = unix.Read(int(fd), d.buf[:min(most, len(d.buf))])
			if !errors.Is(err, unix.EINTR) {
				return !errors.Is(err, unix.EAGAIN)
			}
		}
	})
	switch {
	case rerr != nil:
		return 0, rerr
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// receiveLarge reads a message that the budget counts. It waits until there is memory for all of it.
func (c *conn) receiveLarge(size int) ([]byte, error) {
	late := time.NewTimer(c.srv.opts.MessageTimeout)
	defer late.Stop()
	if err := c.srv.messages.acquire(c.peer.UID, int64(size), c.srv.stopping, late.C); err != nil {
		return nil, fmt.Errorf("message of %d bytes: %w within %v (message_memory_mib)", size, err, c.srv.opts.MessageTimeout)
	}
	// The kernel backs a page when it is written to, so memory grows with the bytes that come, not with the announced size; and all
	// of it is given back at the end. On Go's heap 20 messages of 32 MiB in turn took 150 MiB, which stayed for more than a minute.
	msg, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		c.srv.messages.release(c.peer.UID, int64(size))
		return nil, fmt.Errorf("memory for a message of %d bytes: %w", size, err)
	}
	c.message = msg
	if err := c.deadline(); err != nil {
		return nil, err
	}
	n := copy(msg, c.buf[:c.have])
	c.have = 0
	more, err := io.ReadFull(receiver{c}, msg[n:])
	if err != nil {
		return nil, fmt.Errorf("after %d of %d bytes of a message: %w", n+more, size, err)
	}
	return msg, nil
}

// dropMessage gives back the memory of the large message that was read last. Nothing refers to it any more: decoding copies.
func (c *conn) dropMessage() {
	if c.message == nil {
		return
	}
	n := int64(len(c.message))
	if err := unix.Munmap(c.message); err != nil {
		c.srv.log.Error("give back the memory of a message", "error", err)
	}
	c.message = nil
	c.srv.messages.release(c.peer.UID, n)
}
