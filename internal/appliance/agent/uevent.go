package agent

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// uevent is what the kernel says about a device: ACTION, DEVPATH, SUBSYSTEM, MODALIAS and more.
type uevent map[string]string

// uevents is a socket on which the kernel announces devices.
type uevents struct {
	file *os.File
	buf  []byte
}

func openUevents() (*uevents, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return nil, fmt.Errorf("open the kernel's device events: %w", err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 1<<20)
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1}); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("bind to the kernel's device events: %w", err)
	}
	return &uevents{file: os.NewFile(uintptr(fd), "uevents"), buf: make([]byte, 16<<10)}, nil
}

// next waits for an event. It fails with ENOBUFS when events were lost.
func (u *uevents) next() (uevent, error) {
	n, err := u.file.Read(u.buf)
	if err != nil {
		return nil, err
	}
	return parseUevent(u.buf[:n]), nil
}

// parseUevent reads "add@/devices/…", NUL, and KEY=VALUE pairs with a NUL after each.
func parseUevent(b []byte) uevent {
	e := uevent{}
	for _, field := range bytes.Split(b, []byte{0}) {
		if key, value, found := strings.Cut(string(field), "="); found {
			e[key] = value
		}
	}
	return e
}
