package firewall

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"taproom/internal/host/nft"
)

// Kind is what an element says, whatever family and prefix length it is of.
type Kind string

// The kinds of elements; the package's comment says what each means.
const (
	KindBridge Kind = "bridges"
	KindSame   Kind = "same"
	KindNet    Kind = "net"
	KindNAT    Kind = "nat"
	KindIn     Kind = "in"

	KindSNAT      Kind = snatSets
	KindSNATPorts Kind = snatPortsSets
	KindPorts     Kind = portsSets

	KindForward    Kind = forwardSets
	KindForwardAny Kind = forwardAnySets
	KindTarget     Kind = targetSets
	KindHairpin    Kind = hairpinSets
)

// Member is an element taken apart, for a back end that has no sets.
type Member struct {
	Kind   Kind
	V6     bool
	Bridge string       // empty in a KindNAT
	To     string       // of a KindSame: the bridge that packets leave by
	Net    netip.Prefix // of all but KindBridge and KindSame
	Dev    string       // of a KindNet, KindNAT and KindIn: the one link that is the way out, if there is only one

	Sources Addresses // of a KindSNAT and KindSNATPorts: what guests look like
	Ports   Ports     // of a KindSNATPorts and KindPorts

	Proto string         // of a KindForward, KindForwardAny and KindTarget: tcp or udp
	Host  netip.AddrPort // of the first two: the host's port; without an address in the second
	Guest netip.AddrPort // of all three: where it leads
}

// Parse takes an element apart. An error is an ErrElement.
func Parse(e Element) (Member, error) {
	t := table{family: nft.IPv4, name: DefaultTable}
	if strings.HasPrefix(e.Set, ip6) {
		t.family = nft.IPv6
	}
	set := strings.TrimPrefix(e.Set, ip6)
	if err := t.check(Element{Set: set, Key: e.Key}); err != nil {
		return Member{}, err
	}
	if g, _ := t.forwardGroup(set); g.isForward() {
		return t.forwardMember(Element{Set: set, Key: e.Key})
	}
	m := Member{V6: t.v6(), Kind: Kind(set)}
	words := strings.Split(e.Key, " . ")
	g, kind := t.groupOf(set)
	switch {
	case set == same:
		m.Bridge, m.To = words[0], words[1]
		return m, nil
	case kind == "":
		m.Bridge = e.Key
		return m, nil
	}
	m.Kind = Kind(kind)
	switch m.Kind {
	case KindNet, KindIn:
		m.Bridge, words = words[0], words[1:]
	case KindSNAT, KindSNATPorts:
		return m, m.sources(e.Key, g)
	case KindPorts:
		m.Ports = g.ports
	}
	a, err := netip.ParseAddr(words[0])
	if err != nil {
		return Member{}, fmt.Errorf("%w: %w", ErrElement, err)
	}
	m.Net = netip.PrefixFrom(a, g.bits)
	if g.byDev {
		m.Dev = words[1]
	}
	return m, nil
}

// Element is the element that a Member was taken from.
func (m Member) Element() Element {
	var set string
	var key []string
	switch m.Kind {
	case KindBridge:
		set, key = bridges, []string{m.Bridge}
	case KindSame:
		set, key = same, []string{m.Bridge, m.To}
	case KindSNAT, KindSNATPorts, KindPorts:
		return m.outward()
	case KindForward, KindForwardAny, KindTarget, KindHairpin:
		return m.forwardElement()
	default:
		set = group{bits: m.Net.Bits(), byDev: m.Dev != ""}.set(string(m.Kind))
		if m.Kind != KindNAT {
			key = []string{m.Bridge}
		}
		key = append(key, m.Net.Addr().String())
		if m.Dev != "" {
			key = append(key, m.Dev)
		}
	}
	if m.V6 {
		set = ip6 + set
	}
	return Element{Set: set, Key: strings.Join(key, " . ")}
}

// Sort orders elements as Observe does.
func Sort(elements []Element) { slices.SortFunc(elements, compare) }

// Of returns those of the elements that are named, or all where none is.
func Of(elements, only []Element) []Element {
	if len(only) == 0 {
		return elements
	}
	named := make(map[Element]bool, len(only))
	for _, e := range only {
		named[e] = true
	}
	return slices.DeleteFunc(slices.Clone(elements), func(e Element) bool { return !named[e] })
}
