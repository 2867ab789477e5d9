package packet

import (
	"net"
	"net/netip"
)

// MAC is an Ethernet address, comparable.
type MAC [6]byte

// Broadcast is everybody on a link.
func Broadcast() MAC { return MAC{255, 255, 255, 255, 255, 255} }

// ParseMAC reads the form with colons.
func ParseMAC(s string) (MAC, bool) {
	var m MAC
	err := m.UnmarshalText([]byte(s))
	return m, err == nil
}

// String returns the form with colons.
func (m MAC) String() string { return net.HardwareAddr(m[:]).String() }

// MarshalText implements encoding.TextMarshaler.
func (m MAC) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *MAC) UnmarshalText(b []byte) error {
	a, err := net.ParseMAC(string(b))
	if err != nil || len(a) != len(m) {
		return &net.AddrError{Err: "not an Ethernet address", Addr: string(b)}
	}
	copy(m[:], a)
	return nil
}

// IsGroup reports whether the address names several stations: nobody sends from one.
func (m MAC) IsGroup() bool { return m[0]&1 != 0 }

// LinkLocal returns the IPv6 address that an interface with the MAC gives itself (RFC 4291, appendix A).
func (m MAC) LinkLocal() netip.Addr {
	return netip.AddrFrom16([16]byte{
		0: 0xfe, 1: 0x80, 8: m[0] ^ 2, 9: m[1], 10: m[2], 11: 0xff, 12: 0xfe, 13: m[3], 14: m[4], 15: m[5],
	})
}

// Multicast returns where frames to an IPv6 multicast address go (RFC 2464, 7).
func Multicast(a netip.Addr) MAC {
	b := a.As16()
	return MAC{0x33, 0x33, b[12], b[13], b[14], b[15]}
}
