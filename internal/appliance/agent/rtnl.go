package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rtnl changes links, addresses and routes. It is the small part of rtnetlink that a DHCP client needs.
type rtnl struct{}

// attr is a netlink attribute.
type attr struct {
	kind uint16
	data []byte
}

func (rtnl) up(index int, mtu int) error {
	info := unix.IfInfomsg{Family: unix.AF_UNSPEC, Index: int32(index), Flags: unix.IFF_UP, Change: unix.IFF_UP}
	var attrs []attr
	if mtu > 0 {
		attrs = append(attrs, attr{unix.IFLA_MTU, binary.NativeEndian.AppendUint32(nil, uint32(mtu))})
	}
	return talk(unix.RTM_NEWLINK, 0, bytesOf(&info), attrs)
}

func (rtnl) setAddress(index int, p netip.Prefix) error {
	return talk(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, addressMessage(index, p), addressAttrs(p))
}

func (rtnl) removeAddress(index int, p netip.Prefix) error {
	return talk(unix.RTM_DELADDR, 0, addressMessage(index, p), addressAttrs(p))
}

func addressMessage(index int, p netip.Prefix) []byte {
	m := unix.IfAddrmsg{Family: unix.AF_INET, Prefixlen: uint8(p.Bits()), Index: uint32(index)}
	return bytesOf(&m)
}

func addressAttrs(p netip.Prefix) []attr {
	a := p.Addr().As4()
	attrs := []attr{{unix.IFA_LOCAL, a[:]}, {unix.IFA_ADDRESS, a[:]}}
	if p.Bits() < 31 {
		mask := ^uint32(0) >> p.Bits()
		last := binary.BigEndian.Uint32(a[:]) | mask
		attrs = append(attrs, attr{unix.IFA_BROADCAST, binary.BigEndian.AppendUint32(nil, last)})
	}
	return attrs
}

// setDefault makes gateway the default route through a link. Every link has its own, the first link's is preferred.
func (rtnl) setDefault(index int, gateway netip.Addr) error {
	m := unix.RtMsg{
		Family: unix.AF_INET, Table: unix.RT_TABLE_MAIN, Protocol: unix.RTPROT_DHCP,
		Scope: unix.RT_SCOPE_UNIVERSE, Type: unix.RTN_UNICAST,
	}
	g := gateway.As4()
	return talk(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, bytesOf(&m), []attr{
		{unix.RTA_GATEWAY, g[:]},
		{unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, uint32(index))},
		{unix.RTA_PRIORITY, binary.NativeEndian.AppendUint32(nil, uint32(100+index))},
	})
}

func bytesOf[T any](v *T) []byte {
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))...)
}

// message returns a netlink message.
func message(kind, flags uint16, body []byte, attrs []attr) []byte {
	for _, a := range attrs {
		body = binary.NativeEndian.AppendUint16(body, uint16(unix.SizeofRtAttr+len(a.data)))
		body = binary.NativeEndian.AppendUint16(body, a.kind)
		body = append(body, a.data...)
		for len(body)%unix.NLMSG_ALIGNTO != 0 {
			body = append(body, 0)
		}
	}
	header := unix.NlMsghdr{
		Len: uint32(unix.SizeofNlMsghdr + len(body)), Type: kind,
		Flags: unix.NLM_F_REQUEST | unix.NLM_F_ACK | flags, Seq: 1,
	}
	return append(bytesOf(&header), body...)
}

// talk sends one request and waits for the kernel's verdict.
func talk(kind, flags uint16, body []byte, attrs []attr) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("open rtnetlink: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	kernel := &unix.SockaddrNetlink{Family: unix.AF_NETLINK}
	if err := unix.Sendto(fd, message(kind, flags, body, attrs), 0, kernel); err != nil {
		return fmt.Errorf("send to rtnetlink: %w", err)
	}
	buf := make([]byte, 8<<10)
	n, _, err := unix.Recvfrom(fd, buf, 0)
	if err != nil {
		return fmt.Errorf("receive from rtnetlink: %w", err)
	}
	return verdict(buf[:n])
}

// verdict reads the kernel's acknowledgement.
func verdict(b []byte) error {
	if len(b) < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(b[4:]) != unix.NLMSG_ERROR {
		return errors.New("rtnetlink answered with something that is no acknowledgement")
	}
	if code := int32(binary.NativeEndian.Uint32(b[unix.SizeofNlMsghdr:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

// linkEvents is a socket that becomes readable when a link changes.
type linkEvents struct{ file *os.File }

func openLinkEvents() (*linkEvents, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open rtnetlink events: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_LINK}); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("bind to rtnetlink events: %w", err)
	}
	return &linkEvents{os.NewFile(uintptr(fd), "rtnetlink")}, nil
}

// wait returns when any link changed, or when events were lost.
func (l *linkEvents) wait() error {
	_, err := l.file.Read(make([]byte, 8<<10))
	if errors.Is(err, unix.ENOBUFS) {
		return nil
	}
	return err
}
