package helper

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// Forward is a port of the host's loopback that leads to a guest.
type Forward struct {
	Protocol string         `json:"protocol"` // tcp or udp
	Listen   netip.AddrPort `json:"listen"`
	To       netip.AddrPort `json:"to"`
}

// descriptor is the name of its socket.
func (f Forward) descriptor(index int) string {
	return fmt.Sprintf("%s %s %s %d", DescForward, f.Protocol, f.Listen, index)
}

// MaxForwards is how many ports of the loopback lead to guests of one network: each has a socket, and the names of all go into
// one message (MaxMessage).
const MaxForwards = 1024

func checkForwards(all []Forward) error {
	if len(all) > MaxForwards {
		return fmt.Errorf("%d ports of the loopback are to lead to guests, and no more than %d can for one network: forward fewer, or at an address of the host's, where the loopback has no part in it", len(all), MaxForwards)
	}
	for i, f := range all {
		switch {
		case f.Protocol != "tcp" && f.Protocol != "udp":
			return fmt.Errorf("%q is not forwarded: only tcp and udp", f.Protocol)
		case !f.Listen.Addr().IsLoopback() || f.Listen.Port() == 0:
			return fmt.Errorf("%s is no port of the loopback", f.Listen)
		case !f.To.IsValid() || f.To.Port() == 0 || f.To.Addr().IsLoopback():
			return fmt.Errorf("%s leads to %s, which is no port of a guest", f.Listen, f.To)
		case slices.ContainsFunc(all[:i], func(g Forward) bool { return g.Protocol == f.Protocol && g.Listen == f.Listen }):
			return fmt.Errorf("%s %s leads to two guests", f.Protocol, f.Listen)
		}
	}
	return nil
}

// forwardsAtOnce is how many sockets of forwards come with one message: beside them there are a few others.
const forwardsAtOnce = MaxFiles - 16

// within returns the network with no more forwards than one message brings sockets for, beside those that need none: the first
// ones. Once it has those there is room for the next.
func (n Network) within(without []string, index int) Network {
	room := forwardsAtOnce
	var some []Forward
	for _, f := range n.Forwards {
		if !slices.Contains(without, f.descriptor(index)) {
			if room == 0 {
				continue
			}
			room--
		}
		some = append(some, f)
	}
	n.Forwards = some
	return n
}

// ForwardTakenError says that a port of the loopback is somebody else's.
type ForwardTakenError struct {
	Forward Forward
	Holder  host.PortHolder
}

// Error implements error.
func (e *ForwardTakenError) Error() string {
	return fmt.Sprintf("%s %s cannot lead to a guest: it is in use by %s; forward another port, or at another address", e.Forward.Protocol, e.Forward.Listen, e.Holder)
}

// Unwrap returns what the kernel said.
func (e *ForwardTakenError) Unwrap() error { return unix.EADDRINUSE }

// openForward returns a socket at a port of the loopback.
func openForward(k *host.Kernel, f Forward) (*os.File, error) {
	k.Step(f.Protocol + " socket open")
	family, kind := unix.AF_INET, unix.SOCK_DGRAM
	var sa unix.Sockaddr = &unix.SockaddrInet4{Port: int(f.Listen.Port()), Addr: [4]byte(f.Listen.Addr().AsSlice()[:4])}
	if f.Listen.Addr().Is6() {
		family, sa = unix.AF_INET6, &unix.SockaddrInet6{Port: int(f.Listen.Port()), Addr: f.Listen.Addr().As16()}
	}
	if f.Protocol == "tcp" {
		kind = unix.SOCK_STREAM
	}
	var file *os.File
	var err error
	k.InNetNS(func() {
		file, err = open(family, kind, sa, func(fd int) error {
			if kind == unix.SOCK_STREAM { // connections of a forward before this one may linger
				return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
			}
			return nil
		})
	})
	if errors.Is(err, unix.EADDRINUSE) {
		if holder, herr := k.PortHolder(f.Protocol, f.Listen); herr == nil {
			return nil, &ForwardTakenError{f, holder}
		}
	}
	if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT) {
		return nil, nil // a loopback without that family: nobody can ask there
	}
	if err != nil {
		return nil, fmt.Errorf("open %s %s: %w", f.Protocol, f.Listen, err)
	}
	return file, nil
}
