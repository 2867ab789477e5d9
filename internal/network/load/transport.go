package load

import (
	"fmt"
	"net/netip"
)

// Transport is a way to send.
type Transport struct {
	Streams int  // of TCP; 0 is UDP, in full frames
	Six     bool // over IPv6
}

// Transports are all that a limit is held against.
func Transports() []Transport {
	return []Transport{{1, false}, {4, false}, {0, false}, {1, true}, {4, true}, {0, true}}
}

// String is "tcp", "tcp4" (four streams) or "udp", and "/ipv6".
func (t Transport) String() string {
	name := "udp"
	switch {
	case t.Streams == 1:
		name = "tcp"
	case t.Streams > 1:
		name = fmt.Sprint("tcp", t.Streams)
	}
	if t.Six {
		name += "/ipv6"
	}
	return name
}

// Of a frame: what is around a packet, and TCP's headers in it, its timestamps among them.
const (
	ethernet    = 14
	tcpHeaders4 = 20 + 20 + 12
	tcpHeaders6 = 40 + 20 + 12
)

// Share is how much payload passes, as a multiple of what passes by TCP over IPv4, which is what a limit is a limit of.
// Frames are full, of an MTU in bytes.
func (t Transport) Share(mtu int) float64 {
	payload := mtu - tcpHeaders4
	switch {
	case t.Streams > 0 && t.Six:
		payload = mtu - tcpHeaders6
	case t.Streams == 0:
		payload = t.Datagram(mtu)
	}
	return float64(payload) / float64(mtu-tcpHeaders4)
}

// Tolerance is by how much of its share a transport's rate may be wrong.
func (t Transport) Tolerance() float64 {
	if t.Streams == 0 {
		return 0.02
	}
	return 0.01
}

// Datagram is the largest payload of UDP in one frame, in bytes.
func (t Transport) Datagram(mtu int) int {
	if t.Six {
		return mtu - udpOver6
	}
	return mtu - udpOver4
}

// Pick is the address of a pair that the transport is for.
func (t Transport) Pick(pair [2]netip.Addr) netip.Addr {
	if t.Six {
		return pair[1]
	}
	return pair[0]
}

// Offered is how much UDP is sent for a rate to pass, in the same unit: a third more.
func Offered(rate float64) float64 { return 1.3 * rate }
