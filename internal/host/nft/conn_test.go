package nft_test

import (
	"context"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/host/nft/nfttest"
)

func open(t testing.TB) (*hosttest.NS, *nft.Conn) {
	t.Helper()
	ns := hosttest.NewNS(t)
	ns.Keep("table *")
	c, err := nft.Open(ns.Kernel())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return ns, c
}

func TestTheKernelPassesTheSuite(t *testing.T) {
	t.Parallel()
	nfttest.RunBackend(t, func(t *testing.T) nft.Backend { _, c := open(t); return c })
}

func TestTheFakePassesTheSuite(t *testing.T) {
	t.Parallel()
	nfttest.RunBackend(t, func(*testing.T) nft.Backend { return &nft.Fake{} })
}

// nftStdin runs `nft -f -` inside.
func nftStdin(t *testing.T, ns *hosttest.NS, text string) {
	t.Helper()
	c := exec.Command("nft", "-f", "-")
	c.Stdin = strings.NewReader(text)
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	if err := ns.Start(c); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("nft -f -: %v\n%s\n%s", err, out.String(), text)
	}
}

// withElements is the suite's layout with few enough elements that nft prints them on one line.
func withElements() *nft.Transaction {
	x := nfttest.Layout()
	s := nft.Set{Family: nft.IPv4, Table: nfttest.TableName, Name: "net24", Type: "ifname . ipv4_addr"}
	x.Add(nft.Elements{Set: s, Keys: []string{"virbr0 . 192.168.122.0"}})
	s.Name, s.Type = "bridges", "ifname"
	x.Add(nft.Elements{Set: s, Keys: []string{"virbr0"}})
	s.Name, s.Type = "hosts", "ipv4_addr"
	x.Add(nft.Elements{Set: s, Keys: []string{"192.0.2.1", "192.0.2.2"}})
	s.Name, s.Data = "spans", "interval ipv4_addr"
	x.Add(nft.Elements{Set: s, Keys: []string{"10.0.0.0 : 192.0.2.1-192.0.2.9", "10.0.1.0 : 192.0.2.1"}})
	s.Name, s.Data = "outward", "interval ipv4_addr . inet_service"
	x.Add(nft.Elements{Set: s, Keys: []string{"10.0.1.0 : 192.0.2.1 . 80", "10.0.2.0 : 192.0.2.0-192.0.2.7 . 80-90"}})
	s.Name, s.Type, s.Data = "inward", "ipv4_addr . inet_proto . inet_service", "ipv4_addr . inet_service"
	x.Add(nft.Elements{Set: s, Keys: []string{"192.0.2.1 . tcp . 80 : 10.0.0.2 . 8080"}})
	return x
}

func other(f nft.Family, chains ...nft.Chain) *nft.Transaction {
	x := &nft.Transaction{}
	x.Add(nft.Table{Family: f, Name: "other"})
	for _, c := range chains {
		c.Family, c.Table = f, "other"
		x.Add(c)
	}
	return x
}

func inet() *nft.Transaction {
	x := other(nft.INet, nft.Chain{Name: "in", Type: "filter", Hook: "input", Priority: 5, Policy: "accept", Comment: "a chain's"})
	x.Add(nft.Set{Family: nft.INet, Table: "other", Name: "six", Type: "ipv6_addr . inet_service"})
	x.Add(nft.Set{Family: nft.INet, Table: "other", Name: "macs", Type: "ether_addr"})
	x.Add(nft.Elements{Set: nft.Set{Family: nft.INet, Table: "other", Name: "macs", Type: "ether_addr"}, Keys: []string{"52:54:00:12:34:56"}})
	x.Add(nft.Elements{Set: nft.Set{Family: nft.INet, Table: "other", Name: "six", Type: "ipv6_addr . inet_service"}, Keys: []string{"2001:db8::1 . 53"}})
	for _, e := range [][]nft.Expr{
		{nft.Match{Field: nft.IPSaddr, Value: "192.0.2.0/25"}, nft.Drop()},
		{nft.Match{Field: nft.IP6Daddr, Value: "2001:db8::/64"}, nft.Match{Field: nft.TCPDport, Value: "53"}, nft.Drop()},
		{nft.Match{Field: nft.L4Proto, Value: "tcp"}, nft.Reject{}},
		{nft.Match{Field: nft.NFProto, Value: "ipv6"}, nft.Return()},
		{nft.New | nft.Invalid | nft.Untracked, nft.Reject{With: "icmpx admin-prohibited"}},
	} {
		x.Add(nft.Rule{Family: nft.INet, Table: "other", Chain: "in", Exprs: e})
	}
	return x
}

