package spec

import (
	"fmt"
	"math"
	"time"
)

// DefaultLease is how long an address is lent where the document does not say; it is what libvirt's DHCP server uses.
const DefaultLease = time.Hour

// Duration returns how long an address is lent; 0 is for ever. A nil DHCPLease is DefaultLease.
func (l *DHCPLease) Duration() (time.Duration, error) {
	if l == nil {
		return DefaultLease, nil
	}
	unit := time.Minute
	switch l.Unit {
	case "", "minutes":
	case "seconds":
		unit = time.Second
	case "hours":
		unit = time.Hour
	default:
		return 0, fmt.Errorf("unit of lease %q is not known; use seconds, minutes or hours", l.Unit)
	}
	// DHCP counts seconds in 32 bits and means for ever by the largest number (RFC 2131).
	n, err := ParseDecimal(l.Expiry, (math.MaxUint32-1)/uint64(unit/time.Second))
	if err != nil {
		return 0, fmt.Errorf("expiry of lease: %w", err)
	}
	d := time.Duration(n) * unit
	if d != 0 && d < 2*time.Minute {
		return 0, fmt.Errorf("expiry of lease %s is too short; the least is two minutes", d)
	}
	return d, nil
}
