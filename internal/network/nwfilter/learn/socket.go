package learn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// receiveBuffer is how many bytes of messages wait in the kernel for one socket, with the kernel's bookkeeping: some 1,300
// of them, which is more than the kernel still hands over of a flood before the filter leaves its NIC out.
const receiveBuffer = 1 << 20

// socket is a packet socket that hears one kind of message on all links.
type socket struct {
	kind kind
	file *os.File
	raw  syscall.RawConn
	last []bpf.RawInstruction // its filter
}

// openSocket opens a socket that hears nothing yet: its filter lets nothing through.
func openSocket(k *host.Kernel, of kind) (*socket, error) {
	k.Step("packet socket open")
	s := &socket{kind: of}
	var err error
	k.InNetNS(func() { s.file, err = openFile(of) })
	if err == nil {
		if s.raw, err = s.file.SyscallConn(); err != nil {
			err = errors.Join(err, s.file.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("hear %s to learn guests' addresses (needs CAP_NET_RAW and CONFIG_PACKET): %w", of, err)
	}
	return s, nil
}

func openFile(of kind) (*os.File, error) {
	// Protocol zero receives nothing: no frame gets in before the filter is there.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	err = setFilter(fd, []bpf.RawInstruction{{Op: unix.BPF_RET | unix.BPF_K}})
	if err == nil && unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer) != nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer)
	}
	if err == nil && of == neighbours {
		// What goes out is not even offered to the socket, and costs its sender nothing.
		err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1)
	}
	if err == nil {
		err = errors.Join(
			// Tells which frames carry a checksum that is still to be filled in.
			unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1),
			unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: allProtocols()}))
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "packet socket"), nil
}

// allProtocols is ETH_P_ALL in network order.
func allProtocols() uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
}

func setFilter(fd int, code []bpf.RawInstruction) error {
	filter := make([]unix.SockFilter, len(code))
	for i, r := range code {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})
}

// let has the kernel hand over what a filter accepts. From one filter to the next nothing is lost.
func (s *socket) let(p []bpf.Instruction) error {
	code, err := bpf.Assemble(p)
	if err != nil {
		return fmt.Errorf("assemble the filter for %s: %w", s.kind, err)
	}
	if same(code, s.last) {
		return nil
	}
	var failed error
	err = s.raw.Control(func(fd uintptr) { failed = setFilter(int(fd), code) })
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("set the filter of %d instructions for %s: %w", len(code), s.kind, err)
	}
	s.last = code
	return nil
}

func same(a, b []bpf.RawInstruction) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// heard is a frame and how it passed which link.
type heard struct {
	link    int
	way     Direction
	partial bool // its sender left the checksum to the hardware
	data    []byte
}

// run hands each frame to take until the socket is closed, which is an error too.
func (s *socket) run(take func(heard)) error {
	buf, oob := make([]byte, 2048), make([]byte, 128)
	for {
		var h heard
		var failed error
		err := s.raw.Read(func(fd uintptr) bool {
			h, failed = receive(int(fd), buf, oob)
			return !errors.Is(failed, unix.EAGAIN)
		})
		switch {
		case err != nil:
			return fmt.Errorf("hear %s: %w", s.kind, err)
		case errors.Is(failed, unix.ENETDOWN): // told once when a link goes; the socket goes on
		case failed != nil:
			return fmt.Errorf("hear %s: %w", s.kind, failed)
		default:
			take(h)
		}
	}
}

func receive(fd int, buf, oob []byte) (heard, error) {
	n, oobn, _, from, err := unix.Recvmsg(fd, buf, oob, 0)
	for errors.Is(err, unix.EINTR) {
		n, oobn, _, from, err = unix.Recvmsg(fd, buf, oob, 0)
	}
	if err != nil {
		return heard{}, err
	}
	h := heard{data: buf[:n]}
	if ll, ok := from.(*unix.SockaddrLinklayer); ok {
		h.link, h.way = ll.Ifindex, Direction(ll.Pkttype == unix.PACKET_OUTGOING)
	}
	// struct tpacket_auxdata begins with its status.
	header, data, _, err := unix.ParseOneSocketControlMessage(oob[:oobn])
	if err == nil && header.Level == unix.SOL_PACKET && header.Type == unix.PACKET_AUXDATA && len(data) >= 4 {
		h.partial = binary.NativeEndian.Uint32(data)&unix.TP_STATUS_CSUMNOTREADY != 0
	}
	return h, nil
}

// dropped returns how many messages the kernel had no room for since it was asked last.
func (s *socket) dropped() uint64 {
	var st *unix.TpacketStats
	var failed error
	err := s.raw.Control(func(fd uintptr) {
		st, failed = unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS)
	})
	if err != nil || failed != nil {
		return 0
	}
	return uint64(st.Drops)
}
