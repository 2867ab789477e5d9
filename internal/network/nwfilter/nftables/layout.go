package nftables

import (
	"taproom/internal/host/nft"
)

// The constant sets of the table.
const (
	mapOut     = "out"     // port: the chain of what it sends
	mapIn      = "in"      // port: the chain of what it gets
	setPorts   = "ports"   // all ports; in each table
	setTracked = "tracked" // those whose Program asks for the state of connections
)

// behind is a priority behind br_netfilter's in the hooks of bridges (NF_BR_PRI_BRNF is 0), and before one before it.
const (
	before = -10
	behind = 10
	last   = 20
	// noting is behind conntrack's priority in the hooks of IP (NF_IP_PRI_CONNTRACK is -200), and before all that filters.
	noting = -160
	// early is before all that counts or tracks (NF_IP_PRI_RAW).
	early = -300
)

// The tables, by what is told of each in lists.
const (
	inBridge = iota
	inINet
	inARP
	tables
)

func familyOf(table int) nft.Family { return [tables]nft.Family{nft.Bridge, nft.INet, nft.ARP}[table] }

// layout is the structure of one of the tables.
func layout(table int, name string, marking bool) *structure {
	switch table {
	case inINet:
		return inetTable(name, marking)
	case inARP:
		return arpTable(name)
	}
	return bridgeTable(name, marking)
}

// structure is what a table has whatever is attached.
type structure struct {
	table  nft.Table
	sets   []nft.Set
	chains []nft.Chain
	rules  []nft.Rule
}

func (s *structure) base(name, hook string, priority int32, rules ...[]nft.Expr) {
	s.chain(nft.Chain{Name: name, Type: "filter", Hook: hook, Priority: priority, Policy: "accept"}, rules...)
}

func (s *structure) chain(c nft.Chain, rules ...[]nft.Expr) {
	c.Family, c.Table = s.table.Family, s.table.Name
	s.chains = append(s.chains, c)
	for _, x := range rules {
		s.rules = append(s.rules, nft.Rule{Family: c.Family, Table: c.Table, Chain: c.Name, Exprs: x})
	}
}

// rulesOf are the rules of one chain.
func (s *structure) rulesOf(chain string) (out []nft.Rule) {
	for _, r := range s.rules {
		if r.Chain == chain {
			out = append(out, r)
		}
	}
	return out
}

// bridgeTable is the table of family bridge. Marking says that the state of connections comes in marks.
func bridgeTable(name string, marking bool) *structure {
	s := &structure{table: nft.Table{Family: nft.Bridge, Name: name, Comment: "network filters of guests"}}
	set := nft.Set{Family: nft.Bridge, Table: name, Type: "ifname"}
	for _, n := range []string{setPorts, setTracked} {
		set.Name = n
		s.sets = append(s.sets, set)
	}
	for _, n := range []string{mapOut, mapIn} {
		set.Name, set.Data = n, "verdict"
		s.sets = append(s.sets, set)
	}
	iif, oif := []nft.Term{{Field: nft.IIfName}}, []nft.Term{{Field: nft.OIfName}}
	from, to := nft.VerdictMap{Key: iif, Map: mapOut}, nft.VerdictMap{Key: oif, Map: mapIn}
	ordinary := reserved()
	ordinary.Not = true
	s.base("prerouting", "prerouting", behind, []nft.Expr{from})
	input := [][]nft.Expr{{ordinary, nft.Accept()}}
	for _, t := range []uint16{0x0800, 0x0806, 0x86dd} {
		input = append(input, []nft.Expr{etherType(t), nft.In{Key: iif, Set: setPorts}, nft.Drop()})
	}
	s.base("input", "input", behind, append(input, []nft.Expr{from})...)
	s.base("output", "output", behind, []nft.Expr{reserved(), to})
	s.base("postrouting", "postrouting", behind, []nft.Expr{to})
	if marking {
		s.base("asking", "prerouting", before, []nft.Expr{nft.In{Key: iif, Set: setTracked}, nft.Mark{Keep: all &^ (markBits | markAsked), Set: markAsked}})
		s.base("clearing", "prerouting", last, []nft.Expr{nft.Marked{Mask: markBits | markAsked, Not: true}, nft.Mark{Keep: all &^ (markBits | markAsked)}})
	}
	return s
}

const all uint32 = 1<<32 - 1

// reservedFrom drops what a port sends in frames to the groups that bridges keep to themselves: the kernel has it for the port's own.
func reservedFrom() []nft.Expr {
	return []nft.Expr{reserved(), nft.In{Key: []nft.Term{{Field: nft.IIfName}}, Set: setPorts}, nft.Drop()}
}

func reserved() nft.Bytes {
	return nft.Bytes{Base: nft.LinkHeader, Mask: "\xff\xff\xff\xff\xff\xf0", Value: "\x01\x80\xc2\x00\x00\x00"}
}

// arpTable is the table of family arp.
func arpTable(name string) *structure {
	s := &structure{table: nft.Table{Family: nft.ARP, Name: name, Comment: "network filters of guests"}}
	s.sets = []nft.Set{{Family: nft.ARP, Table: name, Name: setPorts, Type: "ifname"}}
	s.base("input", "input", 0, reservedFrom())
	return s
}

// inetTable is the table of family inet. With marking it notes the state of connections in marks.
func inetTable(name string, marking bool) *structure {
	s := &structure{table: nft.Table{Family: nft.INet, Name: name, Comment: "network filters of guests"}}
	s.sets = []nft.Set{{Family: nft.INet, Table: name, Name: setPorts, Type: "ifname"}}
	s.base("reserved", "prerouting", early, reservedFrom())
	if !marking {
		return s
	}
	set := func(bit uint32) nft.Mark { return nft.Mark{Keep: all &^ bit, Set: bit} }
	s.chain(nft.Chain{Name: "note"},
		[]nft.Expr{nft.Mark{Keep: all &^ markBits}},
		[]nft.Expr{nft.New, set(markNew)},
		[]nft.Expr{nft.Established, set(markEstablished)},
		[]nft.Expr{nft.Related, set(markRelated)},
		[]nft.Expr{nft.Invalid, set(markInvalid)},
		[]nft.Expr{nft.Reply, set(markReply)},
	)
	s.base("prerouting", "prerouting", noting, []nft.Expr{nft.Marked{Mask: markAsked, Value: markAsked}, nft.Jump("note")})
	s.base("forward", "forward", noting, []nft.Expr{nft.Jump("note")})
	s.base("output", "output", noting, []nft.Expr{nft.Jump("note")})
	return s
}
