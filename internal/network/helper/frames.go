package helper

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/network/dhcp4"
	"taproom/internal/network/packet"
)

// receiveBuffer is how many bytes of messages wait in the kernel for one network; what a flood adds is dropped there.
// The kernel counts each message with its bookkeeping, so this is some 150 of them.
const receiveBuffer = 128 << 10

// OpenFrames returns a packet socket that receives from one link what the address services answer, and nothing else: DHCP
// requests, ARP, and router solicitations. Its filter cannot be taken off again, so whoever is given the socket sees no
// more than that. It can send any frame on that link.
func OpenFrames(k *host.Kernel, index int) (*os.File, error) {
	k.Step("packet socket open")
	var f *os.File
	var err error
	k.InNetNS(func() { f, err = openFrames(index) })
	if err != nil {
		return nil, fmt.Errorf("open a packet socket on link %d: %w", index, err)
	}
	return f, nil
}

func openFrames(index int) (*os.File, error) {
	// Protocol zero receives nothing: no frame gets in before the filter is there.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		attach(fd, framesFilter()),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer),
		// Tells which frames carry a checksum that is still to be filled in.
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
	)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: index})
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "packet socket"), nil
}

// attach sets a socket's filter for good.
func attach(fd int, program []bpf.Instruction) error {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return errors.Join(
		unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_LOCK_FILTER, 1),
	)
}

const (
	dhcp6Port        = 547
	routerSolicit    = 133 // RFC 4861, 4.1
	ipv6NextHeader   = packet.EthHeader + 6
	ipv6Payload      = packet.EthHeader + packet.IPv6Header
	ipv4Protocol     = packet.EthHeader + 9
	ipv4Fragment     = packet.EthHeader + 6
	notFirstFragment = 0x3fff
)

// framesFilter accepts unfragmented IPv4 UDP to port 67, ARP, IPv6 UDP to port 547 and router solicitations, up to the
// longest frame. The socket starts at the Ethernet header.
func framesFilter() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 12, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: packet.TypeARP, SkipTrue: 16},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: packet.TypeIPv6, SkipTrue: 8},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: packet.TypeIPv4, SkipTrue: 15},

		bpf.LoadAbsolute{Off: ipv4Protocol, Size: 1}, // 4
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_UDP, SkipTrue: 13},
		bpf.LoadAbsolute{Off: ipv4Fragment, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: notFirstFragment, SkipTrue: 11},
		bpf.LoadMemShift{Off: packet.EthHeader},
		bpf.LoadIndirect{Off: packet.EthHeader + 2, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: dhcp4.ServerPort, SkipTrue: 7, SkipFalse: 8},

		bpf.LoadAbsolute{Off: ipv6NextHeader, Size: 1}, // 11
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_ICMPV6, SkipTrue: 3},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_UDP, SkipTrue: 5},
		bpf.LoadAbsolute{Off: ipv6Payload + 2, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: dhcp6Port, SkipTrue: 2, SkipFalse: 3},

		bpf.LoadAbsolute{Off: ipv6Payload, Size: 1}, // 16
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: routerSolicit, SkipFalse: 1},
		bpf.RetConstant{Val: packet.MaxFrame + 1}, // 18: one more than allowed, so that a longer one is seen as such
		bpf.RetConstant{Val: 0},
	}
}

// networkOrder swaps the bytes of a protocol number on the little-endian machines that QEMU runs guests on for us.
func networkOrder(v uint16) uint16 { return v<<8 | v>>8 }
