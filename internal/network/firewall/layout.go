package firewall

import (
	"maps"
	"slices"

	"taproom/internal/host/nft"
)

// Names of sets and chains. guestsIn, guestsOut and postrouting hold the rules of each group, and so do guestsPorts and guestsSNAT.
const (
	bridges = "bridges"
	same    = "same"

	guestsIn    = "guests_in"
	guestsOut   = "guests_out"
	guestsNAT   = "guests_nat"
	guestsReach = "guests_reach"
	forward     = "forward"
	input       = "input"
	output      = "output"
	postrouting = "postrouting"
)

// ip6 marks the elements of the IPv6 table: "ip6/net64" is the set net64 there.
const ip6 = "ip6/"

// table is one of the two tables: the same layout for each family.
type table struct {
	family nft.Family
	name   string
	flags  nft.TableFlags
}

// v6 reports whether it is the table of IPv6.
func (t table) v6() bool { return t.family == nft.IPv6 }

// longest is the length of an address.
func (t table) longest() int {
	if t.v6() {
		return 128
	}
	return 32
}

// prefix is what the names of its sets begin with in an Element.
func (t table) prefix() string {
	if t.v6() {
		return ip6
	}
	return ""
}

func (t table) object() nft.Table {
	return nft.Table{Family: t.family, Name: t.name, Comment: "guest networks of taproom", Flags: t.flags}
}

func (t table) set(name string) nft.Set {
	s := nft.Set{Family: t.family, Table: t.name, Name: name, Type: t.setType(name)}
	if g, kind := t.groupOf(name); g.isForward() {
		_, s.Data = t.forwardType(kind)
	} else if g.as != asUsual {
		_, s.Data = t.outwardType(kind)
	}
	if slices.Contains(countedSets(), name) {
		s.Type, s.Dynamic = "ifname", true
	}
	return s
}

func (t table) chain(name string) nft.Chain {
	return nft.Chain{Family: t.family, Table: t.name, Name: name}
}

func (t table) base(name, kind string, priority int32) nft.Chain {
	return t.hooked(name, kind, name, priority)
}

// hooked is a base chain whose name is not that of its hook.
func (t table) hooked(name, kind, hook string, priority int32) nft.Chain {
	c := t.chain(name)
	c.Type, c.Hook, c.Priority, c.Policy = kind, hook, priority, "accept"
	return c
}

// chains in the order of their creation: what is jumped to comes first.
func (t table) chains() []nft.Chain {
	return []nft.Chain{
		t.chain(guestsIn), t.chain(guestsOut), t.chain(guestsPorts), t.chain(guestsSNAT), t.chain(guestsNAT), t.chain(guestsReach), t.chain(guestsDNAT),
		t.base(forward, "filter", 0), t.base(input, "filter", 0), t.base(output, "filter", 0), t.base(postrouting, "nat", 100),
		t.base(prerouting, "nat", dstNAT), t.hooked(outputDNAT, "nat", output, dstNAT),
	}
}

func (t table) rule(chain, comment string, exprs ...nft.Expr) nft.Rule {
	return nft.Rule{Family: t.family, Table: t.name, Chain: chain, Exprs: exprs, Comment: comment}
}

func in(set string, key ...nft.Term) nft.In { return nft.In{Key: key, Set: set} }

func proto(v string) nft.Expr { return nft.Match{Field: nft.L4Proto, Value: v} }

// constant returns the rules that exist once, whatever networks there are.
func (t table) constant() []nft.Rule {
	iif, oif := nft.Term{Field: nft.IIfName}, nft.Term{Field: nft.OIfName}
	out := []nft.Rule{
		t.rule(forward, "stays on its bridge", in(same, iif, oif), nft.Accept()),
		t.rule(forward, "", nft.Jump(guestsIn)),
		t.rule(forward, "nothing else to guests", in(bridges, oif), nft.Reject{}),
		t.rule(forward, "", nft.Jump(guestsOut)),
		t.rule(forward, "nothing else from guests", in(bridges, iif), nft.Reject{}),
	}
	elsewhere := in(bridges, iif)
	elsewhere.Not = true
	out = append(out, t.rule(guestsReach, "from outside", elsewhere, nft.Accept()),
		t.rule(guestsReach, "from guests that may go out", nft.Jump(guestsOut)))
	return slices.Concat(out, t.rewriting(), t.masquerading(), t.services())
}

