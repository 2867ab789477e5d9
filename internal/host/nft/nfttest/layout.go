package nfttest

import "taproom/internal/host/nft"

// Layout is a transaction that uses every object and expression of the subset that family ip has.
func Layout() *nft.Transaction {
	x := &nft.Transaction{}
	x.Add(nft.Table{Family: nft.IPv4, Name: TableName, Comment: "of the suite"})
	for _, s := range sets() {
		x.Add(s)
	}
	chain := nft.Chain{Family: nft.IPv4, Table: TableName}
	for _, name := range []string{"masq", "last", "to", "nat"} {
		chain.Name = name
		x.Add(chain)
	}
	x.Add(base("forward", "filter", "forward", 0, "accept"))
	x.Add(base("early", "filter", "forward", -7, "drop"))
	x.Add(base("postrouting", "nat", "postrouting", 100, "accept"))
	x.Add(base("prerouting", "nat", "prerouting", -100, "accept"))
	x.Add(base("sent", "nat", "output", -100, "accept"))
	for _, r := range rules() {
		x.Add(r)
	}
	return x
}

func base(name, kind, hook string, priority int32, policy string) nft.Chain {
	return nft.Chain{Family: nft.IPv4, Table: TableName, Name: name, Type: kind, Hook: hook, Priority: priority, Policy: policy}
}

func set(name, kind string) nft.Set {
	return nft.Set{Family: nft.IPv4, Table: TableName, Name: name, Type: kind}
}

func sets() []nft.Set {
	hosts := set("hosts", "ipv4_addr")
	hosts.Comment = "with a comment"
	return []nft.Set{
		set("bridges", "ifname"), set("same", "ifname . ifname"), set("net24", "ifname . ipv4_addr"), hosts,
		set("flows", "ipv4_addr . ipv4_addr"),
		dataMap("inward", "ipv4_addr . inet_proto . inet_service", "ipv4_addr . inet_service"),
		dataMap("twins", "ipv4_addr", "ipv4_addr"),
		dataMap("spans", "ipv4_addr", "interval ipv4_addr"),
		dataMap("outward", "ipv4_addr", "interval ipv4_addr . inet_service"),
		dynamic("seen", "ifname"),
	}
}

func dynamic(name, kind string) nft.Set {
	s := set(name, kind)
	s.Dynamic = true
	return s
}

func dataMap(name, kind, data string) nft.Set {
	m := set(name, kind)
	m.Data = data
	return m
}

