package dhcpc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"time"
)

// Transport carries DHCP messages over one link: UDP from port 68 to port 67.
type Transport interface {
	// Send sends to every server on the link.
	Send(payload []byte) error
	// Receive waits for a message until the deadline, and then fails with os.ErrDeadlineExceeded. What it returns can
	// be anything that anybody on the link sent.
	Receive(deadline time.Time) ([]byte, error)
}

// Client asks for a lease for one link.
type Client struct {
	MAC      net.HardwareAddr
	HostName string
	// First is how long the first message waits for its answer; every later one waits twice as long as the one before,
	// up to Last. Zero means one and sixteen seconds. A guest is awaited by somebody, so it is less patient than RFC
	// 2131 has it.
	First, Last time.Duration
}

// ErrRefused is returned when the server took back what it offered, or does not extend a lease.
var ErrRefused = errors.New("the DHCP server refused")

// tries is how often an offer is asked for before another is looked for.
const tries = 4

// Acquire asks until it has a lease or ctx is done.
func (c *Client) Acquire(ctx context.Context, t Transport) (Lease, error) {
	wait := c.first()
	for {
		if err := ctx.Err(); err != nil {
			return Lease{}, fmt.Errorf("ask for a DHCP lease: %w", err)
		}
		xid := rand.Uint32()
		offer, err := c.exchange(ctx, t, c.message(xid, Discover, nil), Offer, wait)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			wait = min(wait*2, c.last())
			continue
		}
		if err != nil {
			return Lease{}, fmt.Errorf("ask for a DHCP lease: %w", err)
		}
		lease, err := c.request(ctx, t, xid, offer)
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, ErrRefused) {
			wait = c.first()
			if errors.Is(err, ErrRefused) { // a server that always refuses must not keep us busy
				if err := pause(ctx, wait); err != nil {
					return Lease{}, err
				}
			}
			continue
		}
		return lease, err
	}
}

func (c *Client) request(ctx context.Context, t Transport, xid uint32, offer *message) (Lease, error) {
	m := c.message(xid, Request, map[byte][]byte{
		optAddress: offer.yours.AsSlice(),
		optServer:  offer.options[optServer],
	})
	wait := c.first()
	for range tries - 1 {
		ack, err := c.exchange(ctx, t, m, ACK, wait)
		if err == nil {
			return ack.lease()
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return Lease{}, err
		}
		wait = min(wait*2, c.last())
	}
	ack, err := c.exchange(ctx, t, m, ACK, wait)
	if err != nil {
		return Lease{}, err
	}
	return ack.lease()
}

// Renew asks once for more time, and waits until the deadline. It fails with ErrRefused when the address must be given
// up, and with os.ErrDeadlineExceeded when nobody answered.
func (c *Client) Renew(ctx context.Context, t Transport, lease Lease, wait time.Duration) (Lease, error) {
	m := c.message(rand.Uint32(), Request, nil)
	m.client, m.broadcast = lease.Address.Addr(), false
	ack, err := c.exchange(ctx, t, m, ACK, wait)
	if err != nil {
		return Lease{}, fmt.Errorf("renew the DHCP lease of %v: %w", lease.Address.Addr(), err)
	}
	return ack.lease()
}

func (c *Client) message(xid uint32, kind Kind, options map[byte][]byte) *message {
	m := &message{op: opRequest, xid: xid, broadcast: true, hardware: c.MAC, options: map[byte][]byte{
		optKind:   {byte(kind)},
		optClient: append([]byte{1}, c.MAC...),
		optParams: {optMask, optRouter, optDNS, optMTU, optLease, optT1, optT2},
	}}
	if c.HostName != "" && len(c.HostName) < 64 {
		m.options[optHost] = []byte(c.HostName)
	}
	for code, v := range options {
		m.options[code] = v
	}
	return m
}

// exchange sends one message and waits for its answer. Whatever is not its answer is passed over.
func (c *Client) exchange(ctx context.Context, t Transport, m *message, want Kind, wait time.Duration) (*message, error) {
	if err := t.Send(m.encode()); err != nil {
		return nil, fmt.Errorf("send DHCP message: %w", err)
	}
	deadline := time.Now().Add(wait)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// ctx has no way to interrupt Receive, so it is looked at four times a second.
		piece := time.Now().Add(250 * time.Millisecond)
		if piece.After(deadline) {
			piece = deadline
		}
		payload, err := t.Receive(piece)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if !time.Now().Before(deadline) {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("receive DHCP message: %w", err)
		}
		answer, err := decode(payload)
		if err != nil || answer.op != opReply || answer.xid != m.xid || string(answer.hardware) != string(c.MAC) {
			continue
		}
		if answer.kind() == NAK && want == ACK {
			return nil, ErrRefused
		}
		if answer.kind() != want {
			continue
		}
		if _, err := answer.lease(); err != nil {
			continue
		}
		return answer, nil
	}
}

func (c *Client) first() time.Duration {
	if c.First == 0 {
		return time.Second
	}
	return c.First
}

func (c *Client) last() time.Duration {
	if c.Last == 0 {
		return 16 * time.Second
	}
	return c.Last
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Packet puts a DHCP message into an IPv4 and UDP header, from a client that has no address yet to everybody.
func Packet(payload []byte) []byte {
	udp := 8 + len(payload)
	b := make([]byte, 28, 28+len(payload))
	b[0], b[8], b[9] = 0x45, 64, 17
	binary.BigEndian.PutUint16(b[2:], uint16(20+udp))
	copy(b[16:20], []byte{255, 255, 255, 255})
	binary.BigEndian.PutUint16(b[10:], ^sum(0, b[:20]))
	binary.BigEndian.PutUint16(b[20:], 68)
	binary.BigEndian.PutUint16(b[22:], 67)
	binary.BigEndian.PutUint16(b[24:], uint16(udp))
	b = append(b, payload...)
	pseudo := sum(0, b[12:20])
	pseudo = sum(uint32(pseudo)+17+uint32(udp), b[20:])
	check := ^pseudo
	if check == 0 {
		check = 0xffff
	}
	binary.BigEndian.PutUint16(b[26:], check)
	return b
}

// Payload takes the DHCP message out of an IPv4 packet, and returns nil when the packet is something else. Checksums
// are not looked at: a virtio NIC passes packets of the same host with checksums that were never filled in.
func Payload(packet []byte) []byte {
	if len(packet) < 28 || packet[0]>>4 != 4 || packet[9] != 17 {
		return nil
	}
	header := int(packet[0]&15) * 4
	total := int(binary.BigEndian.Uint16(packet[2:]))
	if header < 20 || total > len(packet) || total < header+8 {
		return nil
	}
	if binary.BigEndian.Uint16(packet[6:])&0x3fff != 0 { // a fragment
		return nil
	}
	udp := packet[header:total]
	size := int(binary.BigEndian.Uint16(udp[4:]))
	if binary.BigEndian.Uint16(udp) != 67 || binary.BigEndian.Uint16(udp[2:]) != 68 || size < 8 || size > len(udp) {
		return nil
	}
	return udp[8:size]
}

// sum adds up as the internet checksum does.
func sum(start uint32, b []byte) uint16 {
	s := start
	for ; len(b) >= 2; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}
