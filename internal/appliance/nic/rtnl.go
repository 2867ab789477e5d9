package nic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attr is a netlink attribute.
type attr struct {
	kind uint16
	data []byte
}

// Up brings a link up, with an MTU unless that is 0.
func Up(index, mtu int) error {
	info := unix.IfInfomsg{Family: unix.AF_UNSPEC, Index: int32(index), Flags: unix.IFF_UP, Change: unix.IFF_UP}
	var attrs []attr
	if mtu > 0 {
		attrs = append(attrs, attr{unix.IFLA_MTU, binary.NativeEndian.AppendUint32(nil, uint32(mtu))})
	}
	return talk(unix.RTM_NEWLINK, 0, bytesOf(&info), attrs)
}

// SetAddress gives a link an address. One that it has already stays.
func SetAddress(index int, p netip.Prefix) error {
	return talk(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, addressMessage(index, p), addressAttrs(p))
}

// RemoveAddress takes an address from a link. One that is not there is EADDRNOTAVAIL.
func RemoveAddress(index int, p netip.Prefix) error {
	return talk(unix.RTM_DELADDR, 0, addressMessage(index, p), addressAttrs(p))
}

func family(a netip.Addr) uint8 {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func addressMessage(index int, p netip.Prefix) []byte {
	m := unix.IfAddrmsg{Family: family(p.Addr()), Prefixlen: uint8(p.Bits()), Index: uint32(index)}
	return bytesOf(&m)
}

func addressAttrs(p netip.Prefix) []attr {
	a := p.Addr().AsSlice()
	attrs := []attr{{unix.IFA_LOCAL, a}, {unix.IFA_ADDRESS, a}}
	if p.Addr().Is4() && p.Bits() < 31 {
		mask := ^uint32(0) >> p.Bits()
		last := binary.BigEndian.Uint32(a) | mask
		attrs = append(attrs, attr{unix.IFA_BROADCAST, binary.BigEndian.AppendUint32(nil, last)})
	}
	return attrs
}

// SetDefault makes gateway the default route through a link. Every link has its own, the first link's is preferred.
func SetDefault(index int, gateway netip.Addr) error {
	m := unix.RtMsg{
		Family: family(gateway), Table: unix.RT_TABLE_MAIN, Protocol: unix.RTPROT_DHCP,
		Scope: unix.RT_SCOPE_UNIVERSE, Type: unix.RTN_UNICAST,
	}
	return talk(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, bytesOf(&m), []attr{
		{unix.RTA_GATEWAY, gateway.AsSlice()},
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
