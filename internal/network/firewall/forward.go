package firewall

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"taproom/internal/host/nft"
)

// The sets of ports of the host that lead to guests, and the chains that read them: guestsDNAT is where destinations are
// rewritten, of what comes in and of what the host sends.
const (
	forwardSets    = "forwards"     // a map: address, protocol and port of the host
	forwardAnySets = "forwards_any" // the same for every address of the host
	targetSets     = "targets"      // what guests are reached at
	hairpinSets    = "hairpin"      // networks whose guests reach each other that way; a set per prefix length

	guestsDNAT = "guests_dnat"
	prerouting = "prerouting"
	outputDNAT = "output_dnat"
	dstNAT     = -100 // the priority of what rewrites destinations
)

// The kinds of groups for them.
const (
	asForwarded lookAs = 0x10 + iota // those that are of no prefix length
	asHairpin
)

// forwardGroup is groupOf for these sets.
func (t table) forwardGroup(set string) (g group, kind string) {
	switch set {
	case forwardSets, forwardAnySets, targetSets:
		return group{as: asForwarded}, set
	}
	length, ok := strings.CutPrefix(set, hairpinSets)
	n, err := strconv.Atoi(length)
	if !ok || err != nil || n < 1 || n > t.longest() || strconv.Itoa(n) != length {
		return group{}, ""
	}
	return group{bits: n, as: asHairpin}, hairpinSets
}

// forwardSetNames are the names of the sets of such a group.
func (g group) forwardSetNames() []string {
	if g.as == asHairpin {
		return []string{hairpinSets + strconv.Itoa(g.bits)}
	}
	return []string{forwardSets, forwardAnySets, targetSets}
}

// isForward reports whether a group is one of these.
func (g group) isForward() bool { return g.as == asForwarded || g.as == asHairpin }

// forwardType is the type of a set of such a group and, of a map, what its keys lead to.
func (t table) forwardType(kind string) (key, data string) {
	address := "ipv4_addr"
	if t.v6() {
		address = "ipv6_addr"
	}
	const port = "inet_proto . inet_service"
	switch kind {
	case forwardSets:
		return address + " . " + port, address + " . inet_service"
	case forwardAnySets:
		return port, address + " . inet_service"
	case targetSets:
		return "ifname . " + address + " . " + port, ""
	}
	return "ifname . " + address, ""
}

// forwardRules are the rules of such a group.
func (t table) forwardRules(g group) []nft.Rule {
	oif, l4, port := nft.Term{Field: nft.OIfName}, nft.Term{Field: nft.L4Proto}, nft.Term{Field: nft.THDport}
	saddr, daddr := t.saddr(g), nft.Term{Field: nft.IPDaddr}
	if t.v6() {
		daddr.Field = nft.IP6Daddr
	}
	if g.as == asHairpin {
		// The guest would answer its neighbour by itself, who asked somebody else.
		return []nft.Rule{t.rule(postrouting, "", nft.DNATted{}, in(g.forwardSetNames()[0], oif, saddr), nft.Masquerade{})}
	}
	to := func(set string, key ...nft.Term) nft.NAT {
		_, data := t.forwardType(set)
		return nft.NAT{Kind: "dnat", Key: key, Map: set, Data: data}
	}
	saddr.Bits = 0
	back := in(targetSets, nft.Term{Field: nft.IIfName}, saddr, l4, nft.Term{Field: nft.THSport})
	return []nft.Rule{
		t.rule(guestsDNAT, "", nft.Local{}, to(forwardSets, daddr, l4, port)),
		t.rule(guestsDNAT, "", nft.Local{}, to(forwardAnySets, l4, port)),
		t.rule(guestsIn, "", nft.DNATted{}, in(targetSets, oif, daddr, l4, port), countReceived(), nft.Jump(guestsReach)),
		t.rule(guestsOut, "", nft.DNATted{}, nft.Established, back, countSent(), nft.Accept()),
	}
}

// rewriting returns the rules for ports that lead to guests which exist once. What comes from the loopback, or from an address
// that is known on one link alone, could not be answered from elsewhere.
func (t table) rewriting() []nft.Rule {
	daddr, keep := nft.IPDaddr, []string{"127.0.0.0/8"}
	if t.v6() {
		daddr, keep = nft.IP6Daddr, []string{"::1", "fe80::/10"}
	}
	out := []nft.Rule{
		t.rule(prerouting, "", nft.Jump(guestsDNAT)),
		t.rule(outputDNAT, "", nft.Jump(guestsDNAT)),
	}
	for _, k := range keep {
		out = append(out, t.rule(guestsDNAT, "", nft.Match{Field: daddr, Value: k}, nft.Return()))
	}
	return out
}