// masquerading returns the rules of guests_nat.
func (t table) masquerading() []nft.Rule {
	var out []nft.Rule
	daddr, local := nft.IPDaddr, []string{"224.0.0.0/24", "255.255.255.255"}
	if t.v6() {
		daddr, local = nft.IP6Daddr, []string{"ff02::/16"}
	}
	for _, l := range local {
		out = append(out, t.rule(guestsNAT, "", nft.Match{Field: daddr, Value: l}, nft.Return()))
	}
	ports := nft.Masquerade{Min: 1024, Max: 65535}
	return append(out,
		t.rule(guestsNAT, "", nft.Jump(guestsPorts)),
		t.rule(guestsNAT, "", nft.Jump(guestsSNAT)),
		// A server that trusts low ports (NFS) must not take a guest for a privileged program of the host.
		t.rule(guestsNAT, "", proto("tcp"), ports),
		t.rule(guestsNAT, "", proto("udp"), ports),
		t.rule(guestsNAT, "", nft.Masquerade{}))
}

// services returns the rules for what the host serves its guests. Of ICMPv6 nothing is left out: neighbours, routers and
// multicast groups need it, and errors must get through (RFC 4890, 4.4.1).
func (t table) services() []nft.Rule {
	iif, oif := nft.Term{Field: nft.IIfName}, nft.Term{Field: nft.OIfName}
	var out []nft.Rule
	accept := func(chain string, bridge nft.Term, port nft.Field, n, comment string) {
		out = append(out, t.rule(chain, comment, in(bridges, bridge), nft.Match{Field: port, Value: n}, nft.Accept()))
	}
	server, client := "67", "68"
	if t.v6() {
		server, client = "547", "546"
	}
	accept(input, iif, nft.UDPDport, server, "DHCP")
	accept(input, iif, nft.UDPDport, "53", "DNS")
	accept(input, iif, nft.TCPDport, "53", "DNS")
	accept(input, iif, nft.UDPDport, "69", "TFTP")
	accept(output, oif, nft.UDPDport, client, "DHCP")
	accept(output, oif, nft.UDPSport, "53", "DNS")
	accept(output, oif, nft.TCPSport, "53", "DNS")
	accept(output, oif, nft.UDPSport, "69", "TFTP")
	if t.v6() {
		accept(input, iif, nft.L4Proto, "ipv6-icmp", "neighbours, routers, groups, errors, echo")
		accept(output, oif, nft.L4Proto, "ipv6-icmp", "neighbours, routers, groups, errors, echo")
	}
	return out
}

// addBase appends the table without any group.
func (t table) addBase(x *nft.Transaction) {
	x.Create(t.object())
	x.Add(t.set(bridges))
	x.Add(t.set(same))
	for _, name := range countedSets() {
		x.Add(t.set(name))
	}
	for _, c := range t.chains() {
		x.Add(c)
	}
	for _, r := range t.constant() {
		x.Add(r)
	}
}

// addGroup appends the sets and rules of one group.
func (t table) addGroup(x *nft.Transaction, g group) {
	for _, name := range g.sets() {
		x.Add(t.set(name))
	}
	for _, r := range t.groupRules(g) {
		x.Add(r)
	}
}

// groups returns those that the table has, or the elements need, in order.
func (t table) groups(l *nft.Listing, elements []Element) []group {
	have := map[group]bool{}
	if l != nil {
		for _, s := range l.Sets {
			g, _ := t.groupOf(s.Name)
			have[g] = true
		}
	}
	for _, e := range elements {
		g, _ := t.groupOf(e.Set)
		have[g] = true
	}
	delete(have, group{})
	return slices.SortedFunc(maps.Keys(have), group.compare)
}

// intact reports whether the table is as it would be made for its groups. The rules of different groups may be in any order
// among themselves: networks came in any order.
func (t table) intact(l *nft.Listing) bool {
	groups := t.groups(l, nil)
	sets := 2 + len(countedSets())
	for _, g := range groups {
		sets += len(g.sets())
	}
	if len(l.Sets) != sets || len(l.Chains) != len(t.chains()) || l.Table.Flags != t.flags && !t.ownerless(l) {
		return false
	}
	for _, s := range l.Sets {
		s.Handle = 0
		if s.Type == "" || s != t.set(s.Name) {
			return false
		}
	}
	for _, c := range t.chains() {
		got, ok := l.Chain(c.Name)
		got.Handle = 0
		if !ok || got != c {
			return false
		}
	}
	want := t.constant()
	for _, g := range groups {
		want = append(want, t.groupRules(g)...)
	}
	if len(want) != len(l.Rules) {
		return false
	}
	for _, c := range t.chains() {
		a, b := texts(want, c.Name), texts(l.Rules, c.Name)
		switch c.Name {
		case guestsIn, guestsOut, guestsPorts, guestsSNAT, postrouting:
			slices.Sort(a)
			slices.Sort(b)
		}
		if !slices.Equal(a, b) {
			return false
		}
	}
	return true
}

func texts(rules []nft.Rule, chain string) []string {
	var out []string
	for _, r := range rules {
		if r.Chain == chain {
			out = append(out, r.Text())
		}
	}
	return out
}
