package dhcp6

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/insomniacslk/dhcp/dhcpv6"

	"taproom/internal/network/packet"
)

// Limits that let a reply with everything stay below an Ethernet frame.
const (
	minDUID      = 3   // a type and at least one byte (RFC 8415, 11.1)
	maxDUID      = 130 // a type and 128 bytes
	maxAddresses = 16  // of DNS or NTP servers
	maxSearch    = 512 // bytes on the wire
	maxURL       = 512
	maxOptions   = 900 // bytes of all others together
)

// Validate checks everything that the server relies on.
func (c Config) Validate() error {
	if len(c.DUID) < minDUID || len(c.DUID) > maxDUID {
		return bad("duid", "has %d bytes; between %d and %d are allowed", len(c.DUID), minDUID, maxDUID)
	}
	if len(c.Prefixes) == 0 {
		return bad("prefixes", "none given")
	}
	for i, p := range c.Prefixes {
		a := p.Addr()
		if !p.IsValid() || !a.Is6() || a.Is4In6() || p != p.Masked() || !a.IsGlobalUnicast() || p.Bits() < 8 {
			return bad(at("prefixes", i), "%v is not an IPv6 subnet for clients", p)
		}
	}
	for i, r := range c.Ranges {
		if why := c.validateRange(r); why != "" {
			return bad(at("ranges", i), "%v-%v %s", r.Start, r.End, why)
		}
	}
	for _, list := range []struct {
		field string
		of    []netip.Addr
	}{{"dns", c.DNS}, {"ntp", c.NTP}, {"exclude", c.Exclude}} {
		for i, a := range list.of {
			if !a.Is6() || a.Is4In6() || a.Zone() != "" {
				return bad(at(list.field, i), "%v is not an IPv6 address", a)
			}
		}
		if len(list.of) > maxAddresses && list.field != "exclude" {
			return bad(list.field, "%d servers; at most %d fit", len(list.of), maxAddresses)
		}
	}
	if err := c.validateHosts(); err != nil {
		return err
	}
	return c.validateOptions()
}

func (c *Config) validateRange(r Range) string {
	startHigh, startLow := halves(r.Start)
	endHigh, endLow := halves(r.End)
	span := endHigh - startHigh
	if endLow < startLow {
		span--
	}
	switch {
	case !r.Start.Is6() || !r.End.Is6() || r.End.Less(r.Start):
		return "is not a span of IPv6 addresses"
	case span != 0:
		return "has more than 2^64 addresses"
	}
	for _, p := range c.Prefixes {
		if p.Contains(r.Start) && p.Contains(r.End) {
			return ""
		}
	}
	return "is in none of the subnets"
}

func (c *Config) validateHosts() error {
	seen := map[any]int{}
	for i, h := range c.Hosts {
		duid, okDUID := parseDUID(h.DUID)
		mac, okMAC := packet.ParseMAC(h.MAC)
		var who any
		switch {
		case h.DUID != "" && !okDUID:
			return bad(at("hosts", i), "%q is not a DUID in hexadecimal", h.DUID)
		case h.MAC != "" && !okMAC:
			return bad(at("hosts", i), "%q is not an Ethernet address", h.MAC)
		case h.Name != "" && (encodeName(h.Name) == nil || cleanLabel(firstLabel(h.Name)) == ""):
			return bad(at("hosts", i), "%q is not a host name", h.Name)
		case h.IP.IsValid() && (!c.onLink(h.IP) || h.IP.Zone() != ""):
			return bad(at("hosts", i), "%v is in none of the subnets", h.IP)
		case h.DUID != "":
			who = duid
		case h.MAC != "":
			who = mac
		case h.Name != "":
			who = "name " + strings.ToLower(firstLabel(h.Name))
		default:
			return bad(at("hosts", i), "has neither DUID, MAC nor name")
		}
		if j, dup := seen[who]; dup {
			return bad(at("hosts", i), "is the same client as hosts[%d]", j)
		}
		if j, dup := seen[h.IP]; dup && h.IP.IsValid() {
			return bad(at("hosts", i), "has the address of hosts[%d]", j)
		}
		seen[who], seen[h.IP] = i, i
	}
	return nil
}

func (c *Config) validateOptions() error {
	size := 0
	for i, s := range c.Search {
		b := encodeName(s)
		if b == nil {
			return bad(at("search", i), "%q is not a domain", s)
		}
		size += len(b)
	}
	if size > maxSearch {
		return bad("search", "%d bytes; at most %d fit", size, maxSearch)
	}
	for i, b := range c.BootURL {
		if len(b.URL) == 0 || len(b.URL) > maxURL {
			return bad(at("boot_url", i), "has %d bytes; between 1 and %d fit", len(b.URL), maxURL)
		}
	}
	size = 0
	for i, o := range c.Options {
		size += optionHeader + len(o.Value)
		if slices.Contains(ownOptions(), dhcpv6.OptionCode(o.Code)) {
			return bad(at("options", i), "option %d belongs to the protocol and cannot be set", o.Code)
		}
	}
	if size > maxOptions {
		return bad("options", "%d bytes together; at most %d fit", size, maxOptions)
	}
	return nil
}

// ownOptions are those that carry the conversation.
func ownOptions() []dhcpv6.OptionCode {
	return []dhcpv6.OptionCode{
		dhcpv6.OptionClientID, dhcpv6.OptionServerID, dhcpv6.OptionIANA, dhcpv6.OptionIATA, dhcpv6.OptionIAAddr,
		dhcpv6.OptionORO, dhcpv6.OptionPreference, dhcpv6.OptionElapsedTime, dhcpv6.OptionRelayMsg, dhcpv6.OptionAuth,
		dhcpv6.OptionUnicast, dhcpv6.OptionStatusCode, dhcpv6.OptionRapidCommit, dhcpv6.OptionInterfaceID,
		dhcpv6.OptionReconfMessage, dhcpv6.OptionReconfAccept, dhcpv6.OptionIAPD, dhcpv6.OptionIAPrefix, dhcpv6.OptionFQDN,
	}
}
