package ra

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"taproom/internal/network/packet"
)

// Infinite is the lifetime of what does not end.
const Infinite = 0xffffffff

// What a zero in a Config stands for.
const (
	DefaultInterval  = 600   // seconds; RFC 4861, 6.2.1
	DefaultValid     = 86400 // a guest that was suspended over night still has its address
	DefaultPreferred = 14400
)

// Preference is how much guests like this router beside others (RFC 4191, 2.1).
type Preference int8

// The preferences.
const (
	Low    Preference = -1
	Medium Preference = 0
	High   Preference = 1
)

// String returns "low", "medium" or "high".
func (p Preference) String() string {
	switch p {
	case Low:
		return "low"
	case High:
		return "high"
	}
	return "medium"
}

// MarshalText implements encoding.TextMarshaler.
func (p Preference) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Preference) UnmarshalText(b []byte) error {
	for _, known := range []Preference{Low, Medium, High} {
		if string(b) == known.String() {
			*p = known
			return nil
		}
	}
	return fmt.Errorf("%q is no preference of a router; use low, medium or high", b)
}

// Prefix is a range of addresses on the network.
type Prefix struct {
	Prefix           netip.Prefix `json:"prefix"`
	OnLink           bool         `json:"on_link,omitempty"`    // neighbours with it are reached without the router
	Autonomous       bool         `json:"autonomous,omitempty"` // guests make themselves an address with it
	ValidSeconds     uint32       `json:"valid_seconds,omitempty"`
	PreferredSeconds uint32       `json:"preferred_seconds,omitempty"`
}

// Config is what a network announces. The zero value announces nothing.
type Config struct {
	Prefixes      []Prefix     `json:"prefixes,omitempty"`
	Managed       bool         `json:"managed,omitempty"`        // addresses come from DHCPv6
	Other         bool         `json:"other,omitempty"`          // so do resolvers and the like
	RouterSeconds uint16       `json:"router_seconds,omitempty"` // how long we are a default router; zero: we are none
	Preference    Preference   `json:"preference,omitempty"`
	MTU           uint32       `json:"mtu,omitempty"`
	RDNSS         []netip.Addr `json:"rdnss,omitempty"`
	RDNSSSeconds  uint32       `json:"rdnss_seconds,omitempty"` // of resolvers and search domains; zero: three intervals
	Search        []string     `json:"search,omitempty"`
	Interval      uint16       `json:"interval,omitempty"` // seconds, the longest time between two advertisements
}

// FieldError says which part of a Config cannot be.
type FieldError struct{ Field, Reason string }

func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

// Off reports whether there is nothing to announce.
func (c Config) Off() bool {
	return len(c.Prefixes) == 0 && !c.Managed && !c.Other && c.RouterSeconds == 0 && c.MTU == 0 && len(c.RDNSS) == 0 && len(c.Search) == 0
}

// Validate returns a *FieldError for what would mislead guests, or what they ignore.
func (c Config) Validate() error {
	interval := c.interval()
	if interval < 4 { // RFC 4861, 6.2.1
		return &FieldError{"interval", fmt.Sprintf("%d seconds; at least 4", interval)}
	}
	for i, p := range c.Prefixes {
		if reason := c.prefixReason(i, p); reason != "" {
			return &FieldError{Field: fmt.Sprintf("prefixes[%d]", i), Reason: reason}
		}
	}
	for i, a := range c.RDNSS {
		if !a.Is6() || a.Is4In6() || a.Zone() != "" || a.IsMulticast() || a.IsUnspecified() {
			return &FieldError{Field: fmt.Sprintf("rdnss[%d]", i), Reason: fmt.Sprintf("%s is not the IPv6 address of a resolver", a)}
		}
	}
	for i, name := range c.Search {
		if _, err := appendName(nil, name); err != nil {
			return &FieldError{Field: fmt.Sprintf("search[%d]", i), Reason: err.Error()}
		}
	}
	switch {
	case c.RouterSeconds != 0 && c.RouterSeconds < interval:
		return &FieldError{"router_seconds", fmt.Sprintf("%d seconds: the route would end before the next advertisement; at least the interval of %d seconds", c.RouterSeconds, interval)}
	case c.RDNSSSeconds != 0 && c.RDNSSSeconds < uint32(interval): // RFC 8106, 5.1
		return &FieldError{"rdnss_seconds", fmt.Sprintf("%d seconds: resolvers would end before the next advertisement; at least the interval of %d seconds", c.RDNSSSeconds, interval)}
	case c.MTU != 0 && (c.MTU < minMTU || c.MTU > 65535):
		return &FieldError{"mtu", fmt.Sprintf("%d bytes; IPv6 needs 1280 to 65535", c.MTU)}
	case c.Preference < Low || c.Preference > High:
		return &FieldError{"preference", fmt.Sprintf("%d is none; low, medium or high", c.Preference)}
	}
	if n := c.message().size(); n > minMTU {
		return &FieldError{"prefixes, rdnss, search", fmt.Sprintf("an advertisement of all takes %d bytes and may have %d; leave some out", n, minMTU)}
	}
	return nil
}

