package nftables_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
	"taproom/internal/network/nwfilter/nftables"
	"taproom/internal/spec"
)

const (
	noSpoofing = `<filter name='f' chain='root'><rule action='return' direction='out' priority='100'><ip srcipaddr='$IP'/></rule>` +
		`<rule action='drop' direction='out' priority='200'><ip/></rule></filter>`
	noPackets = `<filter name='f' chain='root'><rule action='drop' direction='inout' priority='200'><ip/></rule></filter>`
	stateful  = `<filter name='f' chain='root'><rule action='accept' direction='in' priority='100'><tcp dstportstart='22'/></rule>` +
		`<rule action='drop' direction='inout' priority='200'><tcp/></rule></filter>`
)

func port(t testing.TB, name, doc, address string) nwfilter.Port {
	t.Helper()
	f, err := spec.ParseFilter([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	program, values, err := nwfilter.Compile(nwfilter.Set{f.Name: f}, f.Name, nwfilter.Params{"IP": {address}})
	if err != nil {
		t.Fatal(err)
	}
	return nwfilter.Port{Name: name, Program: program, Values: values}
}

func ports(t testing.TB, n int, doc string) (out []nwfilter.Port) {
	t.Helper()
	for i := range n {
		out = append(out, port(t, fmt.Sprintf("vnet%d", i), doc, fmt.Sprintf("10.0.%d.%d", i/256, i%256)))
	}
	return out
}

func apply(t testing.TB, b nwfilter.Backend, p []nwfilter.Port, gone ...string) {
	t.Helper()
	if err := b.Apply(context.Background(), p, gone); err != nil {
		t.Fatal(err)
	}
}

func observed(t testing.TB, b nwfilter.Backend) map[string]nwfilter.Attached {
	t.Helper()
	got, err := b.Observe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// namespace is a back end on a namespace, with the connection that others use.
func namespace(t testing.TB) (*hosttest.NS, *nft.Conn, nwfilter.Backend) {
	t.Helper()
	ns := hosttest.NewNS(t)
	ns.Keep("table *")
	return ns, conn(t, ns), open(t, ns)
}

func generation(t testing.TB, c *nft.Conn) uint32 {
	t.Helper()
	g, err := c.Generation(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A thousand ports share the chains of their Program, and redefining it for all is one transaction; the same again is none.
func TestAThousandPortsAreOneTransaction(t *testing.T) {
	t.Parallel()
	_, c, b := namespace(t)
	all := ports(t, 1000, noSpoofing)
	apply(t, b, all[:1])
	chains := func() int {
		t.Helper()
		l, err := c.Layout(context.Background(), nft.Bridge, table)
		if err != nil {
			t.Fatal(err)
		}
		return len(l.Chains)
	}
	one := chains()
	for i, step := range []struct {
		do   func()
		want uint32
	}{
		{func() { apply(t, b, all) }, 1},
		{func() { apply(t, b, ports(t, 1000, noPackets)) }, 2}, // one makes the chains, one leads all ports to them
		{func() { apply(t, b, all, "another") }, 2},
	} {
		before := generation(t, c)
		step.do()
		if after := generation(t, c); after != before+step.want {
			t.Errorf("step %d: %d transactions, want %d", i, after-before, step.want)
		}
	}
	if n := chains(); n != one {
		t.Errorf("a thousand ports have %d chains, one has %d", n, one)
	}
	before := generation(t, c)
	apply(t, b, all)
	if after := generation(t, c); after != before {
		t.Errorf("what was there already was applied in %d transactions", after-before)
	}
	if got := observed(t, b); len(got) != 1000 || got["vnet999"] != (nwfilter.Attached{Key: all[999].Program.Key, Hash: all[999].Values.Hash()}) {
		t.Errorf("observed %d ports, the last as %v", len(got), got["vnet999"])
	}
}

// A back end that opens later, as that of a daemon that was started again, finds what is there and goes on from it.
func TestALaterBackendFindsWhatIsThere(t *testing.T) {
	t.Parallel()
	ns, c, b := namespace(t)
	all := ports(t, 3, noSpoofing)
	apply(t, b, all)
	later := open(t, ns)
	before := generation(t, c)
	apply(t, later, all)
	if after := generation(t, c); after != before {
		t.Errorf("it applied what was there in %d transactions", after-before)
	}
	apply(t, later, nil, "vnet0", "vnet1", "vnet2")
	if l, err := c.Layout(context.Background(), nft.Bridge, table); err == nil {
		t.Errorf("something is left when nothing is filtered:\n%s", l)
	}
	if got := observed(t, b); len(got) != 0 { // which saw them last
		t.Errorf("the former observes %v", got)
	}
}

// What somebody else takes away or changes is seen, and applying it again makes it good.
func TestWhatOthersDamageIsSeenAndMadeGood(t *testing.T) {
	t.Parallel()
	type damage struct {
		name, shell string
		missing     int
	}
	drop := `set -- $(nft -a list table bridge filters | sed -n '/chain p[0-9a-f]*-out {/{s/.*chain \(p[^ ]*\) .*/\1/p;n;n;n;s/.*handle //p}' | tr '\n' ' ')` + "\n"
	for _, d := range []damage{
		{"all rules of the host are flushed", `nft flush ruleset`, 3},
		{"the table is deleted", `nft delete table bridge filters`, 3},
		{"a rule of a program is deleted", drop + `nft delete rule bridge filters $1 handle $2`, 2},
		{"a rule is put before a program", drop + `nft insert rule bridge filters $1 accept`, 2},
		{"a rule is put before all", `nft insert rule bridge filters prerouting accept`, 3},
		{"a base chain is flushed", `nft flush chain bridge filters postrouting`, 3},
		{"a base chain is added", `nft add chain bridge filters extra '{ type filter hook prerouting priority -1; }'; nft add rule bridge filters extra accept`, 3},
		{"a base chain drops", `nft add chain bridge filters prerouting '{ policy drop; }'`, 3},
		{"an element of a map is deleted", `nft delete element bridge filters out '{ "vnet1" }'`, 1},
		{"the list of ports is flushed", `nft flush set bridge filters ports`, 3},
		{"a table is made dormant", `nft add table bridge filters '{ flags dormant; }'`, 3},
		{"the table of packets is deleted", `nft delete table inet filters`, 3},
		{"the table of ARP is deleted", `nft delete table arp filters`, 3},
		{"a port is struck from the list of ARP", `nft delete element arp filters ports '{ "vnet1" }'`, 1},
		{"a rule of states is added", `nft insert rule inet filters note accept`, 3},
	} {
		t.Run(d.name, func(t *testing.T) {
			ns, _, b := namespace(t)
			all := append(ports(t, 2, noSpoofing), port(t, "vnet2", stateful, "10.0.0.9"))
			apply(t, b, all)
			whole := observed(t, b)
			if len(whole) != 3 {
				t.Fatalf("observed %v", whole)
			}
			ns.Shell(d.shell)
			left := observed(t, b)
			if len(left) != 3-d.missing {
				t.Errorf("observed %d ports, want %d", len(left), 3-d.missing)
			}
			var again []nwfilter.Port
			for _, p := range all {
				if _, ok := left[p.Name]; !ok {
					again = append(again, p)
				}
			}
			apply(t, b, again)
			if got := observed(t, b); len(got) != 3 {
				t.Errorf("after it was applied again %v, want %v\n%s", got, whole, ns.Run("nft", "list", "ruleset"))
			}
		})
	}
}

// A value that somebody else added or removed changes what is observed of the port.
func TestAValueThatOthersChangeIsSeen(t *testing.T) {
	t.Parallel()
	ns, _, b := namespace(t)
	all := ports(t, 1, noSpoofing)
	apply(t, b, all)
	whole := observed(t, b)["vnet0"]
	for _, verb := range []string{"add", "delete"} {
		address := map[string]string{"add": "10.9.9.9", "delete": "10.0.0.0"}[verb]
		ns.Run("nft", verb, "element", "bridge", table, "v-IP/ipv4", `{ "vnet0" . `+address+" }")
		if got := observed(t, b)["vnet0"]; got == whole {
			t.Errorf("%s of a value is not seen: %v", verb, got)
		}
		apply(t, b, all)
		if got := observed(t, b)["vnet0"]; got != whole {
			t.Errorf("after %s of a value, and applied again: %v, want %v", verb, got, whole)
		}
	}
}

// A change of somebody else between a look and the transaction that follows from it means another look.
func TestAChangeBetweenLookAndCommitMeansAnotherLook(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("table *")
	other := conn(t, ns)
	left := 0
	k := ns.KernelWith(func(call string) {
		if call == "nft commit" && left > 0 {
			left--
			x := &nft.Transaction{}
			x.Add(nft.Table{Family: nft.IPv4, Name: fmt.Sprintf("other%d", left)})
			if err := other.Commit(context.Background(), x); err != nil {
				t.Error(err)
			}
		}
	})
	c, err := nft.Open(k)
	if err != nil {
		t.Fatal(err)
	}
	b, err := nftables.Open(context.Background(), c, k, table)
	if err != nil {
		t.Fatal(err)
	}
	left = 3
	apply(t, b, ports(t, 2, noSpoofing))
	if got := observed(t, b); len(got) != 2 || left != 0 {
		t.Errorf("observed %v; %d changes of others were not made", got, left)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	k.Close()
}

// What nf_tables cannot do is refused with the setting that helps, and nothing is changed.
func TestWhatCannotBeDoneIsRefusedWithTheWayOut(t *testing.T) {
	t.Parallel()
	_, c, b := namespace(t)
	rule := func(inside string) string {
		return `<filter name='f' chain='root'><rule action='drop' direction='in' priority='100'>` + inside + `</rule></filter>`
	}
	good := ports(t, 1, noSpoofing)
	apply(t, b, good)
	before := generation(t, c)
	for _, inside := range []string{`<tcp ipset='blocked' ipsetflags='src'/>`, `<tcp connlimit-above='3'/>`} {
		bad := port(t, "vnet7", rule(inside), "10.0.0.1")
		err := b.Apply(context.Background(), []nwfilter.Port{bad}, []string{"vnet0"})
		if err == nil || !strings.Contains(err.Error(), "filters are kept in nf_tables") || !strings.Contains(err.Error(), "filter f, rule 1") {
			t.Errorf("%s: error %v, want one that names the rule and where filters are kept", inside, err)
		}
	}
	if after := generation(t, c); after != before || len(observed(t, b)) != 1 {
		t.Errorf("a refused filter changed something: %v", observed(t, b))
	}
}