// forwardMember takes an element of such a set apart, which has the form of its type.
func (t table) forwardMember(e Element) (Member, error) {
	g, kind := t.forwardGroup(e.Set)
	m := Member{Kind: Kind(kind), V6: t.v6()}
	key, value, mapped := strings.Cut(e.Key, " : ")
	words := strings.Split(key, " . ")
	if m.Kind == KindTarget || m.Kind == KindHairpin {
		m.Bridge, words = words[0], words[1:]
	}
	var a netip.Addr
	var err error
	if m.Kind != KindForwardAny {
		a, err = netip.ParseAddr(words[0])
		words = words[1:]
	}
	if m.Kind == KindHairpin {
		m.Net = netip.PrefixFrom(a, g.bits)
		return m, err
	}
	port := func(s string) uint16 {
		n, perr := strconv.ParseUint(s, 10, 16)
		if perr != nil || n == 0 {
			err = cmp.Or(err, fmt.Errorf("%q is no port", s))
		}
		return uint16(n)
	}
	if m.Proto = words[0]; m.Proto != "tcp" && m.Proto != "udp" {
		err = cmp.Or(err, fmt.Errorf("ports of %s are not forwarded", m.Proto))
	}
	m.Host = netip.AddrPortFrom(a, port(words[1]))
	if !mapped {
		m.Host, m.Guest = netip.AddrPort{}, m.Host
		return m, err
	}
	to, toPort, _ := strings.Cut(value, " . ")
	guest, perr := netip.ParseAddr(to)
	m.Guest = netip.AddrPortFrom(guest, port(toPort))
	return m, cmp.Or(err, perr)
}

// forwardElement is the element of such a Member.
func (m Member) forwardElement() Element {
	end := func(a netip.AddrPort) string { return a.Addr().String() + " . " + strconv.Itoa(int(a.Port())) }
	e := Element{Set: string(m.Kind)}
	switch m.Kind {
	case KindForward:
		e.Key = fmt.Sprintf("%s . %s . %d : %s", m.Host.Addr(), m.Proto, m.Host.Port(), end(m.Guest))
	case KindForwardAny:
		e.Key = fmt.Sprintf("%s . %d : %s", m.Proto, m.Host.Port(), end(m.Guest))
	case KindTarget:
		e.Key = fmt.Sprintf("%s . %s . %s . %d", m.Bridge, m.Guest.Addr(), m.Proto, m.Guest.Port())
	default:
		e.Set += strconv.Itoa(m.Net.Bits())
		e.Key = m.Bridge + " . " + m.Net.Addr().String()
	}
	if m.V6 {
		e.Set = ip6 + e.Set
	}
	return e
}

// checkForward is check for an element of such a set, which has the form of its type.
func (t table) checkForward(e Element) error {
	m, err := t.forwardMember(e)
	if err != nil {
		return fmt.Errorf("%w: %s in %s: %w", ErrElement, e.Key, t.prefix()+e.Set, err)
	}
	if m.Kind == KindHairpin && m.Net.Masked() != m.Net {
		return fmt.Errorf("%w: %s in %s: the network of that address is %s", ErrElement, m.Net.Addr(), t.prefix()+e.Set, m.Net.Masked().Addr())
	}
	if want := m.Element().Key; want != e.Key { // it would read back so, and be planned again and again
		return fmt.Errorf("%w: write %s as %s", ErrElement, e.Key, want)
	}
	return nil
}

// ForwardPort are the elements by which a port of the host leads to a guest on a bridge. Without an address, that of every
// one of the host leads there.
func ForwardPort(proto string, from netip.AddrPort, bridge string, to netip.AddrPort) []Element {
	m := Member{Kind: KindForward, V6: to.Addr().Is6(), Proto: proto, Host: from, Guest: to}
	if !from.Addr().IsValid() {
		m.Kind = KindForwardAny
	}
	target := Member{Kind: KindTarget, V6: m.V6, Proto: proto, Bridge: bridge, Guest: to}
	return []Element{m.Element(), target.Element()}
}

// Hairpin is the element by which guests of a network reach each other by ports of the host.
func Hairpin(bridge string, subnet netip.Prefix) Element {
	return Member{Kind: KindHairpin, V6: subnet.Addr().Is6(), Bridge: bridge, Net: subnet.Masked()}.Element()
}
