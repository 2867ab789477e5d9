package helper_test

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv6"
	"golang.org/x/sys/unix"

	"taproom/internal/network/packet"
)

// again is how long a card waits for an answer before it asks again.
const again = 3 * time.Second

// wire is a guest's NIC without its kernel: a test is any number of cards on it.
type wire struct {
	s *site
	f *os.File
}

// wire opens the guest's NIC for frames of any sender.
func (g *guest) wire() *wire {
	g.s.t.Helper()
	l, err := g.ns.Kernel().LinkByName("eth0")
	if err != nil {
		g.s.t.Fatal(err)
	}
	fd := -1
	g.ns.Do(func() { fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0) })
	if err != nil {
		g.s.t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "wire")
	g.s.t.Cleanup(func() { f.Close() })
	all := uint16(unix.ETH_P_ALL)
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all<<8 | all>>8, Ifindex: l.Index}),
	)
	if err != nil {
		g.s.t.Fatal(err)
	}
	return &wire{g.s, f}
}

func (w *wire) send(frame []byte) {
	w.s.t.Helper()
	if _, err := w.f.Write(frame); err != nil && !errors.Is(err, unix.ENOBUFS) { // lost, as frames are
		w.s.t.Fatalf("send a frame of %d bytes: %v", len(frame), err)
	}
}

// receive returns the next frame, or nil when there is none until a time.
func (w *wire) receive(until time.Time) []byte {
	w.s.t.Helper()
	if err := w.f.SetReadDeadline(until); err != nil {
		w.s.t.Fatal(err)
	}
	b := make([]byte, 2048)
	n, err := w.f.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	if err != nil {
		w.s.t.Fatalf("receive a frame: %v", err)
	}
	return b[:n]
}

// lost reports whether the helper has ended.
func (w *wire) lost() bool {
	select {
	case <-w.s.h.Lost():
		return true
	default:
		return false
	}
}

// exchange sends a frame, if there is one, until a frame comes that read accepts, and returns true; or until the helper has ended without
// such an answer, and returns false.
func (w *wire) exchange(frame []byte, read func([]byte) bool) bool {
	w.s.t.Helper()
	for {
		if frame != nil {
			w.send(frame)
		}
		for retry := time.Now().Add(again); time.Now().Before(retry); {
			ended := w.lost() // what it had sent before is there by now
			for f := w.receive(time.Now().Add(10 * time.Millisecond)); f != nil; f = w.receive(time.Now().Add(time.Millisecond)) {
				if read(f) {
					return true
				}
			}
			if ended {
				return false
			}
			if err := w.s.ctx.Err(); err != nil {
				w.s.t.Fatalf("no answer: %v", err)
			}
		}
	}
}

// card is a client of both families whose messages the test makes.
type card struct {
	w   *wire
	mac packet.MAC
}

// number makes the nth card's address.
func number(n int) packet.MAC {
	m := packet.MAC{0x52, 0x54}
	binary.BigEndian.PutUint32(m[2:], uint32(n))
	return m
}

func message4(mac packet.MAC, kind dhcpv4.MessageType, how ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
	m, err := dhcpv4.New(append([]dhcpv4.Modifier{dhcpv4.WithHwAddr(mac[:]), dhcpv4.WithMessageType(kind)}, how...)...)
	if err != nil {
		panic(err)
	}
	return m
}

func frame4(mac packet.MAC, m *dhcpv4.DHCPv4) []byte {
	d := packet.Datagram{
		From: mac, To: packet.Broadcast(), Payload: m.ToBytes(),
		Src: netip.MustParseAddrPort("0.0.0.0:68"), Dst: netip.MustParseAddrPort("255.255.255.255:67"),
	}
	return d.Frame()
}

// reply4 reads an answer of DHCPv4 off a frame, or returns nil.
func reply4(frame []byte) *dhcpv4.DHCPv4 {
	d, err := packet.ParseUDP4(frame, false)
	if err != nil || d.Src.Port() != 67 {
		return nil
	}
	m, err := dhcpv4.FromBytes(d.Payload)
	if err != nil {
		return nil
	}
	return m
}

// ask4 returns the answer to a message, or nil when the helper ended first.
func (c card) ask4(kind dhcpv4.MessageType, how ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
	c.w.s.t.Helper()
	m := message4(c.mac, kind, how...)
	var got *dhcpv4.DHCPv4
	c.w.exchange(frame4(c.mac, m), func(f []byte) bool {
		r := reply4(f)
		if r == nil || r.TransactionID != m.TransactionID {
			return false
		}
		got = r
		return true
	})
	return got
}

func wish(a netip.Addr) dhcpv4.Modifier {
	return dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(net.IP(a.AsSlice())))
}

func server(a netip.Addr) dhcpv4.Modifier {
	return dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.IP(a.AsSlice())))
}

func has(a netip.Addr) dhcpv4.Modifier { return dhcpv4.WithClientIP(net.IP(a.AsSlice())) }

// got4 is the address of an answer that gives one for good.
func got4(m *dhcpv4.DHCPv4) netip.Addr {
	if m == nil || m.MessageType() != dhcpv4.MessageTypeAck {
		return netip.Addr{}
	}
	a, _ := netip.AddrFromSlice(m.YourIPAddr.To4())
	return a
}

