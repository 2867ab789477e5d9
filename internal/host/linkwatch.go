package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// LinkChange is what the kernel tells of a link.
type LinkChange struct {
	// Link is what the link is after the change, or was when it went.
	Link Link
	// Gone says that there is no such link any more.
	Gone bool
	// Lost says that the link has lost an address; of Link only Index is known then.
	Lost bool
}

// LinkWatch tells what changes about links, from when it was made.
type LinkWatch struct {
	file *os.File
}

// linkBacklog is how much may be told before it is read, in bytes. What is told of a link takes some 2 KiB of it.
const linkBacklog = 8 << 20

// WatchLinks begins to watch all links of the network namespace. Run, which ends the watch, must be called.
func (k *Kernel) WatchLinks() (*LinkWatch, error) {
	k.Step("link watch")
	var fd int
	var err error
	k.InNetNS(func() {
		fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	})
	if err != nil {
		return nil, fmt.Errorf("watch links: %w", err)
	}
	// Without the right to more than the system's limit there is what the limit allows.
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, linkBacklog) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, linkBacklog)
	}
	groups := &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_LINK | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR}
	if err := unix.Bind(fd, groups); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("watch links: %w", err)
	}
	return &LinkWatch{file: os.NewFile(uintptr(fd), "rtnetlink events")}, nil
}

// Run calls each with what changed, in order, until ctx is done; what was told while each ran comes together. With missed
// more changed than could be told, and only looking at every link says what.
func (w *LinkWatch) Run(ctx context.Context, each func(changes []LinkChange, missed bool)) error {
	defer w.file.Close()
	stop := context.AfterFunc(ctx, func() { _ = w.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := w.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("watch links: %w", err)
	}
	overrun := false
	for buf := make([]byte, 64<<10); ; {
		var d drained
		var failed error
		err := raw.Read(func(fd uintptr) (done bool) {
			d, failed = drain(int(fd), buf)
			overrun = overrun || d.missed
			return len(d.changes) > 0 || overrun || failed != nil
		})
		if ctx.Err() != nil {
			return nil
		}
		if err = errors.Join(err, failed); err != nil {
			return fmt.Errorf("watch links: %w", err)
		}
		// The kernel drops what happens from an overrun until all that it holds has been read, and says so once
		// (net/netlink/af_netlink.c, netlink_overrun and netlink_rcv_wake): who looked at the links sooner would
		// look too soon.
		missed := overrun && d.empty
		if missed {
			overrun = false
		}
		if missed || len(d.changes) > 0 {
			each(d.changes, missed)
		}
	}
}

// mostAtOnce bounds how much is read before it is told: while a whole machine starts, there is always more.
const mostAtOnce = 1024

// drained is what was read at once.
type drained struct {
	changes []LinkChange
	missed  bool // the kernel had more to tell than it could hold, or told what cannot be read
	empty   bool // nothing was left to read
}

// drain reads what has been told by now.
func drain(fd int, buf []byte) (d drained, err error) {
	for len(d.changes) < mostAtOnce {
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
		more, ok := parseChanges(buf[:n])
		d.changes, d.missed = append(d.changes, more...), d.missed || !ok
	}
	return d, nil
}

// parseChanges reads a datagram. What cannot be read counts as missed.
func parseChanges(b []byte) (changes []LinkChange, ok bool) {
	for len(b) >= unix.SizeofNlMsghdr {
		size := int(binary.NativeEndian.Uint32(b))
		if size < unix.SizeofNlMsghdr || size > len(b) {
			return changes, false
		}
		c, is, err := parseChange(binary.NativeEndian.Uint16(b[4:]), b[unix.SizeofNlMsghdr:size])
		if err != nil {
			return changes, false
		}
		if is {
			changes = append(changes, c)
		}
		b = b[min(len(b), (size+3)&^3):]
	}
	return changes, true
}

// parseChange reads one message. Bridges tell of their ports too, in a family of their own; those are not of a link's life.
func parseChange(kind uint16, m []byte) (c LinkChange, is bool, err error) {
	switch kind {
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		if len(m) < unix.SizeofIfInfomsg || m[0] != unix.AF_UNSPEC {
			return c, false, nil
		}
		c.Link, err = parseLink(m)
		c.Gone = kind == unix.RTM_DELLINK
	case unix.RTM_DELADDR:
		if len(m) < unix.SizeofIfAddrmsg {
			return c, false, nil
		}
		c.Lost, c.Link.Index = true, int(binary.NativeEndian.Uint32(m[4:])) // struct ifaddrmsg: family, prefixlen, flags, scope, index
	default:
		return c, false, nil
	}
	return c, err == nil, err
}
