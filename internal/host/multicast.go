package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Multicast is what the kernel tells, over netlink, whoever listens to some of its groups.
type Multicast struct {
	file *os.File
	what string
}

// multicastBacklog is how much may be told before it is read, in bytes. What is told of a link takes some 2 KiB of it.
const multicastBacklog = 8 << 20

// Listen begins to listen to groups of a netlink protocol (unix.NETLINK_ROUTE, …) in the Kernel's network namespace. What is
// a name for it, as in "link". Run, which ends it, must be called.
func (k *Kernel) Listen(what string, protocol int, groups ...int) (*Multicast, error) {
	k.Step(what + " watch")
	var fd int
	var err error
	k.InNetNS(func() {
		fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	})
	if err != nil {
		return nil, fmt.Errorf("watch what changes (%s): %w", what, err)
	}
	// Without the right to more than the system's limit there is what the limit allows.
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, multicastBacklog) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, multicastBacklog)
	}
	err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	for _, g := range groups {
		if err == nil {
			err = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, g)
		}
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("watch what changes (%s): %w", what, err)
	}
	return &Multicast{file: os.NewFile(uintptr(fd), what+" events"), what: what}, nil
}

// Run hands each datagram to take, in order, until ctx is done. Take keeps what is in it, and says how many things that were
// and whether it could be read. When something was taken, Run calls each: what was told while each ran comes together. With
// missed more happened than could be told, or something could not be read, and only a look at everything says what.
func (m *Multicast) Run(ctx context.Context, take func(datagram []byte) (things int, ok bool), each func(missed bool)) error {
	defer m.file.Close()
	stop := context.AfterFunc(ctx, func() { _ = m.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := m.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("watch what changes (%s): %w", m.what, err)
	}
	overrun := false
	for buf := make([]byte, 64<<10); ; {
		var d drained
		var failed error
		err := raw.Read(func(fd uintptr) (done bool) {
			d, failed = drain(int(fd), buf, take)
			overrun = overrun || d.missed
			return d.things > 0 || overrun || failed != nil
		})
		if ctx.Err() != nil {
			return nil
		}
		if err = errors.Join(err, failed); err != nil {
			return fmt.Errorf("watch what changes (%s): %w", m.what, err)
		}
		// The kernel drops what happens from an overrun until all that it holds has been read, and says so once
		// (net/netlink/af_netlink.c, netlink_overrun and netlink_rcv_wake): who looked sooner would look too soon.
		missed := overrun && d.empty
		if missed {
			overrun = false
		}
		if missed || d.things > 0 {
			each(missed)
		}
	}
}

// Bound has the kernel keep no more than some bytes of what was told and not read yet: for who may not ask for long.
func (m *Multicast) Bound(bytes int) error {
	raw, err := m.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("bound what is kept of changes (%s): %w", m.what, err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, bytes) })
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("bound what is kept of changes (%s): %w", m.what, err)
	}
	return nil
}

// Told hands each datagram that has come by now to take, as Run does, and waits for none: for who asks now and then, and does
// not Run. With missed more was told than could be held, or something could not be read. See Bound.
func (m *Multicast) Told(take func(datagram []byte) (things int, ok bool)) (missed bool, err error) {
	raw, err := m.file.SyscallConn()
	if err != nil {
		return false, fmt.Errorf("look what changed (%s): %w", m.what, err)
	}
	buf := make([]byte, 64<<10)
	var failed error
	err = raw.Control(func(fd uintptr) {
		for empty := false; !empty && failed == nil; {
			var d drained
			d, failed = drain(int(fd), buf, take)
			missed, empty = missed || d.missed, d.empty
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return false, fmt.Errorf("look what changed (%s): %w", m.what, err)
	}
	return missed, nil
}

// Close ends the listening of who does not Run.
func (m *Multicast) Close() error { return m.file.Close() }

// mostAtOnce bounds how much is read before it is told: while a whole machine starts, there is always more.
const mostAtOnce = 1024

// drained is what was read at once.
type drained struct {
	things int
	missed bool // the kernel had more to tell than it could hold, or told what cannot be read
	empty  bool // nothing was left to read
}

// drain reads what has been told by now.
func drain(fd int, buf []byte, take func([]byte) (int, bool)) (d drained, err error) {
	for d.things < mostAtOnce {
		n, from, err := unix.Recvfrom(fd, buf, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			d.empty = true
			return d, nil
		case errors.Is(err, unix.ENOBUFS):
			d.missed = true
			continue
		case err != nil:
			return d, err
		}
		if k, ok := from.(*unix.SockaddrNetlink); !ok || k.Pid != 0 {
			continue // not the kernel
		}
		things, ok := take(buf[:n])
		d.things, d.missed = d.things+things, d.missed || !ok
	}
	return d, nil
}