// join4 gets an address with the usual four messages; the zero one when the helper ended first.
func (c card) join4(from netip.Addr) netip.Addr {
	c.w.s.t.Helper()
	offer := c.ask4(dhcpv4.MessageTypeDiscover)
	if offer == nil {
		return netip.Addr{}
	}
	a, _ := netip.AddrFromSlice(offer.YourIPAddr.To4())
	return got4(c.ask4(dhcpv4.MessageTypeRequest, wish(a), server(from)))
}

// named gets an address for a client that says its name.
func (c card) named(name string) netip.Addr {
	c.w.s.t.Helper()
	own := dhcpv4.WithOption(dhcpv4.OptHostName(name))
	a, _ := netip.AddrFromSlice(c.ask4(dhcpv4.MessageTypeDiscover, own).YourIPAddr.To4())
	return got4(c.ask4(dhcpv4.MessageTypeRequest, wish(a), server(gateway4), own))
}

// renew4 extends a lease; the zero address when the helper ended first, or said no.
func (c card) renew4(a netip.Addr) netip.Addr {
	c.w.s.t.Helper()
	return got4(c.ask4(dhcpv4.MessageTypeRequest, has(a)))
}

// tell4 sends a message that has no answer.
func (c card) tell4(kind dhcpv4.MessageType, how ...dhcpv4.Modifier) {
	c.w.s.t.Helper()
	c.w.send(frame4(c.mac, message4(c.mac, kind, how...)))
}

func message6(mac packet.MAC, kind dhcpv6.MessageType, duid []byte, options ...dhcpv6.Option) *dhcpv6.Message {
	m, err := dhcpv6.NewMessage()
	if err != nil {
		panic(err)
	}
	m.MessageType = kind
	m.AddOption(&dhcpv6.OptionGeneric{OptionCode: dhcpv6.OptionClientID, OptionData: append([]byte{0, 3, 0, 1}, mac[:]...)})
	if duid != nil {
		m.AddOption(&dhcpv6.OptionGeneric{OptionCode: dhcpv6.OptionServerID, OptionData: duid})
	}
	for _, o := range options {
		m.AddOption(o)
	}
	return m
}

func frame6(mac packet.MAC, m *dhcpv6.Message) []byte {
	to := netip.MustParseAddr("ff02::1:2")
	d := packet.Datagram{
		From: mac, To: packet.Multicast(to), Payload: m.ToBytes(),
		Src: netip.AddrPortFrom(mac.LinkLocal(), 546), Dst: netip.AddrPortFrom(to, 547),
	}
	return d.Frame()
}

func reply6(frame []byte) *dhcpv6.Message {
	d, err := packet.ParseUDP6(frame, false)
	if err != nil || d.Src.Port() != 547 {
		return nil
	}
	m, err := dhcpv6.MessageFromBytes(d.Payload)
	if err != nil {
		return nil
	}
	return m
}

func (c card) ask6(kind dhcpv6.MessageType, duid []byte, options ...dhcpv6.Option) *dhcpv6.Message {
	c.w.s.t.Helper()
	m := message6(c.mac, kind, duid, options...)
	var got *dhcpv6.Message
	c.w.exchange(frame6(c.mac, m), func(f []byte) bool {
		r := reply6(f)
		if r == nil || r.TransactionID != m.TransactionID {
			return false
		}
		got = r
		return true
	})
	return got
}

// ia is an identity association with what it holds.
func ia(addresses ...netip.Addr) dhcpv6.Option {
	o := &dhcpv6.OptIANA{IaId: [4]byte{3: 1}}
	for _, a := range addresses {
		o.Options.Add(&dhcpv6.OptIAAddress{IPv6Addr: net.IP(a.AsSlice())})
	}
	return o
}

// got6 is the address that a reply holds with some life left.
func got6(m *dhcpv6.Message) netip.Addr {
	if m == nil || m.Options.OneIANA() == nil {
		return netip.Addr{}
	}
	o := m.Options.OneIANA().Options.OneAddress()
	if o == nil || o.ValidLifetime == 0 {
		return netip.Addr{}
	}
	a, _ := netip.AddrFromSlice(o.IPv6Addr)
	return a
}

// join6 is join4 for DHCPv6.
func (c card) join6(duid []byte) netip.Addr {
	c.w.s.t.Helper()
	a := got6(c.ask6(dhcpv6.MessageTypeSolicit, nil, ia()))
	if !a.IsValid() {
		return a
	}
	return got6(c.ask6(dhcpv6.MessageTypeRequest, duid, ia(a)))
}

// renew6 is renew4 for DHCPv6.
func (c card) renew6(duid []byte, a netip.Addr) netip.Addr {
	c.w.s.t.Helper()
	return got6(c.ask6(dhcpv6.MessageTypeRenew, duid, ia(a)))
}

// resident is how much memory a process takes, in KiB.
func resident(t *testing.T, pid int) int {
	t.Helper()
	return statusField(t, pid, "VmRSS")
}
