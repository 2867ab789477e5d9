package nft_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host/nft"
)

// ofBridge has what only family bridge can say.
func ofBridge() *nft.Transaction {
	x := other(nft.Bridge, nft.Chain{Name: "first"}, nft.Chain{Name: "second"},
		nft.Chain{Name: "f", Type: "filter", Hook: "forward", Priority: -200, Policy: "accept"})
	set := nft.Set{Family: nft.Bridge, Table: "other"}
	for name, kind := range map[string]string{"four": "ifname . ipv4_addr", "six": "ifname . ipv6_addr", "macs": "ifname . ether_addr", "raw": nft.RawType(6), "kinds": nft.RawType(2)} {
		set.Name, set.Type = name, kind
		x.Add(set)
	}
	set.Name, set.Type, set.Data = "ports", "ifname", "verdict"
	x.Add(set)
	x.Add(nft.Elements{Set: set, Keys: []string{"vnet0 : goto first", "vnet1 : drop"}})
	set.Name, set.Type, set.Data = "raw", nft.RawType(6), ""
	x.Add(nft.Elements{Set: set, Keys: []string{"vnet0 . 0x525400000001", "vnet1 . 0x0", "vnet2 . 0x100"}})
	ether := func(v string) nft.Expr { return nft.Match{Field: nft.EtherType, Value: v} }
	in := func(set string, not bool, fields ...nft.Field) nft.Expr {
		m := nft.In{Set: set, Not: not}
		for _, f := range fields {
			m.Key = append(m.Key, nft.Term{Field: f})
		}
		return m
	}
	for _, e := range [][]nft.Expr{
		{nft.VerdictMap{Key: []nft.Term{{Field: nft.IIfName}}, Map: "ports"}},
		{nft.Bytes{Base: nft.NetworkHeader, Offset: 12, Mask: "\xff\xff\xff\x00", Value: "\x0a\x00\x00\x00"}, nft.Counter{}, nft.Drop()},
		{nft.Bytes{Base: nft.LinkHeader, Offset: 6, Mask: "\xff\xff\x00\x00\x00\x00", Value: "\x52\x54\x00\x00\x00\x00", Not: true}, nft.Accept()},
		{nft.Bytes{Base: nft.TransportHeader, Offset: 2, Value: "\x00\x16", Last: "\x00\x50"}, nft.Jump("second")},
		{nft.Bytes{Base: nft.TransportHeader, Offset: 2, Value: "\x00\x16", Last: "\x00\x50", Not: true}, nft.Drop()},
		{nft.Bytes{Base: nft.NetworkHeader, Offset: 8, Value: "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"}, nft.Drop()},
		{ether("ip"), in("four", true, nft.IIfName, nft.IPSaddr), nft.Drop()},
		{ether("ip6"), in("six", false, nft.OIfName, nft.IP6Daddr), nft.Return()},
		{ether("arp"), in("four", false, nft.IIfName, nft.ARPSaddrIP), in("macs", true, nft.IIfName, nft.ARPSaddrEther), nft.Drop()},
		{ether("arp"), in("four", false, nft.IIfName, nft.ARPDaddrIP), in("macs", true, nft.IIfName, nft.ARPDaddrEther), nft.Drop()},
		{ether("0x8035"), in("macs", true, nft.OIfName, nft.EtherDaddr), nft.Drop()},
		{ether("0x8035"), in("raw", false, nft.OIfName, nft.Raw(nft.NetworkHeader, 8, 6)), nft.Return()},
		{in("kinds", true, nft.IIfName, nft.Raw(nft.LinkHeader, 16, 2)), nft.Drop()},
		{nft.Match{Field: nft.L4Proto, Value: "132"}, nft.Bytes{Base: nft.TransportHeader, Offset: 2, Value: "\x00\x16"}, nft.Drop()},
		{nft.Marked{Mask: 0x00f00000, Value: 0x00100000}, nft.Mark{Keep: 0xff0fffff, Set: 0x00200000}},
		{nft.Marked{Mask: 0x00f00000, Value: 0x00100000, Not: true}, nft.Mark{Keep: 0xff0fffff}, nft.Accept()},
		{nft.TCPOption{Kind: 5}, nft.Drop()},
		{ether("ip6"), nft.LaterFragment{}, nft.Drop()},
		{nft.TCPOption{Kind: 200, Missing: true}, nft.Drop()},
	} {
		x.Add(nft.Rule{Family: nft.Bridge, Table: "other", Chain: "f", Exprs: e})
	}
	return x
}

// ofConnections has what counts connections and notes their state for the bridge to see.
func ofConnections() *nft.Transaction {
	x := other(nft.INet, nft.Chain{Name: "f", Type: "filter", Hook: "prerouting", Priority: -140, Policy: "accept"})
	many := nft.Set{Family: nft.INet, Table: "other", Name: "many", Type: "ipv4_addr", Dynamic: true}
	x.Add(many)
	for _, e := range [][]nft.Expr{
		{nft.Reply, nft.Mark{Keep: 0xff7fffff, Set: 0x00800000}},
		{nft.Bytes{Base: nft.LinkHeader, Mask: "\xff\xff\xff\xff\xff\xf0", Value: "\x01\x80\xc2\x00\x00\x00"}, nft.Drop()},
		{nft.Bytes{Base: nft.LinkHeader, Offset: 6, Value: "\x02\x00\x00\x00\x00\x01", Not: true}, nft.Drop()},
		{nft.New, nft.OverLimit{Key: []nft.Term{{Field: nft.IPSaddr}}, Set: "many", Count: 5}, nft.Drop()},
	} {
		x.Add(nft.Rule{Family: nft.INet, Table: "other", Chain: "f", Exprs: e})
	}
	return x
}

// What was sent of a bridge's rules is read back by the kernel's dump.
func TestTheRulesOfABridgeAreDumpedAsTheyWereSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		x     *nft.Transaction
		f     nft.Family
		lists string
	}{"bridge": {ofBridge(), nft.Bridge, "oifname . @nh,64,48 @raw return"}, "connections": {ofConnections(), nft.INet, "ct count over 5"}} {
		ns, conn := open(t)
		if err := conn.Commit(context.Background(), c.x); err != nil {
			t.Fatal(err)
		}
		if listed := ns.Run("nft", "list", "table", c.f.String(), "other"); !strings.Contains(listed, c.lists) {
			t.Errorf("%s: nft lists no %q:\n%s", name, c.lists, listed)
		}
		l, err := conn.Dump(context.Background(), c.f, "other")
		if err != nil {
			t.Fatal(err)
		}
		sent := &nft.Fake{}
		if err := sent.Commit(context.Background(), c.x); err != nil {
			t.Fatal(err)
		}
		want, err := sent.Dump(context.Background(), c.f, "other")
		if err != nil {
			t.Fatal(err)
		}
		for _, chain := range want.Chains {
			if d := cmp.Diff(texts(want.RulesOf(chain.Name)), texts(l.RulesOf(chain.Name))); d != "" {
				t.Errorf("%s, chain %s (-sent +dumped):\n%s", name, chain.Name, d)
			}
		}
		if d := cmp.Diff(want.Elements, l.Elements); d != "" {
			t.Errorf("%s, elements (-sent +dumped):\n%s", name, d)
		}
	}
}

func texts(rules []nft.Rule) (out []string) {
	for _, r := range rules {
		out = append(out, r.Text())
	}
	return out
}
