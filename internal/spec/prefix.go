package spec

import (
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
)

// Subnet returns the address with its length, which is written as prefix or as netmask. Without either it follows from
// the class of an IPv4 address, and is 64 for IPv6, as in libvirt (virSocketAddrGetIPPrefix).
func (i *IP) Subnet() (netip.Prefix, error) {
	addr, err := parseAddr(i.Address)
	if err != nil {
		return netip.Prefix{}, err
	}
	length, err := i.length(addr)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(addr, length), nil
}

func (i *IP) length(addr netip.Addr) (int, error) {
	switch {
	case i.Prefix != "" && i.Netmask != "":
		return 0, errors.New("prefix and netmask are both given; give one")
	case i.Prefix != "":
		n, err := ParseDecimal(i.Prefix, uint64(addr.BitLen()))
		if err != nil {
			return 0, fmt.Errorf("prefix: %w", err)
		}
		return int(n), nil
	case i.Netmask != "":
		return netmaskLength(i.Netmask, addr)
	case addr.Is6():
		return 64, nil
	}
	switch first := addr.As4()[0]; {
	case first < 128:
		return 8, nil
	case first < 192:
		return 16, nil
	default:
		return 24, nil
	}
}

// netmaskLength turns 255.255.255.0 into 24. IPv6 has no netmasks in libvirt's documents.
func netmaskLength(mask string, addr netip.Addr) (int, error) {
	m, err := parseAddr(mask)
	if err != nil || !m.Is4() || !addr.Is4() {
		return 0, fmt.Errorf("malformed netmask %q for address %s", mask, addr)
	}
	b := m.As4()
	v := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	n := bits.LeadingZeros32(^v)
	if n < 32 && v<<n != 0 {
		return 0, fmt.Errorf("netmask %s has a hole", mask)
	}
	return n, nil
}

func parseAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" || a.Is4In6() {
		return netip.Addr{}, fmt.Errorf("malformed address %q", s)
	}
	return a, nil
}

// Addrs returns the first and the last address of the span; both must be of one family and in order.
func (s *AddressSpan) Addrs() (first, last netip.Addr, err error) { return span(s.Start, s.End) }

// Addrs returns the first and the last address handed out.
func (r *DHCPRange) Addrs() (first, last netip.Addr, err error) { return span(r.Start, r.End) }

func span(start, end string) (first, last netip.Addr, err error) {
	if first, err = parseAddr(start); err != nil {
		return first, last, err
	}
	if last, err = parseAddr(end); err != nil {
		return first, last, err
	}
	if first.Is4() != last.Is4() {
		return first, last, fmt.Errorf("%s and %s are of different families", start, end)
	}
	if last.Less(first) {
		return first, last, fmt.Errorf("start %s is after end %s", start, end)
	}
	return first, last, nil
}

// Ports returns the first and the last port of the span.
func (s *AddressSpan) Ports() (first, last uint16, err error) {
	a, err := ParseDecimal(s.Start, 65535)
	if err != nil {
		return 0, 0, fmt.Errorf("port: %w", err)
	}
	b, err := ParseDecimal(s.End, 65535)
	if err != nil {
		return 0, 0, fmt.Errorf("port: %w", err)
	}
	if b < a {
		return 0, 0, fmt.Errorf("start %s is after end %s", s.Start, s.End)
	}
	return uint16(a), uint16(b), nil
}
