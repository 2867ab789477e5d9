package dns

import (
	"net/netip"
)

// Config is what a network wants to be answered. The zero value answers guests' names and forwards to the host's
// resolvers.
type Config struct {
	// Domain is appended to names of one label. LocalOnly: what is in it and not known is not asked anywhere else.
	Domain    string `json:"domain,omitempty"`
	LocalOnly bool   `json:"local_only,omitempty"`

	Addresses []netip.Addr `json:"addresses,omitempty"` // the network's own: nothing is ever forwarded to them

	Hosts      []Host      `json:"hosts,omitempty"`
	SRV        []SRV       `json:"srv,omitempty"`
	TXT        []TXT       `json:"txt,omitempty"`
	CNAME      []CNAME     `json:"cname,omitempty"`
	PTR        []PTR       `json:"ptr,omitempty"`
	Wildcards  []Wildcard  `json:"wildcards,omitempty"`
	Forwarders []Forwarder `json:"forwarders,omitempty"`

	NoForwardPlain bool           `json:"no_forward_plain,omitempty"` // names of one label are not asked elsewhere
	NoResolv       bool           `json:"no_resolv,omitempty"`        // the host's resolvers are not asked
	LocalPTR       []netip.Prefix `json:"local_ptr,omitempty"`        // whose reverse is answered here alone
}

// Host is an address with names. The first name is what its reverse tells.
type Host struct {
	IP    netip.Addr `json:"ip"`
	Names []string   `json:"names"`
}

// SRV is a service's record (RFC 2782). Without a domain it is the network's; without a target the service is said not
// to be offered.
type SRV struct {
	Service  string `json:"service"`
	Protocol string `json:"protocol"`
	Domain   string `json:"domain,omitempty"`
	Target   string `json:"target,omitempty"`
	Port     uint16 `json:"port,omitempty"`
	Priority uint16 `json:"priority,omitempty"`
	Weight   uint16 `json:"weight,omitempty"`
}

// TXT is a text record. A value longer than a string of the protocol, 255 bytes, becomes several.
type TXT struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// CNAME is another name for a name of this network. A target elsewhere is told, and not looked up.
type CNAME struct {
	Alias  string `json:"alias"`
	Target string `json:"target"`
}

// PTR leads from a name to another one.
type PTR struct {
	Name   string `json:"name"`
	Target string `json:"target"`
}

// Wildcard is the address of a name and of all names below it that are not known otherwise.
type Wildcard struct {
	Name string     `json:"name"`
	IP   netip.Addr `json:"ip"`
}

// Forwarder says who is asked for the names in a domain, or for all. Several with the same domain are asked in order.
// The zero Addr, with a domain: nobody, it is answered here alone.
type Forwarder struct {
	Domain string         `json:"domain,omitempty"`
	Addr   netip.AddrPort `json:"addr,omitzero"`
	// Resolvers, without an Addr: the host's resolvers, although there are forwarders for all other names.
	Resolvers bool `json:"resolvers,omitempty"`
}

// FieldError says what is wrong with a Config.
type FieldError struct {
	Field, Reason string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

// Validate reports the first thing that could not be served, as a *FieldError.
func (c Config) Validate() error {
	_, err := newZone(c)
	return err
}
