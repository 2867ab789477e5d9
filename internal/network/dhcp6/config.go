package dhcp6

import (
	"fmt"
	"net/netip"
)

const (
	// DefaultLease is what a network without a lease time gets, in seconds: dnsmasq's hour, which libvirt's users know.
	DefaultLease = 3600
	// Forever is a lease that does not end (RFC 8415, 7.7).
	Forever = 0xffffffff
)

// Config is what is served on one link. Its zero value serves nobody.
type Config struct {
	DUID     []byte         `json:"duid"`              // the server's
	Prefixes []netip.Prefix `json:"prefixes"`          // on the link
	Ranges   []Range        `json:"ranges,omitempty"`  // none: only what Hosts fixes, and options
	Hosts    []Host         `json:"hosts,omitempty"`   // at most one for a client and for an address
	Exclude  []netip.Addr   `json:"exclude,omitempty"` // in use by others, as the bridge's own; so are DNS and NTP

	LeaseSeconds  uint32       `json:"lease_seconds,omitempty"` // zero is DefaultLease
	DNS           []netip.Addr `json:"dns,omitempty"`
	Search        []string     `json:"search,omitempty"` // the first is what names of clients are completed with
	NTP           []netip.Addr `json:"ntp,omitempty"`
	BootURL       []Boot       `json:"boot_url,omitempty"`
	Options       []Option     `json:"options,omitempty"`
	Rapid         bool         `json:"rapid,omitempty"`         // two messages instead of four, for clients that ask for it
	Authoritative bool         `json:"authoritative,omitempty"` // no other server is on the link
}

// Range is a span of addresses for everybody, both ends included, of 2^64 addresses at most.
type Range struct {
	Start        netip.Addr `json:"start"`
	End          netip.Addr `json:"end"`
	LeaseSeconds uint32     `json:"lease_seconds,omitempty"` // zero is the network's
}

// Host is one client with a fixed address or a fixed name. The first of DUID, MAC and Name that is set tells who it is: a
// name alone is matched against the name the client sends. DUIDs and names are what clients claim; only the MAC is checked
// by anybody, where a filter binds NICs to theirs.
type Host struct {
	DUID         string     `json:"duid,omitempty"` // 00:03:00:01:52:54:00:12:34:56; zeros in front of a byte may be missing
	MAC          string     `json:"mac,omitempty"`
	Name         string     `json:"name,omitempty"`
	IP           netip.Addr `json:"ip,omitzero"` // zero: from a range, only the name is fixed
	LeaseSeconds uint32     `json:"lease_seconds,omitempty"`
}

// Boot is what a client loads from the network.
type Boot struct {
	Arch []uint16 `json:"arch,omitempty"` // of clients (RFC 4578, 2.1: 7 and 9 UEFI on x86-64, 11 on ARM); none: of all others
	URL  string   `json:"url"`
}

// Option is any other option, sent to those that ask for it or ask for nothing in particular. It takes the place of one
// that the server would make up itself.
type Option struct {
	Code  uint16 `json:"code"`
	Value []byte `json:"value"`
}

// FieldError says what in a configuration cannot be served.
type FieldError struct {
	Field  string
	Reason string
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

// usable reports whether a client may have an address at all.
func (c *Config) usable(a netip.Addr) bool {
	return c.onLink(a) && !c.anycast(a)
}

// onLink reports whether an address belongs to the link.
func (c *Config) onLink(a netip.Addr) bool {
	for _, p := range c.Prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// anycast reports whether an address means no client: the routers of a subnet (RFC 4291, 2.6.1), or one of the 128 that are
// reserved in each subnet with interface identifiers (RFC 2526).
func (c *Config) anycast(a netip.Addr) bool {
	for _, p := range c.Prefixes {
		if !p.Contains(a) {
			continue
		}
		if p.Bits() < 127 && a == p.Masked().Addr() {
			return true
		}
		if _, low := halves(a); p.Bits() == 64 && low >= reservedFirst && low <= reservedLast {
			return true
		}
	}
	return false
}

// The interface identifiers of RFC 2526, 2.
const (
	reservedFirst = 0xfdff_ffff_ffff_ff80
	reservedLast  = 0xfdff_ffff_ffff_ffff
)

// lease returns the lease time of a range, a host or, for zero, of the network.
func (c *Config) lease(own uint32) uint32 {
	switch {
	case own != 0:
		return own
	case c.LeaseSeconds != 0:
		return c.LeaseSeconds
	}
	return DefaultLease
}

func bad(field, format string, a ...any) error {
	return &FieldError{field, fmt.Sprintf(format, a...)}
}

func at(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }
