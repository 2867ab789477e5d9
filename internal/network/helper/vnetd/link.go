package vnetd

import (
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"taproom/internal/network/packet"
)

// link is a packet socket bound to one bridge.
type link struct {
	file *os.File
	raw  syscall.RawConn
	hook Hook
	pool *sync.Pool // of *room, of all links
	room *room      // from the first frame of a batch until there is none left; nil while it waits
}

// room is what a frame is received into. A thousand networks mostly wait, and need none then.
type room struct {
	buf [2048]byte
	oob [128]byte
}

func newRooms() *sync.Pool { return &sync.Pool{New: func() any { return new(room) }} }

// frame is what was received. data is valid until the next receive.
type frame struct {
	data    []byte
	partial bool // the sender left the UDP checksum to hardware
	toUs    bool // addressed to the bridge, a group or everybody, and in no VLAN
}

var errNotPacket = errors.New("not a packet socket")

func newLink(f *os.File, pool *sync.Pool) (*link, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	l := &link{file: f, raw: raw, pool: pool}
	_, _, err = l.bound()
	return l, err
}

// bound returns the bridge's index and its current address. The kernel answers -1 when the bridge is gone.
func (l *link) bound() (int, packet.MAC, error) {
	var sa unix.Sockaddr
	var err error
	if cerr := l.raw.Control(func(fd uintptr) { sa, err = unix.Getsockname(int(fd)) }); cerr != nil || err != nil {
		return -1, packet.MAC{}, errors.Join(cerr, err)
	}
	ll, ok := sa.(*unix.SockaddrLinklayer)
	if !ok {
		return -1, packet.MAC{}, errNotPacket
	}
	return ll.Ifindex, packet.MAC(ll.Addr[:6]), nil
}

// receive waits for a frame, or with wait false takes one that is there. Without one it returns EAGAIN.
func (l *link) receive(wait bool) (frame, error) {
	var f frame
	var err error
	cerr := l.raw.Read(func(fd uintptr) bool {
		f, err = l.recvmsg(int(fd))
		return !wait || !errors.Is(err, unix.EAGAIN)
	})
	if cerr != nil {
		return frame{}, cerr
	}
	return f, err
}

func (l *link) recvmsg(fd int) (frame, error) {
	if l.room == nil {
		l.room = l.pool.Get().(*room)
	}
	n, oobn, _, from, err := unix.Recvmsg(fd, l.room.buf[:], l.room.oob[:], 0)
	if err != nil {
		l.pool.Put(l.room)
		l.room = nil
		return frame{}, err
	}
	f := frame{data: l.room.buf[:n]}
	if ll, ok := from.(*unix.SockaddrLinklayer); ok {
		f.toUs = ll.Pkttype == unix.PACKET_HOST || ll.Pkttype == unix.PACKET_BROADCAST || ll.Pkttype == unix.PACKET_MULTICAST
	}
	f.parseAux(l.room.oob[:oobn])
	return f, nil
}

// parseAux reads struct tpacket_auxdata: status, len and snaplen of four bytes, mac, net, vlan_tci and vlan_tpid of two.
func (f *frame) parseAux(oob []byte) {
	header, data, _, err := unix.ParseOneSocketControlMessage(oob)
	if err != nil || header.Level != unix.SOL_PACKET || header.Type != unix.PACKET_AUXDATA || len(data) < 20 {
		return
	}
	status := binary.NativeEndian.Uint32(data)
	f.partial = status&unix.TP_STATUS_CSUMNOTREADY != 0
	f.toUs = f.toUs && status&unix.TP_STATUS_VLAN_VALID == 0
}

// send sends a whole frame. What the bridge does not take now is lost, as frames are: the client asks again.
func (l *link) send(b []byte) error {
	l.hook.at(StepSend)
	var err error
	cerr := l.raw.Control(func(fd uintptr) { _, err = unix.Write(int(fd), b) })
	return errors.Join(cerr, err)
}

// dropped returns how many messages the kernel dropped since it was asked last.
func (l *link) dropped() uint64 {
	var s *unix.TpacketStats
	var err error
	cerr := l.raw.Control(func(fd uintptr) {
		s, err = unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS)
	})
	if cerr != nil || err != nil {
		return 0
	}
	return uint64(s.Drops)
}
