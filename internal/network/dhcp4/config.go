package dhcp4

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"taproom/internal/network/packet"
)

const (
	// DefaultLease is what a network without a lease time gets, in seconds: dnsmasq's hour, which libvirt's users know.
	DefaultLease = 3600
	// Forever is a lease that does not end (RFC 2131, 3.3).
	Forever = 0xffffffff
)

// Config is what is served on one link.
type Config struct {
	Subnets []Subnet `json:"subnets"` // at least one
	Ranges  []Range  `json:"ranges,omitempty"`
	Hosts   []Host   `json:"hosts,omitempty"`

	LeaseSeconds  uint32       `json:"lease_seconds,omitempty"` // zero is DefaultLease
	Domain        string       `json:"domain,omitempty"`
	DNS           []netip.Addr `json:"dns,omitempty"`
	MTU           uint16       `json:"mtu,omitempty"` // zero: not told
	Boot          []Boot       `json:"boot,omitempty"`
	Options       []Option     `json:"options,omitempty"`
	Authoritative bool         `json:"authoritative,omitempty"` // says no to addresses of other networks instead of staying silent
}

// Subnet is a subnet that clients are in.
type Subnet struct {
	Server  netip.Addr   `json:"server"`           // our address in it, the server identifier
	Prefix  netip.Prefix `json:"prefix"`           // the subnet around it
	Gateway netip.Addr   `json:"gateway,omitzero"` // zero: no default route, as in an isolated network
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

// Boot is what a client loads from the network.
type Boot struct {
	Arch       []uint16   `json:"arch,omitempty"` // of clients (RFC 4578, 2.1: 0 BIOS, 7 and 9 UEFI on x86-64, 11 on ARM); none: of all others
	File       string     `json:"file"`
	Server     netip.Addr `json:"server,omitzero"`       // zero: ours
	ServerName string     `json:"server_name,omitempty"` // for those that resolve it themselves
}

// Option is any other option, sent to those that ask for it or ask for nothing in particular. It takes the place of one
// that the server would make up itself; with an empty value that is not sent.
type Option struct {
	Code  uint8    `json:"code"`
	Value []byte   `json:"value"`
	Arch  []uint16 `json:"arch,omitempty"`  // for these clients alone
	Force bool     `json:"force,omitempty"` // also to those that do not ask
}

// FieldError says what in a configuration cannot be served.
type FieldError struct {
	Field  string
	Reason string
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

func bad(field, format string, a ...any) error {
	return &FieldError{field, fmt.Sprintf(format, a...)}
}

// Validate checks everything that the server relies on.
func (n Config) Validate() error {
	if len(n.Subnets) == 0 {
		return bad("subnets", "none given")
	}
	for i, s := range n.Subnets {
		if err := n.validateSubnet(i, s); err != nil {
			return err
		}
	}
	switch {
	case len(n.Domain) > 253:
		return bad("domain", "longer than 253 bytes")
	case len(n.DNS) > 16:
		return bad("dns", "%d servers; at most 16 fit", len(n.DNS))
	}
	for i, a := range n.DNS {
		if !a.Is4() {
			return bad(fmt.Sprintf("dns[%d]", i), "%v is not an IPv4 address", a)
		}
	}
	for i, r := range n.Ranges {
		first, ok := n.subnet(r.Start)
		last, _ := n.subnet(r.End)
		if !ok || first != last || !n.usable(r.Start) || !n.usable(r.End) || r.End.Less(r.Start) {
			return bad(fmt.Sprintf("ranges[%d]", i), "%v-%v is not a span of client addresses in %s", r.Start, r.End, n.prefixes())
		}
		for j, o := range n.Ranges[:i] {
			if !o.End.Less(r.Start) && !r.End.Less(o.Start) {
				return bad(fmt.Sprintf("ranges[%d]", i), "%v-%v overlaps ranges[%d]", r.Start, r.End, j)
			}
		}
	}
	if err := n.validateHosts(); err != nil {
		return err
	}
	return n.validateOptions()
}

func (n Config) validateSubnet(i int, s Subnet) error {
	at := func(what string) string { return fmt.Sprintf("subnets[%d].%s", i, what) }
	switch {
	case !s.Server.Is4():
		return bad(at("server"), "%v is not an IPv4 address", s.Server)
	case !s.Prefix.IsValid() || !s.Prefix.Contains(s.Server) || s.Prefix.Bits() > 30:
		return bad(at("prefix"), "%v is not a subnet with room for clients around %v", s.Prefix, s.Server)
	case s.Gateway.IsValid() && !s.Prefix.Contains(s.Gateway):
		return bad(at("gateway"), "%v is outside %v; use an address of the network", s.Gateway, s.Prefix)
	}
	for j, o := range n.Subnets[:i] {
		if o.Prefix.Overlaps(s.Prefix) {
			return bad(at("prefix"), "%v overlaps subnets[%d]", s.Prefix, j)
		}
	}
	return nil
}

func (n Config) validateHosts() error {
	seen := map[string]int{}
	for i, h := range n.Hosts {
		field := fmt.Sprintf("hosts[%d]", i)
		if _, ok := packet.ParseMAC(h.MAC); h.MAC != "" && !ok {
			return bad(field, "%q is not an Ethernet address", h.MAC)
		}
		if h.MAC == "" && h.ClientID == "" && h.Name == "" {
			return bad(field, "has neither MAC, client id nor name")
		}
		if h.IP.IsValid() && !n.usable(h.IP) {
			return bad(field, "%v is not a client address in %s", h.IP, n.prefixes())
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

func (n Config) validateOptions() error {
	for i, b := range n.Boot {
		field := fmt.Sprintf("boot[%d]", i)
		switch {
		case len(b.File) > 127 || len(b.ServerName) > 63: // the fields of the message, with their final zero
			return bad(field, "a file name has up to 127 bytes, a server name up to 63")
		case b.Server.IsValid() && !b.Server.Is4():
			return bad(field, "%v is not an IPv4 address", b.Server)
		}
	}
	total := 0
	for i, o := range n.Options {
		total += len(o.Value) + 2
		switch {
		case slices.Contains(ownOptions, o.Code):
			return bad(fmt.Sprintf("options[%d]", i), "option %d belongs to the lease and cannot be set", o.Code)
		case total > 1024:
			return bad("options", "longer than 1024 bytes together, which no message holds")
		}
	}
	return nil
}

// prefixes lists the subnets for people.
func (n Config) prefixes() string {
	var all []string
	for _, s := range n.Subnets {
		all = append(all, s.Prefix.String())
	}
	return strings.Join(all, ", ")
}

// subnet returns the subnet that an address is in.
func (n Config) subnet(a netip.Addr) (Subnet, bool) {
	for _, s := range n.Subnets {
		if s.Prefix.Contains(a) {
			return s, true
		}
	}
	return Subnet{}, false
}

// usable reports whether a client may have an address: inside a subnet, neither its ends nor the server's.
func (n Config) usable(a netip.Addr) bool {
	s, ok := n.subnet(a)
	return ok && a != s.Server && a != s.Prefix.Masked().Addr() && a != broadcast(s.Prefix)
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
func (n Config) lease(own uint32) uint32 {
	switch {
	case own != 0:
		return own
	case n.LeaseSeconds != 0:
		return n.LeaseSeconds
	}
	return DefaultLease
}