// six has what only family ip6 can say: long masks in keys, its own answers, ICMPv6.
func six() *nft.Transaction {
	x := other(nft.IPv6, nft.Chain{Name: "f", Type: "filter", Hook: "forward", Priority: 0, Policy: "accept"},
		nft.Chain{Name: "n", Type: "nat", Hook: "postrouting", Priority: 100, Policy: "accept"},
		nft.Chain{Name: "p", Type: "nat", Hook: "prerouting", Priority: -100, Policy: "accept"})
	for name, kind := range map[string]string{"net64": "ifname . ipv6_addr", "nat64": "ipv6_addr"} {
		x.Add(nft.Set{Family: nft.IPv6, Table: "other", Name: name, Type: kind})
	}
	ports := nft.Set{Family: nft.IPv6, Table: "other", Name: "ports", Type: "ipv6_addr . inet_service", Data: "ipv6_addr . inet_service"}
	spans := nft.Set{Family: nft.IPv6, Table: "other", Name: "spans", Type: "ipv6_addr", Data: "interval ipv6_addr"}
	x.Add(ports)
	x.Add(spans)
	x.Add(nft.Elements{Set: ports, Keys: []string{"2001:db8::1 . 80 : fd00:1::2 . 8080"}})
	x.Add(nft.Elements{Set: spans, Keys: []string{"fd00:1:: : 2001:db8::1-2001:db8::9"}})
	x.Add(nft.Elements{Set: nft.Set{Family: nft.IPv6, Table: "other", Name: "net64", Type: "ifname . ipv6_addr"}, Keys: []string{"virbr0 . fd00:1::"}})
	iif, saddr := nft.Term{Field: nft.IIfName}, func(bits int) nft.Term { return nft.Term{Field: nft.IP6Saddr, Bits: bits} }
	for _, r := range []nft.Rule{
		{Chain: "f", Exprs: []nft.Expr{nft.In{Key: []nft.Term{iif, saddr(64)}, Set: "net64"}, nft.Accept()}},
		{Chain: "f", Exprs: []nft.Expr{nft.In{Key: []nft.Term{iif, saddr(61)}, Set: "net64"}, nft.Reject{}}},
		{Chain: "f", Exprs: []nft.Expr{nft.In{Key: []nft.Term{iif, saddr(0)}, Set: "net64", Not: true}, nft.Reject{With: "icmpv6 admin-prohibited"}}},
		{Chain: "f", Exprs: []nft.Expr{nft.Match{Field: nft.L4Proto, Value: "ipv6-icmp"}, nft.Accept()}},
		{Chain: "f", Exprs: []nft.Expr{nft.Match{Field: nft.IP6Daddr, Value: "ff02::/16"}, nft.Return()}},
		{Chain: "f", Exprs: []nft.Expr{nft.Match{Field: nft.UDPDport, Value: "547"}, nft.Accept()}},
		{Chain: "n", Exprs: []nft.Expr{nft.In{Key: []nft.Term{saddr(64)}, Set: "nat64"}, nft.Masquerade{}}},
		{Chain: "n", Exprs: []nft.Expr{nft.NAT{Kind: "snat", Key: []nft.Term{saddr(64)}, Map: "spans", Data: spans.Data}}},
		{Chain: "p", Exprs: []nft.Expr{nft.NAT{Kind: "dnat", Key: []nft.Term{{Field: nft.IP6Daddr}, {Field: nft.TCPDport}}, Map: "ports", Data: ports.Data}}},
	} {
		r.Family, r.Table = nft.IPv6, "other"
		x.Add(r)
	}
	return x
}

func TestATransactionAndItsTextMakeTheSameRuleset(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]*nft.Transaction{
		"family ip": withElements(), "family inet": inet(),
		"family bridge": other(nft.Bridge, nft.Chain{Name: "f", Type: "filter", Hook: "forward", Priority: -200, Policy: "accept"}),
		"family arp":    other(nft.ARP, nft.Chain{Name: "f", Type: "filter", Hook: "input", Priority: 0, Policy: "drop"}),
		"family ip6":    six(),
		"of a bridge":   ofBridge(), "of connections": ofConnections(),
	} {
		t.Run(name, func(t *testing.T) {
			native, c := open(t)
			if err := c.Commit(context.Background(), x); err != nil {
				t.Fatal(err)
			}
			byNft, _ := open(t)
			nftStdin(t, byNft, x.String())
			if d := cmp.Diff(byNft.Run("nft", "list", "ruleset"), native.Run("nft", "list", "ruleset")); d != "" {
				t.Errorf("`nft -f` of the text (-) and the transaction (+) differ:\n%s", d)
			}
			// The listing hides what the kernel was really told: a flag that nft does not print once left ports unused.
			debug := []string{"--debug=netlink", "list", "ruleset"}
			if d := cmp.Diff(unordered(byNft.Run("nft", debug...)), unordered(native.Run("nft", debug...))); d != "" {
				t.Errorf("`nft -f` of the text (-) and the transaction (+) differ in the kernel:\n%s", d)
			}
		})
	}
}

// unordered drops the elements, which this output gives in the order of the kernel's hash, seeded for each set; the
// listing has them sorted.
func unordered(debug string) string {
	lines := strings.Split(asCompared(debug), "\n")
	return strings.Join(slices.DeleteFunc(lines, func(s string) bool { return strings.HasPrefix(s, "\telement ") }), "\n")
}

// asCompared gives the expression of a range, which nft 1.1 sends for one, as the two comparisons that nft 1.0 sends.
func asCompared(debug string) string {
	return regexp.MustCompile(`\[ range eq (reg \d+) (\w+) (\w+) \]`).ReplaceAllString(debug, "[ cmp gte $1 $2 ]\n  [ cmp lte $1 $3 ]")
}

func TestTheListingReadsLikeNftAndLoadsBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		x     *nft.Transaction
		f     nft.Family
		table string
	}{{withElements(), nft.IPv4, nfttest.TableName}, {inet(), nft.INet, "other"}, {six(), nft.IPv6, "other"}} {
		ns, conn := open(t)
		if err := conn.Commit(context.Background(), c.x); err != nil {
			t.Fatal(err)
		}
		l, err := conn.Dump(context.Background(), c.f, c.table)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(onOneLine(nfttest.Listed(ns.Run("nft", "list", "table", c.f.String(), c.table))), onOneLine(l.String())); d != "" {
			t.Errorf("nft list (-) and the listing (+) differ:\n%s", d)
		}
		back, err := nft.Load(l.String())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(l.String(), back.String()); d != "" {
			t.Errorf("loaded back (-listing +loaded):\n%s", d)
		}
	}
}

// onOneLine joins the elements of a set, or of a map: nft 1.1 gives each that is an interval a line.
func onOneLine(listing string) string {
	return regexp.MustCompile(`,\n\s+`).ReplaceAllString(listing, ", ")
}

// iptables 1.8.11 and nft's "ip protocol" compare the byte in the header, and nft's "meta l4proto" what the kernel read there.
func TestTheProtocolOfAnIPv4HeaderIsTheProtocolOfThePacket(t *testing.T) {
	t.Parallel()
	ns, c := open(t)
	nftStdin(t, ns, `table ip foreign {
	chain x {
		ip protocol icmp accept
		ip protocol != udp drop
		@nh,72,8 17 @th,16,16 67 accept
	}
}
`)
	l, err := c.Dump(context.Background(), nft.IPv4, "foreign")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range l.Rules {
		got = append(got, r.Text())
	}
	if d := cmp.Diff([]string{"meta l4proto icmp accept", "meta l4proto != udp drop", "udp dport 67 accept"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What nft itself sends is laid out differently in places (a /24 is compared as three bytes): it must read the same.
func TestWhatNftMadeReadsAsOurs(t *testing.T) {
	t.Parallel()
	ns, c := open(t)
	nftStdin(t, ns, nfttest.Layout().String())
	l, err := c.Dump(context.Background(), nft.IPv4, nfttest.TableName)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(nfttest.Want, l.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestForeignRulesAreShownAsOpaque(t *testing.T) {
	t.Parallel()
	ns, c := open(t)
	nftStdin(t, ns, `table ip foreign {
	chain x { type filter hook forward priority 10; policy drop;
		ip ttl 5 accept
		tcp dport { 22, 80-90 } log prefix "x" drop
		limit rate 5/second accept
		ip saddr vmap { 192.0.2.1 : drop }
		iifname "eth*" accept
		meta mark 7 ct mark set 3
	}
}
`)
	l, err := c.Dump(context.Background(), nft.IPv4, "foreign")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range l.Rules {
		if !strings.Contains(r.Text(), "[") {
			t.Errorf("not opaque: %s", r.Text())
		}
		x := &nft.Transaction{}
		if x.Add(r); x.Err() == nil {
			t.Errorf("could be sent: %s", r.Text())
		}
	}
	chains, err := c.BaseChains(context.Background())
	want := []nft.Chain{{Family: nft.IPv4, Table: "foreign", Name: "x", Type: "filter", Hook: "forward", Priority: 10, Policy: "drop"}}
	for i := range chains {
		chains[i].Handle = 0
	}
	if d := cmp.Diff(want, chains); d != "" || err != nil {
		t.Errorf("base chains, error %v (-want +got):\n%s", err, d)
	}
}

func TestEveryCallAnnouncesItself(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("table *")
	var calls []string
	k := ns.KernelWith(func(call string) { calls = append(calls, call) })
	defer closeKernel(k)
	c, err := nft.Open(k)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	if err := c.Commit(ctx, nfttest.Layout()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Generation(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(ctx, &nft.Transaction{}); err != nil { // sends nothing
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"nft open", "nft commit", "nft dump"}, calls); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

func closeKernel(k *host.Kernel) { k.Close() }

func TestEveryObjectOfALargeWrongBatchIsNamedNotLost(t *testing.T) {
	t.Parallel()
	_, c := open(t)
	x := nfttest.Layout()
	s := nft.Set{Family: nft.IPv4, Table: nfttest.TableName, Name: "hosts", Type: "ipv4_addr"}
	for range 20000 { // as many errors, more than the socket holds
		x.Delete(nft.Elements{Set: s, Keys: []string{"192.0.2.1"}})
	}
	err := c.Commit(context.Background(), x)
	if err == nil || !strings.HasPrefix(err.Error(), "nft delete element ip suite hosts { 192.0.2.1 }: no such file or directory") {
		t.Errorf("commit gave %v", err)
	}
	if _, err := c.Generation(context.Background()); err != nil { // the next conversation is not disturbed
		t.Error(err)
	}
}
