package learn

import (
	"fmt"
	"net/netip"
	"slices"

	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

// Mode is what a NIC's addresses are learned from: the value of CTRL_IP_LEARNING.
type Mode string

// The modes. Any is what libvirt takes when nothing is said.
const (
	Any  Mode = "any"
	DHCP Mode = "dhcp"
	None Mode = "none"
)

// ParseMode reads the value of CTRL_IP_LEARNING; the empty one is Any.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case "":
		return Any, nil
	case Any, DHCP, None:
		return m, nil
	}
	return "", fmt.Errorf("CTRL_IP_LEARNING=%q: the values are any, dhcp and none", s)
}

// Source is what told of an address.
type Source string

// The sources.
const (
	DHCP4 Source = "dhcp4"
	DHCP6 Source = "dhcp6"
	RA    Source = "ra" // a router's advertisement and the NIC's MAC
	ARP   Source = "arp"
	ND    Source = "nd"
)

// given reports whether an address comes from a server, and not from the guest itself.
func (s Source) given() bool { return s == DHCP4 || s == DHCP6 }

// allowed reports whether a mode believes a source.
func (m Mode) allowed(s Source) bool { return m == Any || m == DHCP && s.given() }

// Port is a NIC to learn the addresses of.
type Port struct {
	Name    string // of the link, as vnet3; there may be none yet
	Network string // of the bridge: within it an address belongs to one NIC
	MAC     packet.MAC
	Mode    Mode

	// Trusted are the servers that are believed, DHCP servers by the address that they send from and routers by their
	// link-local one. Empty: all. Otherwise one that is not there is not believed, of either family.
	Trusted []netip.Addr
	// Reserved are addresses that no guest of the network may have: its gateway's, the host's.
	Reserved []netip.Addr
	// Within are the prefixes that the guest may claim addresses of. Empty: any. What a server gives is not held against it.
	Within []netip.Prefix
	// Known is what was learned before; what has ended since is passed over.
	Known []Learned
}

func (p *Port) trusts(server netip.Addr) bool {
	return len(p.Trusted) == 0 || slices.Contains(p.Trusted, server.WithZone(""))
}

// named reports whether a server was named for the NIC, and so is above what others claim.
func (p *Port) named(server netip.Addr) bool { return len(p.Trusted) > 0 && p.trusts(server) }

// may returns why the NIC may not have an address that it is given or claims, or nil.
func (p *Port) may(a netip.Addr, by Source) error {
	switch {
	case !usable(a):
		return RefuseAddress
	case slices.Contains(p.Reserved, a):
		return RefuseReserved
	case by.given() || len(p.Within) == 0 || a.Is6() && a.IsLinkLocalUnicast():
		return nil
	case !slices.ContainsFunc(p.Within, func(w netip.Prefix) bool { return w.Contains(a) }):
		return RefuseOutside
	}
	return nil
}

// usable reports whether an address can be a station's on an Ethernet (RFC 6890): 0.0.0.0/8, 127.0.0.0/8, 224.0.0.0 and
// above, ::, ::1 and ff00::/8 cannot.
func usable(a netip.Addr) bool {
	if !a.IsValid() || a.Is4In6() || a.Zone() != "" || a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() {
		return false
	}
	if a.Is4() {
		first := a.As4()[0]
		return first != 0 && first < 240
	}
	return true
}

// The reasons beside packet's for which a frame taught nothing.
const (
	RefuseAddress  packet.Refusal = "no station's address" // a group's, the loopback's, …
	RefuseReserved packet.Refusal = "reserved address"     // the network keeps it for itself
	RefuseOutside  packet.Refusal = "outside the network"  // in none of the prefixes that the NIC may have
	RefuseHeld     packet.Refusal = "another NIC's address"
	RefuseMany     packet.Refusal = "too many addresses"
	RefuseServer   packet.Refusal = "server not trusted"
	RefuseMode     packet.Refusal = "not learned in this mode"
	RefusePort     packet.Refusal = "not watched"
)

// Address is an address that a NIC has.
type Address struct {
	Addr netip.Addr
	By   Source
	Ends int64 // in seconds of lease.Clock.Now; lease.Never
}

// Learned is an address of a NIC as a value to be stored, in the calendar's time with what is needed to tell when that lies.
type Learned struct {
	lease.Record

	By Source `json:"by"`
}

// store returns what is kept of an address of a NIC.
func store(c lease.Clock, mac packet.MAC, a Address) Learned {
	return Learned{c.Stored(lease.Lease{IP: a.Addr, MAC: mac, Ends: a.Ends}), a.By}
}

// load returns what a stored address of a NIC is now; false when it has ended, or is another card's.
func (l Learned) load(c lease.Clock, mac packet.MAC) (Address, bool) {
	given := c.Lease(l.Record)
	return Address{given.IP, l.By, given.Ends}, given.MAC == mac && given.Live(c.Now())
}

// Change is what a NIC's addresses have become.
type Change struct {
	Port      string
	Addresses []netip.Addr // all that it has, in order
	State     []Learned    // the same, to be stored
	Renewed   bool         // they are what they were; only how long they hold has changed
}
