package firewall

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"taproom/internal/host/nft"
)

// What the sets of a prefix length begin with; their names end with the length.
const (
	netSets = "net"
	natSets = "nat"
	inSets  = "in"
	// byDev marks the sets of networks that have one link as their way out.
	byDev = "dev"
)

// group is sets and rules that come together, with the first element that needs them. The zero group is none.
type group struct {
	bits  int    // the prefix length of the networks
	byDev bool   // of those that have one link as their way out
	as    lookAs // of those that look like something particular to the outside
	ports Ports  // with asPorts
}

func (g group) compare(o group) int {
	return cmp.Or(cmp.Compare(g.bits, o.bits), cmp.Compare(g.prefix(), o.prefix()), cmp.Compare(g.as, o.as),
		cmp.Compare(g.ports.First, o.ports.First), cmp.Compare(g.ports.Last, o.ports.Last))
}

// prefix is what the names of its sets begin with.
func (g group) prefix() string {
	if g.byDev {
		return byDev
	}
	return ""
}

func (g group) set(kind string) string { return g.prefix() + kind + strconv.Itoa(g.bits) }

// sets are the names of its sets.
func (g group) sets() []string {
	if g.isForward() {
		return g.forwardSetNames()
	}
	if g.as != asUsual {
		return g.outwardSets()
	}
	return []string{g.set(netSets), g.set(natSets), g.set(inSets)}
}

var setForm = regexp.MustCompile(`^(?:(dev)?(net|nat|in)|(snat|snatports|ports))([1-9][0-9]{0,2})(?:_([0-9]+)_([0-9]+))?$`)

// groupOf returns the group that a set is of, and which of it.
func (t table) groupOf(set string) (g group, kind string) {
	if g, kind := t.forwardGroup(set); kind != "" {
		return g, kind
	}
	m := setForm.FindStringSubmatch(set)
	if m == nil {
		return group{}, ""
	}
	n, err := strconv.Atoi(m[4])
	if err != nil || n > t.longest() {
		return group{}, ""
	}
	g, kind = group{bits: n, byDev: m[1] != ""}, m[2]+m[3]
	switch kind {
	case snatSets, snatPortsSets:
		g.as = asAddresses
	case portsSets:
		g.as = asPorts
		g.ports, err = ParsePorts(m[5] + "-" + m[6])
	}
	// A name has one form, or it would read back as another.
	if err != nil || !slices.Contains(g.sets(), set) || g.as == asAddresses && t.v6() {
		return group{}, ""
	}
	return g, kind
}

// groupType is the type of a set of a group.
func (t table) groupType(g group, kind string) string {
	if g.isForward() {
		key, _ := t.forwardType(kind)
		return key
	}
	if g.as != asUsual {
		key, _ := t.outwardType(kind)
		return key
	}
	address := "ipv4_addr"
	if t.v6() {
		address = "ipv6_addr"
	}
	var parts []string
	if kind != natSets {
		parts = append(parts, "ifname")
	}
	parts = append(parts, address)
	if g.byDev {
		parts = append(parts, "ifname")
	}
	return strings.Join(parts, " . ")
}

// groupRules returns the rules of one group.
func (t table) groupRules(g group) []nft.Rule {
	if g.isForward() {
		return t.forwardRules(g)
	}
	if g.as != asUsual {
		return t.outwardRules(g)
	}
	iif, oif := []nft.Term{{Field: nft.IIfName}}, []nft.Term{{Field: nft.OIfName}}
	saddr := t.saddr(g)
	daddr := nft.Term{Field: nft.IPDaddr, Bits: saddr.Bits}
	if t.v6() {
		daddr.Field = nft.IP6Daddr
	}
	out, back := append(iif, saddr), append(oif, daddr)
	natted := []nft.Term{saddr}
	var elsewhere []nft.Expr
	if g.byDev {
		out, back, natted = append(out, oif[0]), append(back, iif[0]), append(natted, oif[0])
	} else {
		stays := in(g.set(natSets), daddr)
		stays.Not = true // what stays in the network, also bridged under br_netfilter, keeps its source
		elsewhere = append(elsewhere, stays)
	}
	nat := append([]nft.Expr{in(g.set(natSets), natted...)}, elsewhere...)
	return []nft.Rule{
		t.rule(guestsIn, "", nft.Established|nft.Related, in(g.set(netSets), back...), countReceived(), nft.Accept()),
		t.rule(guestsOut, "", in(g.set(netSets), out...), countSent(), nft.Accept()),
		t.rule(postrouting, "", append(nat, nft.Jump(guestsNAT))...),
		t.rule(guestsIn, "", in(g.set(inSets), back...), countReceived(), nft.Jump(guestsReach)),
	}
}

// saddr is the subnet of the sender, by the length of a group.
func (t table) saddr(g group) nft.Term {
	saddr := nft.Term{Field: nft.IPSaddr, Bits: g.bits}
	if t.v6() {
		saddr.Field = nft.IP6Saddr
	}
	if g.bits == t.longest() { // nft lists a mask of all bits as none
		saddr.Bits = 0
	}
	return saddr
}
