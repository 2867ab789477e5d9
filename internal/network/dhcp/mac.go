package dhcp

import (
	"net"
)

// MAC is an Ethernet address, comparable.
type MAC [6]byte

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

// group reports whether the address names several stations: nobody sends from one.
func (m MAC) group() bool { return m[0]&1 != 0 }

func parseMAC(s string) (MAC, bool) {
	var m MAC
	err := m.UnmarshalText([]byte(s))
	return m, err == nil
}
