package dns

import (
	"net/netip"
	"strconv"
)

const (
	arpa4 = "\x07in-addr\x04arpa\x00"
	arpa6 = "\x03ip6\x04arpa\x00"
)

// nobodys are domains that nobody upstream can answer for, or must not: RFC 6761, RFC 7686 (onion), RFC 9462
// (resolver.arpa, with which a resolver would send guests past this one).
var nobodys = [...]string{"\x09localhost\x00", "\x07invalid\x00", "\x05onion\x00", "\x08resolver\x04arpa\x00"}

// reverseName is what a name below in-addr.arpa or ip6.arpa means: all addresses of a prefix, or one.
func reverseName(name []byte) (netip.Prefix, bool) {
	switch {
	case inside(name, arpa4):
		return reverse4(name[:len(name)-len(arpa4)])
	case inside(name, arpa6):
		return reverse6(name[:len(name)-len(arpa6)])
	}
	return netip.Prefix{}, false
}

func reverse4(labels []byte) (netip.Prefix, bool) {
	var octets []byte
	for len(labels) > 0 {
		label := labels[1 : 1+int(labels[0])]
		n, err := strconv.ParseUint(string(label), 10, 8)
		if err != nil || len(label) > 1 && label[0] == '0' || len(octets) == 4 {
			return netip.Prefix{}, false
		}
		octets = append(octets, byte(n))
		labels = labels[1+len(label):]
	}
	var a [4]byte
	for i, o := range octets {
		a[len(octets)-1-i] = o
	}
	return netip.PrefixFrom(netip.AddrFrom4(a), 8*len(octets)), true
}

func reverse6(labels []byte) (netip.Prefix, bool) {
	n := len(labels) / 2
	if len(labels)%2 != 0 || n > 32 {
		return netip.Prefix{}, false
	}
	var a [16]byte
	for i := range n {
		if labels[2*i] != 1 {
			return netip.Prefix{}, false
		}
		var nibble byte
		switch c := labels[2*i+1]; {
		case '0' <= c && c <= '9':
			nibble = c - '0'
		case 'a' <= c && c <= 'f':
			nibble = c - 'a' + 10
		default:
			return netip.Prefix{}, false
		}
		at := n - 1 - i
		a[at/2] |= nibble << (4 * (1 - at%2))
	}
	return netip.PrefixFrom(netip.AddrFrom16(a), 4*n), true
}

// apex returns the zone that the reverse of a prefix belongs to when those of its addresses that have bits in common
// are answered here: the shortest name at or below them (RFC 2317 describes why a longer one cannot be).
func apex(name []byte, p netip.Prefix, bits int) []byte {
	step := 8
	if p.Addr().Is6() {
		step = 4
	}
	for cut := p.Bits() - (bits+step-1)/step*step; cut > 0; cut -= step {
		name = parent(name)
	}
	return name
}

// unknowable are addresses whose reverse no server anywhere can tell (RFC 6303 sections 4.2 to 4.6).
var unknowable = [...]netip.Prefix{
	prefix4(0, 0, 0, 0, 8), prefix4(127, 0, 0, 0, 8), prefix4(169, 254, 0, 0, 16), prefix4(192, 0, 2, 0, 24),
	prefix4(198, 51, 100, 0, 24), prefix4(203, 0, 113, 0, 24), prefix4(255, 255, 255, 255, 32),
	netip.PrefixFrom(netip.IPv6Unspecified(), 128), netip.PrefixFrom(netip.IPv6Loopback(), 128),
	prefix6(0xfe, 0x80, 0, 0, 10), prefix6(0x20, 0x01, 0x0d, 0xb8, 32),
}

// private are addresses whose reverse only a server of the same site can tell (RFC 6303 sections 4.1 and 4.4; RFC 7793).
var private = [...]netip.Prefix{
	prefix4(10, 0, 0, 0, 8), prefix4(172, 16, 0, 0, 12), prefix4(192, 168, 0, 0, 16), prefix4(100, 64, 0, 0, 10),
	prefix6(0xfc, 0, 0, 0, 7),
}

func prefix4(a, b, c, d byte, bits int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{a, b, c, d}), bits)
}

func prefix6(a, b, c, d byte, bits int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom16([16]byte{a, b, c, d}), bits)
}

// covering returns the prefix in a list that holds all of p.
func covering(list []netip.Prefix, p netip.Prefix) (netip.Prefix, bool) {
	for _, in := range list {
		if in.Bits() <= p.Bits() && in.Contains(p.Addr()) {
			return in, true
		}
	}
	return netip.Prefix{}, false
}

// near reports whether who has the address may know the site's private addresses.
func near(a netip.Addr) bool {
	if a.IsLoopback() || a.IsLinkLocalUnicast() {
		return true
	}
	_, ok := covering(private[:], netip.PrefixFrom(a, a.BitLen()))
	return ok
}
