package nftables

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"

	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
)

// valueSet is the prefix of the names of sets with the values of a slot.
const valueSet = "v-"

// Kinds of values in sets: nft's data types, and rawKind for bytes that nft has no name for.
const (
	kindMAC       = "ether_addr"
	kindIPv4      = "ipv4_addr"
	kindIPv6      = "ipv6_addr"
	kindPort      = "inet_service"
	kindProtocol  = "inet_proto"
	kindEtherType = "ether_type"
	kindRaw       = "raw"
)

// slotUse is a slot whose values are looked up as values of a kind. Each has a set of its own: nft compares the types of a key and
// its set.
type slotUse struct {
	slot nwfilter.Slot
	kind string
	name string // of the set, for all ports
}

func useOf(slot nwfilter.Slot, kind string) slotUse { return slotUse{slot, kind, setName(slot, kind)} }

// kindOf is the kind of a field in a rule of the protocol.
func kindOf(p nwfilter.Protocol, f nwfilter.Field) string {
	t, _ := p.EtherType()
	switch f {
	case nwfilter.EtherSrc, nwfilter.EtherDst:
		return kindMAC
	case nwfilter.EtherType:
		return kindEtherType
	case nwfilter.ARPSrcMAC, nwfilter.ARPDstMAC:
		if t == 0x0806 {
			return kindMAC
		}
	case nwfilter.ARPSrcIP, nwfilter.ARPDstIP:
		if t == 0x0806 {
			return kindIPv4
		}
	case nwfilter.IPv4Src, nwfilter.IPv4Dst:
		return kindIPv4
	case nwfilter.IPv6Src, nwfilter.IPv6Dst:
		return kindIPv6
	case nwfilter.SrcPort, nwfilter.DstPort:
		return kindPort
	case nwfilter.IPProtocol:
		return kindProtocol
	}
	return kindRaw
}

// slotUses are the sets that a Program looks into, sorted, and a set for each slot whose values only stand in rules, from which Observe
// reads them.
func slotUses(p *nwfilter.Program) []slotUse {
	var all []slotUse
	collect := func(rules []nwfilter.Rule) {
		for i := range rules {
			for j := range rules[i].Matches {
				m := &rules[i].Matches[j]
				if m.Slot == "" || !inSet(m.Field) {
					continue
				}
				if slot, err := slotOf(p, m.Slot); err == nil {
					all = append(all, useOf(slot, kindOf(rules[i].Protocol, m.Field)))
				}
			}
		}
	}
	for i := range p.Chains {
		collect(p.Chains[i].Rules)
	}
	collect(p.Packet)
	for _, slot := range p.Slots {
		if !slices.ContainsFunc(all, func(u slotUse) bool { return u.slot == slot }) {
			all = append(all, useOf(slot, kindRaw))
		}
	}
	slices.SortFunc(all, func(a, b slotUse) int {
		return cmp.Or(cmp.Compare(a.slot.Name, b.slot.Name), cmp.Compare(a.kind, b.kind))
	})
	return slices.Compact(all)
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9/._-]{1,60}$`)

// setName is the name of the set of a slot, for all ports.
func setName(s nwfilter.Slot, kind string) string {
	n := string(s.Name)
	if !plainName.MatchString(n) {
		h := sha256.Sum256([]byte(n))
		n = hex.EncodeToString(h[:10])
	}
	switch kind {
	case kindRaw:
		n += ".raw"
	case kindEtherType:
		n += ".type"
	}
	return valueSet + n
}

// set is the set of a slot.
func (u slotUse) set(table string) nft.Set {
	s := nft.Set{Family: nft.Bridge, Table: table, Name: u.name, Type: "ifname . " + u.kind, Comment: string(u.slot.Name)}
	if u.kind == kindRaw {
		s.Type = nft.RawType(u.slot.Width)
	}
	return s
}

// elements are a port's values as elements, by set.
func elements(p nwfilter.Port, uses []slotUse) (map[string][]string, error) {
	out := map[string][]string{}
	for _, u := range uses {
		for _, v := range p.Values[u.slot.Name] {
			if len(v) != u.slot.Width {
				return nil, fmt.Errorf("port %s, slot %s: a value of %d octets, want %d", p.Name, u.slot.Name, len(v), u.slot.Width)
			}
			t, err := text(u.kind, v)
			if err != nil {
				return nil, fmt.Errorf("port %s, slot %s: %w", p.Name, u.slot.Name, err)
			}
			out[u.name] = append(out[u.name], t)
		}
	}
	return out, nil
}
