package host

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// PortFree reports whether a TCP port could be listened on now, on every IPv4 and IPv6 address and on those given. It
// binds and lets go again, so it is a hint: only the process that will listen can take a port.
func (k *Kernel) PortFree(port uint16, addrs ...netip.Addr) (bool, error) {
	k.Step("port probe")
	free, err := true, error(nil)
	k.InNetNS(func() {
		for _, a := range append([]netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()}, addrs...) {
			if free, err = bindable(netip.AddrPortFrom(a, port)); !free || err != nil {
				return
			}
		}
	})
	return free, err
}

func bindable(a netip.AddrPort) (bool, error) {
	family, sa := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Port: int(a.Port()), Addr: v4(a.Addr())})
	if a.Addr().Is6() {
		family, sa = unix.AF_INET6, &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) { // a host without IPv6 has no IPv6 listener either
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("probe port %s: %w", a, err)
	}
	defer unix.Close(fd)
	// Connections that linger in TIME_WAIT do not keep anybody from listening; a listener still does, reuse or not.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if family == unix.AF_INET6 { // or it would ask about IPv4 again
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
	}
	switch err := unix.Bind(fd, sa); {
	case err == nil:
		return true, nil
	case errors.Is(err, unix.EADDRINUSE):
		return false, nil
	case errors.Is(err, unix.EADDRNOTAVAIL) && family == unix.AF_INET6 && a.Addr().IsUnspecified():
		return true, nil // IPv6 is compiled in and switched off
	default:
		return false, fmt.Errorf("probe port %s: %w", a, err)
	}
}

func v4(a netip.Addr) [4]byte {
	if a.Is4() {
		return a.As4()
	}
	return [4]byte{}
}

// AddressFree reports whether a TCP address could be listened on now; see PortFree.
func (k *Kernel) AddressFree(a netip.AddrPort) (bool, error) {
	k.Step("port probe")
	free, err := true, error(nil)
	k.InNetNS(func() { free, err = bindable(a) })
	return free, err
}
