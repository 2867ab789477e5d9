package spec

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// IP is one host address on the bridge with what is served from it. Family is ipv4 (also when it is empty) or ipv6.
type IP struct {
	Family   string `xml:"family,attr,omitempty"`
	Address  string `xml:"address,attr"`
	Netmask  string `xml:"netmask,attr,omitempty"`
	Prefix   string `xml:"prefix,attr,omitempty"`
	LocalPtr string `xml:"localPtr,attr,omitempty"` // yes: reverse names of the subnet are never asked of others
	TFTP     *TFTP  `xml:"tftp"`
	DHCP     *DHCP  `xml:"dhcp"`
	Extra
}

// TFTP serves the files below a directory of the host.
type TFTP struct {
	Root string `xml:"root,attr"`
	Extra
}

// DHCP is what is handed out.
type DHCP struct {
	Ranges []DHCPRange `xml:"range"`
	Hosts  []DHCPHost  `xml:"host"`
	Bootp  *Bootp      `xml:"bootp"`
	Extra
}

// DHCPRange is start to end, both included.
type DHCPRange struct {
	Start string     `xml:"start,attr"`
	End   string     `xml:"end,attr"`
	Lease *DHCPLease `xml:"lease"`
	Extra
}

// DHCPLease is a lease time; Unit seconds, minutes (default) or hours; expiry 0 never.
type DHCPLease struct {
	Expiry string `xml:"expiry,attr"`
	Unit   string `xml:"unit,attr,omitempty"`
	Extra
}

// DHCPHost is a fixed address. The client is known by ID (a client identifier, or the DUID for IPv6), MAC or Name.
type DHCPHost struct {
	ID    string     `xml:"id,attr,omitempty"`
	MAC   string     `xml:"mac,attr,omitempty"`
	Name  string     `xml:"name,attr,omitempty"`
	IP    string     `xml:"ip,attr,omitempty"`
	Lease *DHCPLease `xml:"lease"`
	Extra
}

// Bootp is what a PXE client loads: a file from a server, which is the bridge's address when it is empty. IPv4 only.
type Bootp struct {
	File   string `xml:"file,attr"`
	Server string `xml:"server,attr,omitempty"`
	Extra
}

// ParseClientID reads a client identifier or DUID: octets in hexadecimal with colons between them (0:4:ab), or a run of
// digits without any (0004ab). RFC 8415, 11.1 bounds a DUID to 130 octets.
func ParseClientID(s string) ([]byte, error) {
	var out []byte
	for part := range strings.SplitSeq(s, ":") {
		if len(part)%2 == 1 {
			part = "0" + part
		}
		b, err := hex.DecodeString(part)
		if err != nil || len(b) == 0 || len(b) > 1 && strings.Contains(s, ":") {
			return nil, fmt.Errorf("malformed identifier %q: want octets as in 00:04:5e:7f", s)
		}
		out = append(out, b...)
	}
	if len(out) > 130 {
		return nil, fmt.Errorf("identifier of %d octets is too long (limit 130)", len(out))
	}
	return out, nil
}
