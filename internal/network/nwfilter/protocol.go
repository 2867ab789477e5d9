package nwfilter

import "strings"

// Protocol is what a rule is about, by the name of its element: "mac", "ip", "tcp", "tcp-ipv6"… It is empty for a rule
// without an element, which is about every frame.
type Protocol string

// Layer is one of a Program's two.
type Layer uint8

// The layers.
const (
	FrameLayer Layer = iota
	PacketLayer
)

// Layer returns the layer that rules of this protocol belong to.
func (p Protocol) Layer() Layer {
	switch p {
	case "", "mac", "vlan", "stp", "arp", "rarp", "ip", "ipv6":
		return FrameLayer
	}
	return PacketLayer
}

// EtherType returns the type that a frame must have; without ok there is none.
func (p Protocol) EtherType() (t uint16, ok bool) {
	switch p {
	case "", "mac", "stp":
		return 0, false
	case "vlan":
		return 0x8100, true
	case "arp":
		return 0x0806, true
	case "rarp":
		return 0x8035, true
	}
	if p.IPv6() {
		return 0x86dd, true
	}
	return 0x0800, true
}

// EtherDst returns the address that a frame must go to: for stp, 01:80:c2:00:00:00 (IEEE 802.1D 7.12.3).
func (p Protocol) EtherDst() (mac [6]byte, ok bool) {
	if p == "stp" {
		return [6]byte{0x01, 0x80, 0xc2}, true
	}
	return mac, false
}

// IPv6 reports whether packets are of IPv6.
func (p Protocol) IPv6() bool {
	return p == "ipv6" || p == "icmpv6" || strings.HasSuffix(string(p), "-ipv6")
}

// Number returns the protocol number (IANA) that a packet must have; without ok there is none.
func (p Protocol) Number() (n uint8, ok bool) {
	if p == "icmpv6" {
		return 58, true
	}
	if p.Layer() == FrameLayer {
		return 0, false
	}
	n, ok = protocolNumber(strings.TrimSuffix(string(p), "-ipv6"))
	return n, ok
}

func protocolNumber(name string) (uint8, bool) {
	switch name {
	case "icmp":
		return 1, true
	case "igmp":
		return 2, true
	case "tcp":
		return 6, true
	case "udp":
		return 17, true
	case "esp":
		return 50, true
	case "ah":
		return 51, true
	case "icmpv6":
		return 58, true
	case "sctp":
		return 132, true
	case "udplite":
		return 136, true
	}
	return 0, false
}

// chainProtocol returns what enters a chain of this name, by its prefix, and the chain's priority where none is given
// (libvirt, formatnwfilter.html, "Filtering chain priorities").
func chainProtocol(name string) (Protocol, int) {
	switch {
	case strings.HasPrefix(name, "mac"):
		return "mac", -800
	case strings.HasPrefix(name, "vlan"):
		return "vlan", -750
	case strings.HasPrefix(name, "stp"):
		return "stp", -810
	case strings.HasPrefix(name, "arp"):
		return "arp", -500
	case strings.HasPrefix(name, "rarp"):
		return "rarp", -400
	case strings.HasPrefix(name, "ipv4"):
		return "ip", -700
	case strings.HasPrefix(name, "ipv6"):
		return "ipv6", -600
	}
	return "", 0
}
