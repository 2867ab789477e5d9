package nic

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// LinkEvents is a socket that becomes readable when a link changes.
type LinkEvents struct{ file *os.File }

// OpenLinkEvents begins to listen: what happens from then on is not missed.
func OpenLinkEvents() (*LinkEvents, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open rtnetlink events: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_LINK}); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("bind to rtnetlink events: %w", err)
	}
	return &LinkEvents{os.NewFile(uintptr(fd), "rtnetlink")}, nil
}

// Wait returns when any link changed, or when events were lost.
func (l *LinkEvents) Wait() error {
	_, err := l.file.Read(make([]byte, 8<<10))
	if errors.Is(err, unix.ENOBUFS) {
		return nil
	}
	return err
}
