package spec

import "encoding/xml"

// Network is a <network> document (libvirt, formatnetwork.html). IPv6='yes' asks that guests can talk IPv6 to each other on
// a bridge without an IPv6 address of its own.
type Network struct {
	XMLName     xml.Name        `xml:"network"`
	IPv6        string          `xml:"ipv6,attr,omitempty"`
	TrustRx     string          `xml:"trustGuestRxFilters,attr,omitempty"`
	Connections string          `xml:"connections,attr,omitempty"` // live documents only
	Name        string          `xml:"name"`
	UUID        *UUID           `xml:"uuid"`
	Title       string          `xml:"title,omitempty"`
	Description string          `xml:"description,omitempty"`
	Metadata    *Metadata       `xml:"metadata"`
	Forward     *Forward        `xml:"forward"`
	Bridge      *Bridge         `xml:"bridge"`
	MTU         *MTU            `xml:"mtu"`
	MAC         *MAC            `xml:"mac"`
	Domain      *NetworkDomain  `xml:"domain"`
	DNS         *DNS            `xml:"dns"`
	VLAN        *NICVLAN        `xml:"vlan"`
	Bandwidth   *Bandwidth      `xml:"bandwidth"`
	Port        *BridgePort     `xml:"port"`
	IPs         []IP            `xml:"ip"`
	Routes      []Route         `xml:"route"`
	VirtualPort *VirtualPort    `xml:"virtualport"`
	PortGroups  []PortGroup     `xml:"portgroup"`
	Dnsmasq     *DnsmasqOptions `xml:"dnsmasq:options"`
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

// NetworkDomain is the DNS domain of the guests. With LocalOnly names in it are answered here or not at all; Register would
// tell the host's resolver of it.
type NetworkDomain struct {
	Name      string `xml:"name,attr"`
	LocalOnly string `xml:"localOnly,attr,omitempty"`
	Register  string `xml:"register,attr,omitempty"`
	Extra
}
