package dhcp

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// receiveBuffer is how many bytes of messages wait in the kernel for one network; what a flood adds is dropped there.
// The kernel counts each message with its bookkeeping, so this is some 150 of them.
const receiveBuffer = 128 << 10

// OpenSocket returns a packet socket that receives IPv4 datagrams to UDP port 67 from one link and nothing else. Its
// filter cannot be taken off again, so whoever is given the socket sees no more than that.
func OpenSocket(k *host.Kernel, index int) (*os.File, error) {
	k.Step("packet socket open")
	var f *os.File
	var err error
	k.InNetNS(func() { f, err = openSocket(index) })
	if err != nil {
		return nil, fmt.Errorf("open a packet socket for DHCP on link %d: %w", index, err)
	}
	return f, nil
}

func openSocket(index int) (*os.File, error) {
	// Protocol zero receives nothing: no frame gets in before the filter is there.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	filter, err := requestFilter()
	if err == nil {
		err = errors.Join(
			unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}),
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_LOCK_FILTER, 1),
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer),
			// Tells which frames carry a checksum that is still to be filled in.
			unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1),
		)
	}
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_IP), Ifindex: index})
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "packet socket"), nil
}

// requestFilter accepts unfragmented IPv4 UDP to port 67 up to the longest frame. The socket starts at the Ethernet
// header and is bound to IPv4.
func requestFilter() ([]unix.SockFilter, error) {
	raw, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: ethHeader + 9, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_UDP, SkipTrue: 6},
		bpf.LoadAbsolute{Off: ethHeader + 6, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: 0x3fff, SkipTrue: 4},
		bpf.LoadMemShift{Off: ethHeader},
		bpf.LoadIndirect{Off: ethHeader + 2, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: serverPort, SkipTrue: 1},
		bpf.RetConstant{Val: maxFrame + 1}, // one more than allowed, so that a longer one is seen as such
		bpf.RetConstant{Val: 0},
	})
	if err != nil {
		return nil, err
	}
	out := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		out[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return out, nil
}

// networkOrder swaps the bytes of a protocol number on the little-endian machines that QEMU runs guests on for us.
func networkOrder(v uint16) uint16 { return v<<8 | v>>8 }

// holdPort returns a UDP socket on port 67 of one bridge that nobody reads. Without it the kernel answers a client's
// unicast renewal with "port unreachable", beside our reply from the packet socket. It returns nil when somebody holds
// the port on all links: then the kernel does not answer either.
func holdPort(k *host.Kernel, bridge string) (*os.File, error) {
	k.Step("udp socket open")
	var f *os.File
	var err error
	k.InNetNS(func() { f, err = openHolder(bridge) })
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("hold UDP port 67 on %s: %w", bridge, err)
	}
	return f, nil
}

func openHolder(bridge string) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 0),
		unix.BindToDevice(fd, bridge),
	)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Port: serverPort})
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "port 67"), nil
}