func rules() []nft.Rule {
	rule := func(chain, comment string, exprs ...nft.Expr) nft.Rule {
		return nft.Rule{Family: nft.IPv4, Table: TableName, Chain: chain, Exprs: exprs, Comment: comment}
	}
	from := []nft.Term{{Field: nft.IIfName}, {Field: nft.IPSaddr, Bits: 24}}
	snat := func(name, data string) nft.NAT {
		return nft.NAT{Kind: "snat", Key: []nft.Term{{Field: nft.IPSaddr, Bits: 24}}, Map: name, Data: data}
	}
	dnat := nft.NAT{Kind: "dnat", Map: "inward", Data: "ipv4_addr . inet_service"}
	dnat.Key = []nft.Term{{Field: nft.IPDaddr}, {Field: nft.L4Proto}, {Field: nft.THDport}}
	return []nft.Rule{
		rule("masq", "", nft.Match{Field: nft.IPDaddr, Value: "224.0.0.0/24"}, nft.Return()),
		rule("masq", "", nft.Match{Field: nft.IPDaddr, Value: "10.16.0.0/12"}, nft.Drop()),
		rule("masq", "", nft.Match{Field: nft.IPDaddr, Value: "255.255.255.255"}, nft.Return()),
		rule("masq", "ports that guests may look like", nft.Match{Field: nft.L4Proto, Value: "tcp"}, nft.Masquerade{Min: 1024, Max: 65535}),
		rule("masq", "", nft.Match{Field: nft.L4Proto, Value: "udp"}, nft.Masquerade{Min: 2000}),
		rule("masq", "", nft.Counter{}, nft.Masquerade{}),
		rule("to", "", nft.Established|nft.Related, nft.In{Key: from, Set: "net24"}, nft.Accept()),
		rule("to", "", nft.Match{Field: nft.IIfName, Not: true, Value: "eth0"}, nft.Match{Field: nft.UDPDport, Value: "67"}, nft.Accept()),
		rule("to", "", nft.Match{Field: nft.TCPDport, Value: "443"}, nft.Verdict{Kind: "goto", Chain: "last"}),
		rule("forward", "", nft.In{Key: []nft.Term{{Field: nft.IIfName}, {Field: nft.OIfName}}, Set: "same"}, nft.Accept()),
		rule("forward", "", nft.Count{Field: nft.IIfName, Set: "seen"}, nft.Jump("to")),
		rule("forward", "", nft.In{Key: []nft.Term{{Field: nft.IPSaddr, Bits: 8}, {Field: nft.IPDaddr}}, Set: "flows"}, nft.Accept()),
		rule("forward", "", nft.In{Key: []nft.Term{{Field: nft.OIfName}}, Set: "bridges"}, nft.Reject{}),
		rule("forward", "", nft.In{Key: []nft.Term{{Field: nft.IIfName}}, Not: true, Set: "bridges"}, nft.Reject{With: "icmp host-unreachable"}),
		rule("postrouting", "", nft.In{Key: []nft.Term{{Field: nft.IPSaddr, Bits: 24}}, Set: "hosts"},
			nft.In{Key: []nft.Term{{Field: nft.IPDaddr, Bits: 24}}, Not: true, Set: "hosts"}, nft.Jump("masq")),
		rule("prerouting", "", nft.Local{}, dnat),
		rule("to", "", nft.DNATted{}, nft.Established, nft.Accept()),
		rule("nat", "", nft.Match{Field: nft.L4Proto, Value: "tcp"}, snat("outward", "interval ipv4_addr . inet_service")),
		rule("nat", "", snat("spans", "interval ipv4_addr")),
		rule("nat", "", snat("twins", "ipv4_addr")),
	}
}

// Want is the table that Layout makes, as `nft list table` prints it.
const Want = `table ip suite {
	comment "of the suite"
	set bridges {
		type ifname
	}

	set same {
		type ifname . ifname
	}

	set net24 {
		type ifname . ipv4_addr
	}

	set hosts {
		type ipv4_addr
		comment "with a comment"
	}

	set flows {
		type ipv4_addr . ipv4_addr
	}

	map inward {
		type ipv4_addr . inet_proto . inet_service : ipv4_addr . inet_service
	}

	map twins {
		type ipv4_addr : ipv4_addr
	}

	map spans {
		type ipv4_addr : interval ipv4_addr
	}

	map outward {
		type ipv4_addr : interval ipv4_addr . inet_service
	}

	set seen {
		type ifname
		size 12288
		flags dynamic
	}

	chain masq {
		ip daddr 224.0.0.0/24 return
		ip daddr 10.16.0.0/12 drop
		ip daddr 255.255.255.255 return
		meta l4proto tcp masquerade to :1024-65535 comment "ports that guests may look like"
		meta l4proto udp masquerade to :2000
		counter packets 0 bytes 0 masquerade
	}

	chain last {
	}

	chain to {
		ct state established,related iifname . ip saddr & 255.255.255.0 @net24 accept
		iifname != "eth0" udp dport 67 accept
		tcp dport 443 goto last
		ct status dnat ct state established accept
	}

	chain nat {
		meta l4proto tcp snat ip to ip saddr & 255.255.255.0 map @outward
		snat ip to ip saddr & 255.255.255.0 map @spans
		snat to ip saddr & 255.255.255.0 map @twins
	}

	chain forward {
		type filter hook forward priority filter; policy accept;
		iifname . oifname @same accept
		update @seen { iifname counter } jump to
		ip saddr & 255.0.0.0 . ip daddr @flows accept
		oifname @bridges reject
		iifname != @bridges reject with icmp host-unreachable
	}

	chain early {
		type filter hook forward priority filter - 7; policy drop;
	}

	chain postrouting {
		type nat hook postrouting priority srcnat; policy accept;
		ip saddr & 255.255.255.0 == @hosts ip daddr & 255.255.255.0 != @hosts jump masq
	}

	chain prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		fib daddr type local dnat ip to ip daddr . meta l4proto . th dport map @inward
	}

	chain sent {
		type nat hook output priority -100; policy accept;
	}
}
`
