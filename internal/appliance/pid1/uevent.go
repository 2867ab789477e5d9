package pid1

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Uevent is what the kernel says about a device: ACTION, DEVPATH, SUBSYSTEM, MODALIAS and more.
type Uevent map[string]string

// Uevents is a socket on which the kernel announces devices.
type Uevents struct {
	file *os.File
	buf  []byte
}

// OpenUevents begins to listen: what happens from then on is not missed.
func OpenUevents() (*Uevents, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return nil, fmt.Errorf("open the kernel's device events: %w", err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 1<<20)
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1}); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("bind to the kernel's device events: %w", err)
	}
	return &Uevents{file: os.NewFile(uintptr(fd), "uevents"), buf: make([]byte, 16<<10)}, nil
}

// Next waits for an event. It fails with ENOBUFS when events were lost.
func (u *Uevents) Next() (Uevent, error) {
	n, err := u.file.Read(u.buf)
	if err != nil {
		return nil, err
	}
	return parseUevent(u.buf[:n]), nil
}

// parseUevent reads "add@/devices/…", NUL, and KEY=VALUE pairs with a NUL after each.
func parseUevent(b []byte) Uevent {
	e := Uevent{}
	for _, field := range bytes.Split(b, []byte{0}) {
		if key, value, found := strings.Cut(string(field), "="); found {
			e[key] = value
		}
	}
	return e
}

// Close ends the listening.
func (u *Uevents) Close() error { return u.file.Close() }

// SetReadDeadline makes Next fail at a time, also one that waits.
func (u *Uevents) SetReadDeadline(t time.Time) error { return u.file.SetReadDeadline(t) }
