package dhcp

import (
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// Lease is an address that a client has, or had.
type Lease struct {
	IP       netip.Addr `json:"ip"`
	MAC      MAC        `json:"mac"`
	ClientID string     `json:"client_id,omitempty"` // hexadecimal with colons, as the client sent it
	Hostname string     `json:"hostname,omitempty"`
	Expiry   int64      `json:"expiry"` // Unix seconds; zero is never
}

// live reports whether the client may use the address at the time.
func (l *Lease) live(now int64) bool { return l.Expiry == 0 || l.Expiry > now }

// end is Expiry in a form that sorts.
func (l *Lease) end() int64 {
	if l.Expiry == 0 {
		return 1<<63 - 1
	}
	return l.Expiry
}

// ChangeKind names what happened to a lease, in the words of dnsmasq's lease script.
type ChangeKind string

// The kinds of change.
const (
	LeaseAdded   ChangeKind = "add"
	LeaseRenewed ChangeKind = "old"
	LeaseDeleted ChangeKind = "del"
)

// Change is something that happened to a lease. A deleted lease carries the moment it ended.
type Change struct {
	Kind  ChangeKind `json:"kind"`
	Lease Lease      `json:"lease"`
}

// client is who is talking: the network card first. Cloned guests share a client id but not a MAC; an ipvlan child
// shares the MAC but not the client id. An id that only repeats the MAC says nothing and counts as none.
type client struct {
	mac  MAC
	id   string // distinguishing id, or empty
	sent string // the id as sent
	name string
}

func newClient(m *dhcpv4.DHCPv4) client {
	c := client{mac: MAC(m.ClientHWAddr), sent: colons(m.Options.Get(dhcpv4.OptionClientIdentifier))}
	c.id = distinguishing(c.mac, c.sent)
	c.name = cleanName(string(m.Options.Get(dhcpv4.OptionHostName)))
	return c
}

func distinguishing(mac MAC, id string) string {
	if id == "01:"+mac.String() {
		return ""
	}
	return id
}

// owns reports whether a lease is this client's. A boot ROM that sends no id and the system it loads are one client.
func (c client) owns(l *Lease) bool {
	id := distinguishing(l.MAC, l.ClientID)
	return l.MAC == c.mac && (id == c.id || id == "" || c.id == "")
}

func colons(b []byte) string {
	var s strings.Builder
	for i := range b {
		if i > 0 {
			s.WriteByte(':')
		}
		s.WriteString(hex.EncodeToString(b[i : i+1]))
	}
	return s.String()
}

// cleanName returns a host name that is safe to print and to put into DNS, or nothing.
func cleanName(s string) string {
	s = strings.TrimRight(s, "\x00.")
	if len(s) > 255 {
		return ""
	}
	for _, r := range s {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", r) {
			return ""
		}
	}
	return s
}

// table is every lease of a network, live or remembered, at most one per address and one per client.
type table struct {
	at map[netip.Addr]*Lease
	of map[MAC][]*Lease // few per card: one for each distinguishing id
}

func newTable() *table {
	return &table{at: map[netip.Addr]*Lease{}, of: map[MAC][]*Lease{}}
}

// find returns the client's lease: its exact one before one that it merely may take over.
func (t *table) find(c client) *Lease {
	var own *Lease
	for _, l := range t.of[c.mac] {
		if distinguishing(l.MAC, l.ClientID) == c.id {
			return l
		}
		if c.owns(l) && (own == nil || l.end() > own.end()) {
			own = l
		}
	}
	return own
}

// put stores a lease, in place of whatever its address and its client had before, and returns what went.
func (t *table) put(l Lease) []*Lease {
	var gone []*Lease
	c := client{mac: l.MAC, id: distinguishing(l.MAC, l.ClientID)}
	if old := t.find(c); old != nil {
		t.remove(old)
		gone = append(gone, old)
	}
	if old := t.at[l.IP]; old != nil {
		t.remove(old)
		gone = append(gone, old)
	}
	n := &l
	t.at[l.IP] = n
	t.of[l.MAC] = append(t.of[l.MAC], n)
	return gone
}

func (t *table) remove(l *Lease) {
	delete(t.at, l.IP)
	rest := slices.DeleteFunc(t.of[l.MAC], func(o *Lease) bool { return o == l })
	if len(rest) == 0 {
		delete(t.of, l.MAC)
	} else {
		t.of[l.MAC] = rest
	}
}

// sorted returns every lease that keep wants, by address.
func (t *table) sorted(keep func(*Lease) bool) []Lease {
	out := make([]Lease, 0, len(t.at))
	for _, l := range t.at {
		if keep(l) {
			out = append(out, *l)
		}
	}
	slices.SortFunc(out, func(a, b Lease) int { return a.IP.Compare(b.IP) })
	return out
}
