package own

// LeasesRequest names a network; without one, all that are active are meant.
type LeasesRequest struct {
	Network string `json:"network,omitempty"` // name or UUID
}

// LeasesResult is what clients of networks have, by network and address.
type LeasesResult struct {
	Leases []Lease `json:"leases"`
}

// Lease is an address that a client of a network has from us.
type Lease struct {
	Network  string `json:"network"`
	Bridge   string `json:"bridge"`
	Address  string `json:"address"`
	Prefix   uint32 `json:"prefix"` // the length of the network's prefix
	MAC      string `json:"mac,omitempty"`
	Hostname string `json:"hostname,omitempty"`
	ClientID string `json:"client_id,omitempty"` // of an IPv4 client, hexadecimal
	DUID     string `json:"duid,omitempty"`      // of an IPv6 client, hexadecimal
	IAID     uint32 `json:"iaid,omitempty"`      // which of its interfaces an IPv6 client means
	Expiry   int64  `json:"expiry"`              // Unix seconds; 0 is never
}

// Subscription is what a client gets events for, until it goes or takes it back.
type Subscription struct {
	Callback int32 `json:"callback"`
}

// The kinds of lease event.
const (
	LeaseAdded   = "add"
	LeaseRenewed = "old"
	LeaseDeleted = "del"
	LeasesMissed = "missed" // events of any network were lost: ask for the leases again
)

// LeaseEvent is something that happened to a lease. With LeasesMissed there is none.
type LeaseEvent struct {
	Kind  string `json:"kind"`
	Lease *Lease `json:"lease,omitempty"`
}

// LookupRequest asks what a guest of a network would be answered by its DNS.
type LookupRequest struct {
	Network string `json:"network"` // name or UUID
	Name    string `json:"name"`
	Type    string `json:"type"` // of record: A, AAAA, PTR, SRV, TXT, …
}

// LookupResult is that answer.
type LookupResult struct {
	Network string   `json:"network"`
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Status  string   `json:"status"`            // NOERROR, NXDOMAIN, …
	Records []string `json:"records,omitempty"` // as in a zone file
	Source  string   `json:"source,omitempty"`  // who knew
}
