// Package rxfilter reads what a guest says of the frames that it wants of a NIC, as QEMU passes it on (query-rx-filter).
//
// All of it is the guest's word, and a guest may be hostile: what is no address is left out or refused, and there is no more
// of it than QEMU itself keeps. Whether it is believed is for others to say.
package rxfilter

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
)

// Filter is what a NIC's guest wants of it. Addresses are in lower case, with colons.
type Filter struct {
	// MAC is the address that the NIC has in the guest; "" when that is none of a machine's.
	MAC string `json:"mac,omitempty"`
	// Unicast and Multicast are the addresses beside that, of machines and of groups, each sorted and each address once.
	Unicast   []string `json:"unicast,omitempty"`
	Multicast []string `json:"multicast,omitempty"`
	// AllMulticast wants every frame to a group, Promiscuous every frame.
	AllMulticast bool `json:"all_multicast,omitempty"`
	Promiscuous  bool `json:"promiscuous,omitempty"`
}

// Most is how many addresses a guest can name. QEMU (hw/net/virtio-net.c) keeps 64, and says when it was told more.
const Most = 64

// ErrNoNIC is an answer that does not speak of the NIC that was asked for.
var ErrNoNIC = errors.New("QEMU says nothing of the NIC")

// answer is one NIC in what query-rx-filter returns (qapi/net.json, RxFilterInfo).
type answer struct {
	Name              string   `json:"name"`
	Promiscuous       bool     `json:"promiscuous"`
	Unicast           string   `json:"unicast"` // normal, none or all
	Multicast         string   `json:"multicast"`
	UnicastOverflow   bool     `json:"unicast-overflow"`
	MulticastOverflow bool     `json:"multicast-overflow"`
	MainMAC           string   `json:"main-mac"`
	UnicastTable      []string `json:"unicast-table"`
	MulticastTable    []string `json:"multicast-table"`
}

// Parse reads what query-rx-filter returned of the NIC with that name. ErrNoNIC when it is not among it.
func Parse(reply []byte, name string) (Filter, error) {
	var all []answer
	if err := json.Unmarshal(reply, &all); err != nil {
		return Filter{}, fmt.Errorf("what QEMU says of the frames that a guest wants: %w", err)
	}
	i := slices.IndexFunc(all, func(a answer) bool { return a.Name == name })
	if i < 0 {
		return Filter{}, fmt.Errorf("%w %s", ErrNoNIC, name)
	}
	return all[i].filter()
}

func (a *answer) filter() (f Filter, err error) {
	if len(a.UnicastTable)+len(a.MulticastTable) > Most {
		return f, fmt.Errorf("NIC %s: the guest names %d addresses, and QEMU keeps no more than %d", a.Name, len(a.UnicastTable)+len(a.MulticastTable), Most)
	}
	if mac, group, ok := address(a.MainMAC); ok && !group {
		f.MAC = mac
	}
	f.Promiscuous = a.Promiscuous || a.Unicast == "all" || a.UnicastOverflow
	f.AllMulticast = a.Multicast == "all" || a.MulticastOverflow
	if a.Unicast != "none" {
		f.Unicast = table(a.UnicastTable, false)
	}
	if a.Multicast != "none" {
		f.Multicast = table(a.MulticastTable, true)
	}
	return f, nil
}

// table are the addresses among the words that are of groups, or that are not.
func table(words []string, groups bool) []string {
	var out []string
	for _, w := range words {
		if mac, group, ok := address(w); ok && group == groups {
			out = append(out, mac)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// address reads an Ethernet address; that of nobody is none.
func address(s string) (mac string, group, ok bool) {
	hw, err := net.ParseMAC(s)
	if err != nil || len(hw) != 6 || slices.Equal(hw, make(net.HardwareAddr, 6)) {
		return "", false, false
	}
	return hw.String(), hw[0]&1 != 0, true
}

// Equal reports whether both want the same.
func (f Filter) Equal(o Filter) bool {
	return f.MAC == o.MAC && f.AllMulticast == o.AllMulticast && f.Promiscuous == o.Promiscuous &&
		slices.Equal(f.Unicast, o.Unicast) && slices.Equal(f.Multicast, o.Multicast)
}
