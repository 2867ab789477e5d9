// Package packettest lets tests put whole Ethernet frames on a link and take them off it.
package packettest

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host/hosttest"
)

// Port is a packet socket on a link.
type Port struct {
	t     testing.TB
	fd    int
	index int
}

// Open opens a port on a link of a namespace; it is closed with the test. Every frame that arrives from now on is kept.
func Open(t testing.TB, ns *hosttest.NS, link string) *Port {
	t.Helper()
	l, err := ns.Kernel().LinkByName(link)
	if err != nil {
		t.Fatal(err)
	}
	p := &Port{t: t, index: l.Index}
	ns.Do(func() { p.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0) })
	if err != nil {
		t.Fatalf("packet socket on %s: %v", link, err)
	}
	t.Cleanup(func() { unix.Close(p.fd) })
	all := uint16(unix.ETH_P_ALL)
	if err := unix.Bind(p.fd, &unix.SockaddrLinklayer{Protocol: all<<8 | all>>8, Ifindex: p.index}); err != nil {
		t.Fatalf("bind a packet socket to %s: %v", link, err)
	}
	return p
}

// Send puts a frame on the link.
func (p *Port) Send(frame []byte) {
	p.t.Helper()
	if err := unix.Sendto(p.fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: p.index}); err != nil {
		p.t.Fatalf("send a frame of %d bytes: %v", len(frame), err)
	}
}

// Await returns the first frame from the other end of the link that match accepts; the test fails when none comes.
func (p *Port) Await(match func(frame []byte) bool) []byte {
	p.t.Helper()
	const patience = 60 * time.Second
	end := time.Now().Add(patience)
	buffer := make([]byte, 1<<16)
	for {
		wait := time.Until(end)
		if wait <= 0 {
			p.t.Fatalf("no such frame within %s", patience)
		}
		ready := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, int(wait.Milliseconds())+1); err != nil && !errors.Is(err, unix.EINTR) {
			p.t.Fatalf("wait for a frame: %v", err)
		}
		n, from, err := unix.Recvfrom(p.fd, buffer, 0)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			p.t.Fatalf("receive a frame: %v", err)
		}
		if l, ok := from.(*unix.SockaddrLinklayer); ok && l.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		if match(buffer[:n]) {
			return append([]byte(nil), buffer[:n]...)
		}
	}
}
