package spec

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
)

// UUID identifies a domain or a network, in the byte order of its text form (RFC 9562).
type UUID [16]byte

// NewUUID returns a random version 4 UUID.
func NewUUID() UUID {
	var u UUID
	_, _ = rand.Read(u[:]) // never fails (crypto/rand documentation, Go 1.24)
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return u
}

// ParseUUID reads 32 hexadecimal digits; hyphens and surrounding space are ignored, as libvirt does (virUUIDParse).
func ParseUUID(s string) (UUID, error) {
	var u UUID
	digits := strings.ReplaceAll(strings.TrimSpace(s), "-", "")
	if len(digits) != 2*len(u) {
		return u, fmt.Errorf("malformed UUID %q: want 32 hexadecimal digits", s)
	}
	if _, err := hex.Decode(u[:], []byte(digits)); err != nil {
		return u, fmt.Errorf("malformed UUID %q: want 32 hexadecimal digits", s)
	}
	return u, nil
}

// String returns the form with hyphens.
func (u UUID) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// IsZero reports whether the document named no UUID.
func (u UUID) IsZero() bool { return u == UUID{} }

// MarshalText implements encoding.TextMarshaler.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (u *UUID) UnmarshalText(b []byte) error {
	v, err := ParseUUID(string(b))
	if err != nil {
		return err
	}
	*u = v
	return nil
}
