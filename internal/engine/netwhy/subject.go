package netwhy

import (
	"net/netip"
	"os"
	"sync/atomic"

	"taproom/internal/host"
	"taproom/internal/host/nft"
	"taproom/internal/network/packet"
	"taproom/internal/network/why"
)

// Subject is who wants to send.
type Subject struct {
	Object  string // as people are told: "network 'default'"
	Label   string // the comment of repairs
	Network string // "" for a bridge that is none of ours
	Mode    string // nat, route, open or isolated
	Subnets []netip.Prefix
	Serves  bool
	Bridge  string
	Guest   *Guest // nil asks about the network
}

// Guest is a NIC of a guest that runs.
type Guest struct {
	Tap    string
	MAC    packet.MAC
	Leased []netip.Addr
	QEMU   *host.PIDFD // which has the tap open
}

// Looker looks.
type Looker struct {
	Kernel *host.Kernel
	NFT    *nft.Conn // nil where the kernel has no nf_tables
	Table  string    // of our own rules
	Name   string    // of the tap and the table that a probe has for a moment: at most 15 bytes, and nobody else's

	probes atomic.Uint32
}

// firstPort begins the ports that nobody registers (RFC 6335). Each probe has another: of a connection that it knows the
// kernel does not ask again how to translate it.
const firstPort = 49152

// port is that of the next probe. Processes begin at different ones.
func (l *Looker) port() uint16 {
	n := l.probes.Add(1) + uint32(os.Getpid())*101
	return firstPort + uint16(n%(1<<16-firstPort))
}

// To is where the probe should go. Without an address it is one outside that nobody has (RFC 5737, RFC 3849).
type To struct {
	Addr netip.Addr
	Port uint16 // 0 is an echo
	// Forwards are ports of the host, of TCP, that lead to guests.
	Forwards []why.Forward
}

// nobody is an address outside that leads nowhere: routers drop it, and no machine is disturbed.
func nobody(v6 bool) To {
	if v6 {
		return To{Addr: netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 1}), Port: 443}
	}
	return To{Addr: netip.AddrFrom4([4]byte{192, 0, 2, 1}), Port: 443}
}