func (c Config) prefixReason(i int, p Prefix) string {
	a := p.Prefix.Addr()
	valid, preferred := c.lifetimes(p)
	switch {
	case !p.Prefix.IsValid() || !a.Is6() || a.Is4In6():
		return fmt.Sprintf("%s is not an IPv6 prefix", p.Prefix)
	case p.Prefix.Masked() != p.Prefix:
		return fmt.Sprintf("%s has bits behind its length; write %s", p.Prefix, p.Prefix.Masked())
	case a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsLoopback() || a.IsUnspecified(): // hosts ignore these (RFC 4861, 6.3.4)
		return fmt.Sprintf("%s is not for hosts", p.Prefix)
	case p.Autonomous && p.Prefix.Bits() != 64: // the length of Ethernet's interface identifiers (RFC 2464, 4)
		return fmt.Sprintf("guests make themselves addresses in a /64 alone, and this is a /%d; use DHCPv6", p.Prefix.Bits())
	case preferred < uint32(c.interval()):
		return fmt.Sprintf("preferred for %d seconds: addresses would be left before the next advertisement; at least the interval of %d seconds", preferred, c.interval())
	case preferred > valid:
		return fmt.Sprintf("preferred for %d seconds and valid for %d only", preferred, valid)
	case slices.ContainsFunc(c.Prefixes[:i], func(o Prefix) bool { return o.Prefix == p.Prefix }):
		return fmt.Sprintf("%s is there twice", p.Prefix)
	}
	return ""
}

func (c Config) interval() uint16 {
	if c.Interval == 0 {
		return DefaultInterval
	}
	return c.Interval
}

// dnsSeconds is the lifetime of resolvers: three intervals outlive two lost advertisements (RFC 8106, 5.1).
func (c Config) dnsSeconds() uint32 {
	if c.RDNSSSeconds == 0 {
		return 3 * uint32(c.interval())
	}
	return c.RDNSSSeconds
}

// lifetimes returns a prefix's valid and preferred seconds. Where one is given, the other follows it; none ends before
// three intervals unless that was asked for.
func (c Config) lifetimes(p Prefix) (valid, preferred uint32) {
	valid, preferred = p.ValidSeconds, p.PreferredSeconds
	least := 3 * uint32(c.interval())
	if valid == 0 {
		valid = max(DefaultValid, preferred, least)
	}
	if preferred == 0 {
		preferred = min(max(DefaultPreferred, least), valid)
	}
	return valid, preferred
}

// message returns the configuration as it goes on the wire, without addresses.
func (c Config) message() *Advertisement {
	a := &Advertisement{
		Hops: hops, Managed: c.Managed, Other: c.Other, RouterSeconds: c.RouterSeconds, MTU: c.MTU,
	}
	if c.RouterSeconds != 0 { // without a route there is nothing to prefer (RFC 4191, 2.2)
		a.Preference = c.Preference
	}
	for _, p := range c.Prefixes {
		p.ValidSeconds, p.PreferredSeconds = c.lifetimes(p)
		a.Prefixes = append(a.Prefixes, p)
	}
	if len(c.RDNSS) > 0 {
		a.RDNSS = []RDNSS{{Seconds: c.dnsSeconds(), Servers: slices.Clone(c.RDNSS)}}
	}
	if len(c.Search) > 0 {
		a.Search = []Search{{Seconds: c.dnsSeconds(), Domains: normal(c.Search)}}
	}
	return a
}

// normal returns names as they come back from the wire.
func normal(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.TrimSuffix(n, ".")
	}
	return out
}

// Advertisement returns a whole frame for one who asked, or for everybody where to is nil or has no address yet. source is
// the bridge's link-local address: hosts ignore any other (RFC 4861, 6.1.2). The final one ends the route and the
// resolvers at once and has guests stop using their addresses for what is new (RFC 4861, 6.2.5).
func (c Config) Advertisement(from packet.MAC, source netip.Addr, to *Solicitation, final bool) []byte {
	a := c.message()
	if final {
		a.end()
	}
	return a.addressed(from, source, to).Frame()
}
