package spec

import "encoding/xml"

// Network is a <network> document (libvirt, formatnetwork.html).
type Network struct {
	XMLName     xml.Name       `xml:"network"`
	IPv6        string         `xml:"ipv6,attr,omitempty"`
	TrustRx     string         `xml:"trustGuestRxFilters,attr,omitempty"`
	Connections string         `xml:"connections,attr,omitempty"` // live documents only
	Name        string         `xml:"name"`
	UUID        *UUID          `xml:"uuid"`
	Title       string         `xml:"title,omitempty"`
	Description string         `xml:"description,omitempty"`
	Metadata    *Metadata      `xml:"metadata"`
	Forward     *Forward       `xml:"forward"`
	Bridge      *Bridge        `xml:"bridge"`
	MTU         *MTU           `xml:"mtu"`
	MAC         *MAC           `xml:"mac"`
	Domain      *NetworkDomain `xml:"domain"`
	DNS         *Element       `xml:"dns"`
	Bandwidth   *Element       `xml:"bandwidth"`
	IPs         []IP           `xml:"ip"`
	Routes      []Element      `xml:"route"`
	PortGroups  []Element      `xml:"portgroup"`
	Extra
}

// Forward is how the network reaches the outside: nat (default mode), route, open, bridge…; nil is isolated.
type Forward struct {
	Mode string `xml:"mode,attr,omitempty"`
	Dev  string `xml:"dev,attr,omitempty"`
	NAT  *NAT   `xml:"nat"`
	Extra
}

// NAT narrows what addresses and ports are masqueraded to.
type NAT struct {
	IPv6    string       `xml:"ipv6,attr,omitempty"`
	Address *AddressSpan `xml:"address"`
	Port    *AddressSpan `xml:"port"`
	Extra
}

// AddressSpan is start to end, both included.
type AddressSpan struct {
	Start string `xml:"start,attr"`
	End   string `xml:"end,attr"`
	Extra
}

// Bridge is the host bridge of a network. Delay is in seconds.
type Bridge struct {
	Name            string `xml:"name,attr,omitempty"`
	Zone            string `xml:"zone,attr,omitempty"`
	STP             string `xml:"stp,attr,omitempty"`
	Delay           string `xml:"delay,attr,omitempty"`
	MACTableManager string `xml:"macTableManager,attr,omitempty"`
	Extra
}

// NetworkDomain is the DNS domain.
type NetworkDomain struct {
	Name      string `xml:"name,attr"`
	LocalOnly string `xml:"localOnly,attr,omitempty"`
	Extra
}

// IP is one host address on the bridge with what is served from it.
type IP struct {
	Family   string   `xml:"family,attr,omitempty"`
	Address  string   `xml:"address,attr"`
	Netmask  string   `xml:"netmask,attr,omitempty"`
	Prefix   string   `xml:"prefix,attr,omitempty"`
	LocalPtr string   `xml:"localPtr,attr,omitempty"`
	TFTP     *Element `xml:"tftp"`
	DHCP     *DHCP    `xml:"dhcp"`
	Extra
}

// DHCP is what is handed out.
type DHCP struct {
	Ranges []DHCPRange `xml:"range"`
	Hosts  []DHCPHost  `xml:"host"`
	Bootp  *Element    `xml:"bootp"`
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

// DHCPHost is a fixed address.
type DHCPHost struct {
	ID    string     `xml:"id,attr,omitempty"`
	MAC   string     `xml:"mac,attr,omitempty"`
	Name  string     `xml:"name,attr,omitempty"`
	IP    string     `xml:"ip,attr,omitempty"`
	Lease *DHCPLease `xml:"lease"`
	Extra
}
