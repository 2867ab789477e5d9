package bench

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/network/packet"
)

const (
	// offers are how many clients ask for one sample.
	offers = 100
	// offerPause is from one client to the next: not even a host that boots a thousand guests has them come faster, and
	// networks limit what they answer.
	offerPause = 2500 * time.Microsecond
	// offerWithin bounds an answer. dnsmasq takes three seconds when it sends an echo request first.
	offerWithin = 10 * time.Second
)

// cable is a packet socket on a link. It blocks in the kernel, so that no scheduler of ours is measured.
type cable struct {
	fd, index int
	buf       [2048]byte
}

// openCable opens one that gets all frames of an Ethernet type, in the namespace of the thread.
func openCable(index int, kind uint16) (*cable, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	c := &cable{fd: fd, index: index}
	wait := unix.NsecToTimeval(int64(offerWithin))
	if err := errors.Join(
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: kind<<8 | kind>>8, Ifindex: index}),
	); err != nil {
		return nil, errors.Join(fmt.Errorf("open a packet socket: %w", err), c.close())
	}
	return c, nil
}

func (c *cable) close() error { return unix.Close(c.fd) }

func (c *cable) send(frame []byte) error {
	return unix.Sendto(c.fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: c.index})
}

// receive returns the next frame from the other end, valid until the next.
func (c *cable) receive() ([]byte, error) {
	for {
		n, from, err := unix.Recvfrom(c.fd, c.buf[:], 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, err
		}
		if l, ok := from.(*unix.SockaddrLinklayer); ok && l.Pkttype != unix.PACKET_OUTGOING {
			return c.buf[:n], nil
		}
	}
}

