package helper

import (
	"errors"
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/network/dhcp4"
)

// holdPort4 returns a UDP socket on port 67 of one bridge that nobody reads. Without it the kernel answers a client's
// unicast renewal with "port unreachable", beside our reply from the packet socket. It returns nil when somebody holds
// the port on all links: then the kernel does not answer either.
//
// It is at the address that clients renew at: of sockets that have a port on all addresses the kernel goes through every one,
// of each network, before it gives the next one that port.
func holdPort4(k *host.Kernel, bridge string, at netip.Addr) (*os.File, error) {
	return hold(k, bridge, unix.AF_INET, &unix.SockaddrInet4{Port: dhcp4.ServerPort, Addr: at.As4()}, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_FREEBIND, 1) // the address may still be on its way to the bridge
	})
}

// holdPort6 is holdPort4 for DHCPv6, at the bridge's link-local address. It also makes the bridge a member of the groups that
// clients and solicitations are sent to (RFC 8415, 7.1; RFC 4861, 6.3.7): one that snoops multicast keeps them from us otherwise.
func holdPort6(k *host.Kernel, bridge string, at netip.Addr, index int) (*os.File, error) {
	return hold(k, bridge, unix.AF_INET6, &unix.SockaddrInet6{Port: dhcp6Port, Addr: at.As16(), ZoneId: uint32(index)}, func(fd int) error {
		err := errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1), unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, 1))
		for _, group := range []string{"ff02::1:2", "ff02::2"} {
			m := unix.IPv6Mreq{Multiaddr: netip.MustParseAddr(group).As16(), Interface: uint32(index)}
			err = errors.Join(err, unix.SetsockoptIPv6Mreq(fd, unix.IPPROTO_IPV6, unix.IPV6_JOIN_GROUP, &m))
		}
		return err
	})
}

func hold(k *host.Kernel, bridge string, family int, at unix.Sockaddr, more func(fd int) error) (*os.File, error) {
	k.Step("udp socket open")
	var f *os.File
	var err error
	k.InNetNS(func() {
		f, err = open(family, unix.SOCK_DGRAM, at, func(fd int) error {
			return errors.Join(
				unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
				unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 0),
				unix.BindToDevice(fd, bridge),
				more(fd),
			)
		})
	})
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("hold a DHCP port on %s: %w", bridge, err)
	}
	return f, nil
}

// open returns a socket that is bound, after it was prepared.
func open(family, kind int, at unix.Sockaddr, prepare func(fd int) error) (*os.File, error) {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err = prepare(fd); err == nil {
		err = unix.Bind(fd, at)
	}
	if err == nil && kind == unix.SOCK_STREAM {
		err = unix.Listen(fd, 128)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "socket"), nil
}

// PortTakenError says that a service of a network cannot have its port.
type PortTakenError struct {
	Proto  string // udp or tcp
	At     netip.AddrPort
	Holder host.PortHolder
}

// Error implements error.
func (e *PortTakenError) Error() string {
	return fmt.Sprintf("%s %s is in use by %s; have that leave the address alone (dnsmasq: bind-dynamic and except-interface; named: listen-on), or give the network <dns enable='no'/>", e.Proto, e.At, e.Holder)
}

// Unwrap returns what the kernel said.
func (e *PortTakenError) Unwrap() error { return unix.EADDRINUSE }

// openService returns a socket at an address of a bridge that receives from that bridge alone, and from the host itself if
// hosts may ask too. The kernel drops everything else before it is queued, and its filter cannot be taken off.
func openService(k *host.Kernel, proto string, at netip.AddrPort, index int, hosts bool) (*os.File, error) {
	k.Step(proto + " socket open")
	var f *os.File
	var err error
	k.InNetNS(func() { f, err = bindService(proto, at, index, hosts, false) })
	if errors.Is(err, unix.EADDRINUSE) {
		holder, herr := k.PortHolder(proto, at)
		if herr != nil {
			return nil, fmt.Errorf("%s %s is in use, and who has it cannot be found: %w", proto, at, herr)
		}
		// One that has all addresses and lets others have theirs, as most name servers do, gives way to us.
		if holder.Wildcard {
			k.InNetNS(func() { f, err = bindService(proto, at, index, hosts, true) })
		}
		if errors.Is(err, unix.EADDRINUSE) {
			return nil, &PortTakenError{proto, at, holder}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open %s %s: %w", proto, at, err)
	}
	return f, nil
}

func bindService(proto string, at netip.AddrPort, index int, hosts, share bool) (*os.File, error) {
	family, kind := unix.AF_INET, unix.SOCK_DGRAM
	var sa unix.Sockaddr = &unix.SockaddrInet4{Port: int(at.Port()), Addr: [4]byte(at.Addr().AsSlice()[:4])}
	if at.Addr().Is6() {
		family = unix.AF_INET6
		s := &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
		if at.Addr().IsLinkLocalUnicast() {
			s.ZoneId = uint32(index)
		}
		sa = s
	}
	if proto == "tcp" {
		kind = unix.SOCK_STREAM
	}
	return open(family, kind, sa, func(fd int) error {
		// Freely: the address may still be on its way to the bridge.
		err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_FREEBIND, 1)
		if family == unix.AF_INET6 {
			err = errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, 1), unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1))
		}
		if share || kind == unix.SOCK_STREAM { // TCP: connections of a service before this one may linger
			err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
		}
		return errors.Join(err, attach(fd, arrivesFrom(index, hosts)))
	})
}

// arrivesFrom accepts what came in by a link, or from the host itself.
func arrivesFrom(index int, hosts bool) []bpf.Instruction {
	other := uint32(index)
	if hosts {
		other = loopback
	}
	return []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtInterfaceIndex},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(index), SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: other, SkipTrue: 1},
		bpf.RetConstant{Val: 0xffffffff},
		bpf.RetConstant{Val: 0},
	}
}

// loopback is lo, in every namespace (LOOPBACK_IFINDEX of include/net/flow.h).
const loopback = 1
