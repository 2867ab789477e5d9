package firewall

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"taproom/internal/host/nft"
)

// The kinds of sets that say what guests behind NAT look like to the outside, and the chains that read them: first that for
// protocols with ports, then that for all.
const (
	snatSets      = "snat"
	snatPortsSets = "snatports"
	portsSets     = "ports"

	guestsPorts = "guests_ports"
	guestsSNAT  = "guests_snat"
)

// lookAs are the kinds of groups beside the first, which each network is in.
type lookAs uint8

const (
	asUsual     lookAs = iota
	asAddresses        // addresses that the network's document names
	asPorts            // ports that it names, of the outgoing link's address
)

// outwardType is the type of a set of such a group and, of a map, what its keys lead to.
func (t table) outwardType(kind string) (key, data string) {
	key = "ipv4_addr"
	if t.v6() {
		key = "ipv6_addr"
	}
	switch kind {
	case snatSets:
		data = "interval ipv4_addr"
	case snatPortsSets:
		data = "interval ipv4_addr . inet_service"
	}
	return key, data
}

// outwardSets are the names of the sets of such a group.
func (g group) outwardSets() []string {
	length := strconv.Itoa(g.bits)
	if g.as == asPorts {
		return []string{portsSets + length + "_" + strconv.Itoa(int(g.ports.First)) + "_" + strconv.Itoa(int(g.ports.Last))}
	}
	return []string{snatSets + length, snatPortsSets + length}
}

// outwardRules are the rules of such a group. What a map does not know goes on to the next rule.
func (t table) outwardRules(g group) []nft.Rule {
	saddr := t.saddr(g)
	var out []nft.Rule
	names := g.outwardSets()
	for _, p := range []string{"tcp", "udp"} {
		if g.as == asPorts {
			to := nft.Masquerade{Min: g.ports.First, Max: g.ports.Last}
			if to.Max == to.Min {
				to.Max = 0
			}
			out = append(out, t.rule(guestsPorts, "", proto(p), in(names[0], saddr), to))
			continue
		}
		out = append(out, t.rule(guestsPorts, "", proto(p), t.snat(names[1], snatPortsSets, saddr)))
	}
	if g.as == asAddresses {
		out = append(out, t.rule(guestsSNAT, "", t.snat(names[0], snatSets, saddr)))
	}
	return out
}

func (t table) snat(name, kind string, key nft.Term) nft.NAT {
	_, data := t.outwardType(kind)
	return nft.NAT{Kind: "snat", Key: []nft.Term{key}, Map: name, Data: data}
}

// sources reads what a map's element leads to.
func (m *Member) sources(element string, g group) error {
	key, value, _ := strings.Cut(element, " : ")
	address, ports, _ := strings.Cut(value, " . ")
	a, err := netip.ParseAddr(key)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrElement, err)
	}
	m.Net = netip.PrefixFrom(a, g.bits)
	if m.Sources, err = ParseAddresses(address); err == nil && m.Kind == KindSNATPorts {
		m.Ports, err = ParsePorts(ports)
	}
	return err
}

// outward is the element of a Member of such a group.
func (m Member) outward() Element {
	t := table{family: nft.IPv4, name: DefaultTable}
	prefix := ""
	if m.V6 {
		t.family, prefix = nft.IPv6, ip6
	}
	g := group{bits: m.Net.Bits(), as: asAddresses}
	key := m.Net.Addr().String()
	if m.Kind == KindPorts {
		g.as, g.ports = asPorts, m.Ports
		return Element{Set: prefix + g.sets()[0], Key: key}
	}
	set, value := g.sets()[0], m.Sources.String()
	if m.Kind == KindSNATPorts {
		set, value = g.sets()[1], value+" . "+m.Ports.String()
	}
	key += " : " + value
	if c, err := t.set(set).Canonical(key); err == nil {
		key = c
	}
	return Element{Set: prefix + set, Key: key}
}
