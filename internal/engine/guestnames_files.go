package engine

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"taproom/internal/network/lease"
	"taproom/internal/spec"
)

// nobody is what a file says that has nobody to name.
const nobody = "[]\n"

// endOfTime is the expiry of a lease that has none: the last second of the year 9999. The module takes 0 for long ago.
const endOfTime = 253402300799

// statusLease is an entry of a bridge's .status file, with libvirt's names in libvirt's order.
type statusLease struct {
	IAID       string `json:"iaid,omitempty"`
	Address    string `json:"ip-address"`
	MAC        string `json:"mac-address"`
	Hostname   string `json:"hostname,omitempty"`
	ClientID   string `json:"client-id,omitempty"`
	ServerDUID string `json:"server-duid,omitempty"`
	Expiry     int64  `json:"expiry-time"`
}

// statusFile is a bridge's .status file. A lease whose client's MAC is not known is left out, as libvirt does: the module
// reads nothing of a file in which an entry has none.
func statusFile(id spec.UUID, leases []lease.Record) []byte {
	list := []statusLease{}
	for _, l := range leases {
		s := statusLease{Address: l.IP.String(), MAC: macText(l.MAC), Hostname: l.Hostname, ClientID: l.ClientID, Expiry: l.Expiry}
		if s.MAC == "" {
			continue
		}
		if s.Expiry == 0 {
			s.Expiry = endOfTime
		}
		if l.IP.Is6() {
			s.IAID, s.ServerDUID = strconv.FormatUint(uint64(l.IAID), 10), serverDUID(id)
		}
		list = append(list, s)
	}
	return indented(list)
}

// serverDUID is what a network calls itself under DHCPv6: its UUID (RFC 6355).
func serverDUID(id spec.UUID) string {
	var parts []string
	for _, b := range append([]byte{0, 4}, id[:]...) {
		parts = append(parts, hex.EncodeToString([]byte{b}))
	}
	return strings.Join(parts, ":")
}

// guestMACs is an entry of a bridge's .macs file.
type guestMACs struct {
	Domain string   `json:"domain"`
	MACs   []string `json:"macs"`
}

// macsOfGuests are the MACs of guests that run, by network and guest.
func (e *Engine) macsOfGuests() map[string]map[string][]string {
	all := map[string]map[string][]string{}
	for _, d := range e.domains.all() {
		run := d.view().run
		if run == nil {
			continue
		}
		now := run.hardware()
		for _, p := range now.rec.Ports {
			nic := now.nic(p)
			if p.Network == "" || nic.MAC == nil {
				continue
			}
			if all[p.Network] == nil {
				all[p.Network] = map[string][]string{}
			}
			all[p.Network][d.label] = append(all[p.Network][d.label], strings.ToLower(nic.MAC.Address)) // compared by bytes
		}
	}
	return all
}

// macsFile is a bridge's .macs file.
func macsFile(guests map[string][]string) []byte {
	list := []guestMACs{}
	for _, name := range slices.Sorted(maps.Keys(guests)) {
		list = append(list, guestMACs{name, guests[name]})
	}
	return indented(list)
}

func indented(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(v) != nil { // text and numbers always have a form
		return nil
	}
	return b.Bytes()
}
