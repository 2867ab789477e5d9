package nfttest

import (
	"golang.org/x/sys/unix"

	"taproom/internal/host/nft"
)

// verdictMap holds that one transaction leads a key elsewhere and removes the chain that it led to before.
func verdictMap(s suite) {
	ports := dataMap("ports", "ifname", "verdict")
	chain := func(name string) nft.Chain { return nft.Chain{Family: nft.IPv4, Table: TableName, Name: name} }
	elements := func(e string) nft.Elements { return nft.Elements{Set: ports, Keys: []string{e}} }
	base := base("forward", "filter", "forward", 0, "accept")
	s.add(nft.Table{Family: nft.IPv4, Name: TableName}, ports, chain("old"), base, nft.Rule{
		Family: nft.IPv4, Table: TableName, Chain: "forward", Exprs: []nft.Expr{nft.VerdictMap{Key: []nft.Term{{Field: nft.IIfName}}, Map: "ports"}},
	}, elements("vnet0 : goto old"))
	x := &nft.Transaction{}
	x.Add(elements("vnet1 : goto nowhere"))
	s.refused(x, unix.ENOENT, "add element")
	x = &nft.Transaction{}
	x.Delete(chain("old"))
	s.refused(x, unix.EBUSY, "delete chain")
	x = &nft.Transaction{}
	x.Add(chain("new"))
	x.Delete(elements("vnet0 : goto old"))
	x.Add(elements("vnet0 : goto new"))
	x.Delete(chain("old"))
	s.commit(x)
	s.want(`table ip suite {
	map ports {
		type ifname : verdict
		elements = { "vnet0" : goto new }
	}

	chain forward {
		type filter hook forward priority filter; policy accept;
		iifname vmap @ports
	}

	chain new {
	}
}
`)
}