// drain throws away what came while nobody wanted it: with a full queue the kernel would drop what is wanted.
func (c *cable) drain() error {
	for {
		_, _, err := unix.Recvfrom(c.fd, c.buf[:], unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// bootClient is the part of a guest that wants an address.
type bootClient struct{ cable *cable }

// newBootClient returns one on a network.
func newBootClient(l *lan) (b *bootClient, err error) {
	err = l.guests.do(func() error {
		index, err := indexOf(l.card)
		if err != nil {
			return err
		}
		b = &bootClient{}
		b.cable, err = openCable(index, unix.ETH_P_IP)
		return err
	})
	return b, err
}

// indexOf asks in the namespace of the thread.
func indexOf(link string) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq(link)
	if err == nil {
		err = unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, r)
	}
	if err != nil {
		return 0, fmt.Errorf("find link %s: %w", link, err)
	}
	return int(r.Uint32()), nil
}

// offer asks as a machine that nobody knows and returns how long the answer took, in milliseconds.
func (b *bootClient) offer() (float64, error) {
	mac := packet.MAC{0x52, 0x54, 0}
	xid := rand.Uint32()
	binary.BigEndian.PutUint32(mac[2:], xid)
	frame := discover(mac, xid)
	if err := b.cable.drain(); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := b.cable.send(frame); err != nil {
		return 0, fmt.Errorf("send a DISCOVER: %w", err)
	}
	for {
		f, err := b.cable.receive()
		if err != nil {
			return 0, fmt.Errorf("no OFFER within %v: %w", offerWithin, err)
		}
		took := milliseconds(time.Since(began))
		if isOffer(f, xid) {
			return took, nil
		}
	}
}

// Of RFC 2131 and RFC 2132.
const (
	bootReply    = 2
	dhcpDiscover = 1
	dhcpOffer    = 2
	messageType  = 53
	optionsAt    = 240 // after the magic cookie
)

// discover is a whole frame as a kernel's client sends it: no client id, what every client asks for.
func discover(mac packet.MAC, xid uint32) []byte {
	m := make([]byte, optionsAt, 300)
	m[0], m[1], m[2] = 1, 1, 6
	binary.BigEndian.PutUint32(m[4:], xid)
	copy(m[28:], mac[:])
	copy(m[236:], []byte{99, 130, 83, 99})
	m = append(m, messageType, 1, dhcpDiscover, 55, 4, 1, 3, 6, 15, 255)
	m = m[:300] // the least that relays and old servers take (RFC 951)
	any4 := netip.IPv4Unspecified()
	return (&packet.Datagram{
		From: mac, To: packet.Broadcast(), Src: netip.AddrPortFrom(any4, 68),
		Dst: netip.AddrPortFrom(netip.AddrFrom4([4]byte{255, 255, 255, 255}), 67), Payload: m,
	}).Frame()
}

// isOffer reports whether a frame is the answer.
func isOffer(frame []byte, xid uint32) bool {
	d, err := packet.ParseUDP4(frame, true)
	if err != nil || d.Dst.Port() != 68 || len(d.Payload) < optionsAt {
		return false
	}
	m := d.Payload
	return m[0] == bootReply && binary.BigEndian.Uint32(m[4:]) == xid && bytes.HasPrefix(option(m[optionsAt:], messageType), []byte{dhcpOffer})
}

// option returns the value of one, or nil.
func option(all []byte, code byte) []byte {
	for len(all) > 1 && all[0] != 255 {
		n := int(all[1])
		switch {
		case all[0] == 0:
			all = all[1:]
		case 2+n > len(all):
			return nil
		case all[0] == code:
			return all[2 : 2+n]
		default:
			all = all[2+n:]
		}
	}
	return nil
}

// spread is how long several took.
type spread struct{ median, p99 float64 }

// paced does something n times, in time.
func paced(n int, once func() (float64, error)) (spread, error) {
	tick := time.NewTicker(offerPause)
	defer tick.Stop()
	var all []float64
	for range n {
		<-tick.C
		v, err := once()
		if err != nil {
			return spread{}, err
		}
		all = append(all, v)
	}
	slices.Sort(all)
	return spread{median: all[len(all)/2], p99: all[(len(all)*99-1)/100]}, nil
}

// echo is the floor under an offer: a packet socket on the same kind of bridge that sends every frame back, without a look
// at it.
type echo struct {
	server *cable
	client *bootClient
	done   chan error
}

func newEcho(l *lan) (*echo, error) {
	s, err := openCable(l.index, echoKind)
	if err != nil {
		return nil, err
	}
	e := &echo{server: s, done: make(chan error, 1)}
	err = l.guests.do(func() error {
		index, err := indexOf(l.card)
		if err != nil {
			return err
		}
		e.client = &bootClient{}
		e.client.cable, err = openCable(index, echoKind)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	go func() { e.done <- e.serve() }()
	return e, nil
}

// echoKind is an Ethernet type for experiments (IEEE Std 802).
const echoKind = 0x88b5

// serve ends at an empty message.
func (e *echo) serve() error {
	for {
		f, err := e.server.receive()
		if errors.Is(err, unix.EAGAIN) {
			continue
		}
		if err != nil {
			return err
		}
		if f[packet.EthHeader] == 0 {
			return nil
		}
		var from packet.MAC
		copy(from[:], f[6:])
		copy(f[6:], f[:6])
		copy(f, from[:])
		f[6] &^= 1 // nobody sends from a group
		if err := e.server.send(f); err != nil {
			return err
		}
	}
}

// once is a frame and its way back.
func (e *echo) once() (float64, error) {
	frame := discover(packet.MAC{0x52, 0x54, 0, 0, 0, 2}, 1)
	binary.BigEndian.PutUint16(frame[12:], echoKind)
	began := time.Now()
	if err := e.client.cable.send(frame); err != nil {
		return 0, err
	}
	if _, err := e.client.cable.receive(); err != nil {
		return 0, fmt.Errorf("an echo: %w", err)
	}
	return milliseconds(time.Since(began)), nil
}

func (e *echo) close() error {
	frame := make([]byte, 60)
	copy(frame, bytes.Repeat([]byte{0xff}, 6))
	copy(frame[6:], []byte{0x52, 0x54, 0, 0, 0, 2})
	binary.BigEndian.PutUint16(frame[12:], echoKind)
	err := e.client.cable.send(frame)
	if err == nil {
		err = <-e.done
	}
	return errors.Join(err, e.client.cable.close(), e.server.close())
}
