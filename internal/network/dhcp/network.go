package dhcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"taproom/internal/spec"
)

const (
	// DefaultLease is what a network without a lease time gets, in seconds: dnsmasq's hour, which libvirt's users know.
	DefaultLease = 3600
	// Forever is a lease that does not end (RFC 2131, 3.3).
	Forever = 0xffffffff
)

// Network is what is served on one bridge: plain data that compares by its JSON form.
type Network struct {
	UUID   spec.UUID    `json:"uuid"`
	Bridge string       `json:"bridge"`
	Server netip.Addr   `json:"server"` // our address on the bridge, the server identifier
	Prefix netip.Prefix `json:"prefix"` // the subnet around it

	Ranges []Range `json:"ranges,omitempty"`
	Hosts  []Host  `json:"hosts,omitempty"`

	LeaseSeconds  uint32       `json:"lease_seconds,omitempty"` // zero is DefaultLease
	Domain        string       `json:"domain,omitempty"`
	Gateway       netip.Addr   `json:"gateway,omitzero"` // zero: no default route, as in an isolated network
	DNS           []netip.Addr `json:"dns,omitempty"`
	MTU           uint16       `json:"mtu,omitempty"` // zero: not told
	NextServer    netip.Addr   `json:"next_server,omitzero"`
	BootFile      string       `json:"boot_file,omitempty"`
	Authoritative bool         `json:"authoritative,omitempty"` // says no to addresses of other networks instead of staying silent
}

// Range is a span of addresses for everybody, both ends included.
type Range struct {
	Start        netip.Addr `json:"start"`
	End          netip.Addr `json:"end"`
	LeaseSeconds uint32     `json:"lease_seconds,omitempty"` // zero is the network's
}

// Host is one client with a fixed address or a fixed name. The first of MAC, ClientID and Name that is set tells who it
// is: a name alone is matched against the name the client sends.
type Host struct {
	MAC          string     `json:"mac,omitempty"`       // 52:54:00:12:34:56
	ClientID     string     `json:"client_id,omitempty"` // 01:52:54:00:12:34:56, or text
	Name         string     `json:"name,omitempty"`
	IP           netip.Addr `json:"ip,omitzero"` // zero: from a range, only the name is fixed
	LeaseSeconds uint32     `json:"lease_seconds,omitempty"`
}

// InvalidError says what in a network cannot be served.
type InvalidError struct {
	Network spec.UUID
	Field   string
	Reason  string
}

// Error implements error.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("serve DHCP for network %s: %s: %s", e.Network, e.Field, e.Reason)
}

// JSON returns the one text form of the configuration.
func (n Network) JSON() []byte {
	b, err := json.Marshal(n)
	if err != nil { // only a type that has no JSON form fails, and there is none in Network
		return nil
	}
	return b
}

// Fingerprint tells two configurations apart. Equal networks have equal fingerprints.
func (n Network) Fingerprint() string {
	sum := sha256.Sum256(n.JSON())
	return hex.EncodeToString(sum[:])
}

// Validate checks everything that the server relies on.
func (n Network) Validate() error {
	bad := func(field, format string, a ...any) error {
		return &InvalidError{n.UUID, field, fmt.Sprintf(format, a...)}
	}
	switch {
	case n.UUID.IsZero():
		return bad("uuid", "none given")
	case !n.Server.Is4():
		return bad("server", "%v is not an IPv4 address", n.Server)
	case !n.Prefix.IsValid() || !n.Prefix.Contains(n.Server) || n.Prefix.Bits() > 30:
		return bad("prefix", "%v is not a subnet with room for clients around %v", n.Prefix, n.Server)
	case n.Gateway.IsValid() && !n.Prefix.Contains(n.Gateway):
		return bad("gateway", "%v is outside %v; use an address of the network", n.Gateway, n.Prefix)
	case len(n.Domain) > 253 || len(n.BootFile) > 127:
		return bad("domain", "longer than its field")
	case len(n.DNS) > 16:
		return bad("dns", "%d servers; at most 16 fit", len(n.DNS))
	}
	for i, a := range n.DNS {
		if !a.Is4() {
			return bad(fmt.Sprintf("dns[%d]", i), "%v is not an IPv4 address", a)
		}
	}
	for i, r := range n.Ranges {
		if !n.usable(r.Start) || !n.usable(r.End) || r.End.Less(r.Start) {
			return bad(fmt.Sprintf("ranges[%d]", i), "%v-%v is not a span of client addresses in %v", r.Start, r.End, n.Prefix)
		}
	}
	return n.validateHosts(bad)
}

func (n Network) validateHosts(bad func(string, string, ...any) error) error {
	seen := map[string]int{}
	for i, h := range n.Hosts {
		field := fmt.Sprintf("hosts[%d]", i)
		if _, ok := parseMAC(h.MAC); h.MAC != "" && !ok {
			return bad(field, "%q is not an Ethernet address", h.MAC)
		}
		if h.MAC == "" && h.ClientID == "" && h.Name == "" {
			return bad(field, "has neither MAC, client id nor name")
		}
		if h.IP.IsValid() && !n.usable(h.IP) {
			return bad(field, "%v is not a client address in %v", h.IP, n.Prefix)
		}
		if len(h.Name) > 255 || len(h.ClientID) > 3*255 {
			return bad(field, "name or client id longer than 255 bytes")
		}
		for _, key := range []string{"MAC " + strings.ToLower(h.MAC), "address " + h.IP.String()} {
			if j, dup := seen[key]; dup && key != "MAC " && h.IP.IsValid() {
				return bad(field, "has the %s of hosts[%d]", key, j)
			}
			seen[key] = i
		}
	}
	return nil
}

// usable reports whether a client may have an address: inside the subnet, neither its ends nor the server's.
func (n Network) usable(a netip.Addr) bool {
	return a.Is4() && n.Prefix.Contains(a) && a != n.Server && a != n.Prefix.Masked().Addr() && a != broadcast(n.Prefix)
}

// broadcast returns the last address of an IPv4 subnet.
func broadcast(p netip.Prefix) netip.Addr {
	a := p.Masked().Addr().As4()
	host := ^uint32(0) >> p.Bits()
	for i := range a {
		a[i] |= byte(host >> (24 - 8*i))
	}
	return netip.AddrFrom4(a)
}

// lease returns the lease time of a range, a host or, for zero, of the network.
func (n Network) lease(own uint32) uint32 {
	switch {
	case own != 0:
		return own
	case n.LeaseSeconds != 0:
		return n.LeaseSeconds
	}
	return DefaultLease
}
