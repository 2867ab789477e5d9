package lease

import (
	"iter"
	"math"
	"net/netip"
	"slices"

	"taproom/internal/network/packet"
)

// Never is the end of a lease that has none.
const Never = math.MaxInt64

// Lease is an address that a client has, or had.
type Lease struct {
	IP       netip.Addr
	MAC      packet.MAC // of the network card
	ClientID string     // hexadecimal with colons as the client sent it; the DUID under DHCPv6
	IAID     uint32     // DHCPv6 alone: which of its interfaces the client means
	Hostname string
	Ends     int64 // in seconds of Clock.Now; Never
}

// Live reports whether the client may use the address at a time of Clock.Now.
func (l *Lease) Live(now int64) bool { return l.Ends > now }

// Sorted returns the leases that keep wants, by address.
func Sorted(all iter.Seq[*Lease], keep func(*Lease) bool) []Lease {
	out := []Lease{}
	for l := range all {
		if keep(l) {
			out = append(out, *l)
		}
	}
	slices.SortFunc(out, func(a, b Lease) int { return a.IP.Compare(b.IP) })
	return out
}

// ChangeKind names what happened to a lease, in the words of dnsmasq's lease script.
type ChangeKind string

// The kinds of change.
const (
	Added   ChangeKind = "add"
	Renewed ChangeKind = "old"
	Deleted ChangeKind = "del"
)

// Change is something that happened to a lease. A deleted lease carries the moment it ended.
type Change struct {
	Kind  ChangeKind
	Lease Lease
}

// Record is a lease outside of the process that gave it, in the calendar's time.
type Record struct {
	IP       netip.Addr `json:"ip"`
	MAC      packet.MAC `json:"mac"`
	ClientID string     `json:"client_id,omitempty"`
	IAID     uint32     `json:"iaid,omitempty"`
	Hostname string     `json:"hostname,omitempty"`
	Expiry   int64      `json:"expiry"` // Unix seconds; zero is never

	// The rest is in files alone. Boot and Ends hold on the boot of the machine that they name, whatever happened to the
	// calendar in between; Seconds is what was left when the record was written, for when the calendar was wrong then or is
	// wrong now.
	Boot    string `json:"boot,omitempty"`
	Ends    int64  `json:"ends,omitempty"`
	Seconds int64  `json:"seconds,omitempty"`
}
