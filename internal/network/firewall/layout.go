package firewall

import (
	"fmt"
	"slices"

	"taproom/internal/host/nft"
)

// Names of sets and chains. guestsIn, guestsOut and postrouting hold the rules of each prefix length.
const (
	bridges = "bridges"
	same    = "same"

	guestsIn    = "guests_in"
	guestsOut   = "guests_out"
	guestsNAT   = "guests_nat"
	forward     = "forward"
	input       = "input"
	output      = "output"
	postrouting = "postrouting"
)

func (f *Firewall) object() nft.Table {
	return nft.Table{Family: nft.IPv4, Name: f.table, Comment: "guest networks of taproom"}
}

func (f *Firewall) set(name string) nft.Set {
	return nft.Set{Family: nft.IPv4, Table: f.table, Name: name, Type: setType(name)}
}

func (f *Firewall) chain(name string) nft.Chain {
	return nft.Chain{Family: nft.IPv4, Table: f.table, Name: name}
}

func (f *Firewall) base(name, kind string, priority int32) nft.Chain {
	c := f.chain(name)
	c.Type, c.Hook, c.Priority, c.Policy = kind, name, priority, "accept"
	return c
}

// chains in the order of their creation: what is jumped to comes first.
func (f *Firewall) chains() []nft.Chain {
	return []nft.Chain{
		f.chain(guestsIn), f.chain(guestsOut), f.chain(guestsNAT),
		f.base(forward, "filter", 0), f.base(input, "filter", 0), f.base(output, "filter", 0),
		f.base(postrouting, "nat", 100),
	}
}

func (f *Firewall) rule(chain, comment string, exprs ...nft.Expr) nft.Rule {
	return nft.Rule{Family: nft.IPv4, Table: f.table, Chain: chain, Exprs: exprs, Comment: comment}
}

func in(set string, key ...nft.Term) nft.In { return nft.In{Key: key, Set: set} }

// constant returns the rules that exist once, whatever networks there are.
func (f *Firewall) constant() []nft.Rule {
	iif, oif := nft.Term{Field: nft.IIfName}, nft.Term{Field: nft.OIfName}
	daddr := func(v string) nft.Expr { return nft.Match{Field: nft.IPDaddr, Value: v} }
	ports := nft.Masquerade{Min: 1024, Max: 65535}
	proto := func(v string) nft.Expr { return nft.Match{Field: nft.L4Proto, Value: v} }
	out := []nft.Rule{
		f.rule(forward, "stays on its bridge", in(same, iif, oif), nft.Accept()),
		f.rule(forward, "", nft.Jump(guestsIn)),
		f.rule(forward, "nothing else to guests", in(bridges, oif), nft.Reject{}),
		f.rule(forward, "", nft.Jump(guestsOut)),
		f.rule(forward, "nothing else from guests", in(bridges, iif), nft.Reject{}),

		f.rule(guestsNAT, "", daddr("224.0.0.0/24"), nft.Return()),
		f.rule(guestsNAT, "", daddr("255.255.255.255"), nft.Return()),
		// A server that trusts low ports (NFS) must not take a guest for a privileged program of the host.
		f.rule(guestsNAT, "", proto("tcp"), ports),
		f.rule(guestsNAT, "", proto("udp"), ports),
		f.rule(guestsNAT, "", nft.Masquerade{}),
	}
	accept := func(chain string, bridge nft.Term, port nft.Field, n, comment string) {
		out = append(out, f.rule(chain, comment, in(bridges, bridge), nft.Match{Field: port, Value: n}, nft.Accept()))
	}
	accept(input, iif, nft.UDPDport, "67", "DHCP")
	accept(input, iif, nft.UDPDport, "53", "DNS")
	accept(input, iif, nft.TCPDport, "53", "DNS")
	accept(output, oif, nft.UDPDport, "68", "DHCP")
	accept(output, oif, nft.UDPDport, "53", "DNS")
	accept(output, oif, nft.TCPDport, "53", "DNS")
	return out
}

func netSet(bits int) string { return fmt.Sprintf("net%d", bits) }
func natSet(bits int) string { return fmt.Sprintf("nat%d", bits) }

// lengthRules returns the rules of one prefix length.
func (f *Firewall) lengthRules(bits int) []nft.Rule {
	iif, oif := nft.Term{Field: nft.IIfName}, nft.Term{Field: nft.OIfName}
	saddr, daddr := nft.Term{Field: nft.IPSaddr, Bits: bits}, nft.Term{Field: nft.IPDaddr, Bits: bits}
	elsewhere := in(natSet(bits), daddr)
	elsewhere.Not = true // what stays in the network, also bridged under br_netfilter, keeps its source
	return []nft.Rule{
		f.rule(guestsIn, "", nft.Established|nft.Related, in(netSet(bits), oif, daddr), nft.Accept()),
		f.rule(guestsOut, "", in(netSet(bits), iif, saddr), nft.Accept()),
		f.rule(postrouting, "", in(natSet(bits), saddr), elsewhere, nft.Jump(guestsNAT)),
	}
}

// addBase appends the table without any prefix length.
func (f *Firewall) addBase(x *nft.Transaction) {
	x.Create(f.object())
	x.Add(f.set(bridges))
	x.Add(f.set(same))
	for _, c := range f.chains() {
		x.Add(c)
	}
	for _, r := range f.constant() {
		x.Add(r)
	}
}

// addLength appends the sets and rules of one prefix length.
func (f *Firewall) addLength(x *nft.Transaction, bits int) {
	x.Add(f.set(netSet(bits)))
	x.Add(f.set(natSet(bits)))
	for _, r := range f.lengthRules(bits) {
		x.Add(r)
	}
}

// lengths returns the prefix lengths that the table has, or the elements need, in order.
func lengths(l *nft.Listing, elements []Element) []int {
	have := map[int]bool{}
	if l != nil {
		for _, s := range l.Sets {
			have[prefixLength(s.Name)] = true
		}
	}
	for _, e := range elements {
		have[prefixLength(e.Set)] = true
	}
	delete(have, 0)
	out := make([]int, 0, len(have))
	for n := range have {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// intact reports whether the table is as it would be made for its prefix lengths. The rules of different lengths may be
// in any order among themselves: networks came in any order.
func (f *Firewall) intact(l *nft.Listing) bool {
	lens := lengths(l, nil)
	if len(l.Sets) != 2+2*len(lens) || len(l.Chains) != len(f.chains()) {
		return false
	}
	for _, s := range l.Sets {
		s.Handle = 0
		if s.Type == "" || s != f.set(s.Name) {
			return false
		}
	}
	for _, c := range f.chains() {
		got, ok := l.Chain(c.Name)
		got.Handle = 0
		if !ok || got != c {
			return false
		}
	}
	want := f.constant()
	for _, n := range lens {
		want = append(want, f.lengthRules(n)...)
	}
	if len(want) != len(l.Rules) {
		return false
	}
	for _, c := range f.chains() {
		a, b := texts(want, c.Name), texts(l.Rules, c.Name)
		if c.Name == guestsIn || c.Name == guestsOut || c.Name == postrouting {
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
