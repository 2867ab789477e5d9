package firewall_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalltest"
)

type element = firewall.Element

// network is what a NAT network adds.
func network(bridge, address string, bits int) []element {
	return []element{
		{Set: "bridges", Key: bridge},
		{Set: fmt.Sprintf("nat%d", bits), Key: address},
		{Set: fmt.Sprintf("net%d", bits), Key: bridge + " . " + address},
		{Set: "same", Key: bridge + " . " + bridge},
	}
}

// byDev is what a NAT network adds that has one link as its way out.
func byDev(bridge, address string, bits int, dev string) []element {
	return []element{
		{Set: "bridges", Key: bridge},
		{Set: fmt.Sprintf("devnat%d", bits), Key: address + " . " + dev},
		{Set: fmt.Sprintf("devnet%d", bits), Key: bridge + " . " + address + " . " + dev},
		{Set: "same", Key: bridge + " . " + bridge},
	}
}

// routed is what a network with an IPv6 subnet that is reached from everywhere adds.
func routed(bridge, address string, bits int) []element {
	return []element{
		{Set: "ip6/bridges", Key: bridge},
		{Set: fmt.Sprintf("ip6/in%d", bits), Key: bridge + " . " + address},
		{Set: fmt.Sprintf("ip6/net%d", bits), Key: bridge + " . " + address},
		{Set: "ip6/same", Key: bridge + " . " + bridge},
	}
}

func open(t testing.TB) (*hosttest.NS, *nft.Conn) {
	t.Helper()
	ns := hosttest.NewNS(t)
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

// onBoth runs a test on the kernel and on memory.
func onBoth(t *testing.T, run func(*testing.T, nft.Backend)) {
	t.Parallel()
	t.Run("kernel", func(t *testing.T) {
		ns, c := open(t)
		ns.Keep("table ip taproom", "table ip6 taproom")
		run(t, c)
	})
	t.Run("memory", func(t *testing.T) { run(t, &nft.Fake{}) })
}

func apply(t testing.TB, f firewall.Backend, add, del []element) {
	t.Helper()
	if err := f.Apply(context.Background(), add, del); err != nil {
		t.Fatalf("apply +%v -%v: %v", add, del, err)
	}
}

// observed compares what is observed; what is remembered must be what somebody else reads.
func observed(t testing.TB, f firewall.Backend, want ...[]element) {
	t.Helper()
	all := slices.Concat(want...)
	slices.SortFunc(all, func(a, b element) int { return strings.Compare(a.Set+" "+a.Key, b.Set+" "+b.Key) })
	look := func(what string) {
		got, err := f.Observe(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(all, got); d != "" {
			t.Errorf("elements%s (-want +got):\n%s", what, d)
		}
	}
	look("")
	if remembers, ok := f.(*firewall.Firewall); ok {
		remembers.Forget()
		look(" read anew")
	}
}

func dump(t testing.TB, b nft.Backend) string {
	t.Helper()
	out := ""
	for _, family := range []nft.Family{nft.IPv4, nft.IPv6} {
		l, err := b.Dump(context.Background(), family, "taproom")
		if errors.Is(err, nft.ErrNoTable) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		out += l.String()
	}
	return out
}

func TestTheFirstNetworkBringsTheTableAndTheLastTakesIt(t *testing.T) {
	onBoth(t, func(t *testing.T, b nft.Backend) {
		f := firewall.New(b, firewall.DefaultTable)
		a, c := network("virbr0", "192.168.122.0", 24), network("virbr1", "10.0.0.0", 8)
		observed(t, f)
		apply(t, f, a, nil)
		if d := cmp.Diff(oneNetwork, dump(t, b)); d != "" {
			t.Errorf("one network (-want +got):\n%s", d)
		}
		six := routed("virbr0", "fd00:1::", 64)
		apply(t, f, six, nil)
		if d := cmp.Diff(oneNetwork+oneNetwork6, dump(t, b)); d != "" {
			t.Errorf("both families (-want +got):\n%s", d)
		}
		observed(t, f, a, six)
		apply(t, f, nil, six)
		apply(t, f, a, nil) // again: nothing is added twice
		observed(t, f, a)
		apply(t, f, c, nil)
		observed(t, f, a, c)
		apply(t, f, nil, a)
		observed(t, f, c)
		apply(t, f, nil, a) // gone already
		observed(t, f, c)
		apply(t, f, nil, c)
		if s := dump(t, b); s != "" {
			t.Errorf("after the last network:\n%s", s)
		}
		apply(t, f, nil, c)
	})
}

// What the plan prints must do what the plan does.
func TestThePrintedCommandsMakeTheSameTable(t *testing.T) {
	t.Parallel()
	applied, c := open(t)
	printed, _ := open(t)
	f := firewall.New(c, firewall.DefaultTable)
	a, b := network("virbr0", "192.168.122.0", 24), network("br-two", "10.0.0.0", 8)
	six := routed("br-two", "2001:db8:0:ff00::", 56)
	seen, other, ports := firewalltest.SeenAs("virbr0", "10.4.0.0/24", "192.0.2.1", "192.0.2.9", 1024, 65535),
		firewalltest.SeenAs("virbr0", "10.4.0.0/24", "192.0.2.1", "192.0.2.1", 80, 80), firewalltest.SeenAs("virbr1", "fd00:4::/64", "", "", 80, 81)
	for i, step := range []struct{ add, del []element }{
		{a, nil},
		{b, nil},
		{a, nil},
		{network("virbr2", "192.168.123.0", 24), b[:1]},
		{nil, append(network("virbr2", "192.168.123.0", 24), a...)},
		{six, nil},
		{append(routed("virbr9", "2001:db8::7", 128), element{Set: "ip6/nat56", Key: "2001:db8:0:ff00::"}), six[:2]},
		{nil, b},
		{nil, append(b, append(six, routed("virbr9", "2001:db8::7", 128)...)...)},
		{nil, append(b, element{Set: "ip6/nat56", Key: "2001:db8:0:ff00::"})},
		{byDev("virbr0", "192.168.122.0", 24, "eth0"), nil},
		{nil, byDev("virbr0", "192.168.122.0", 24, "eth0")},
		{seen, nil},
		{other[4:], seen[4:]}, // one key leads elsewhere
		{nil, seen[4:]},
		{ports, nil},
		{nil, slices.Concat(other, ports)},
	} {
		apply(t, f, step.add, step.del)
		script := strings.Join(f.Render(step.add, step.del), "\n")
		printed.Shell(script)
		if d := cmp.Diff(applied.Run("nft", "list", "ruleset"), printed.Run("nft", "list", "ruleset")); d != "" {
			t.Errorf("step %d: applied (-) and printed (+) differ:\n%s\n%s", i, d, script)
		}
	}
	if s := printed.Run("nft", "list", "ruleset"); s != "" {
		t.Errorf("left:\n%s", s)
	}
}

func TestRandomChangesAlwaysEndInWhatWasAsked(t *testing.T) {
	onBoth(t, func(t *testing.T, b nft.Backend) {
		f := firewall.New(b, firewall.DefaultTable)
		var all [][]element
		for i := range 6 {
			n := network(fmt.Sprintf("virbr%d", i), fmt.Sprintf("10.%d.0.0", 16*i), 12+4*(i%3))
			if i%2 == 0 {
				n = append(n, byDev(fmt.Sprintf("virbr%d", i), fmt.Sprintf("10.%d.0.0", 240+i), 16, "eth0")[1:3]...)
				n = append(n, routed(fmt.Sprintf("virbr%d", i), fmt.Sprintf("fd00:%d::", i+1), 48+16*(i%3))...)
			}
			all = append(all, n)
		}
		r := rand.New(rand.NewPCG(1, 2))
		want := map[int]bool{}
		for range 48 {
			var add, del []element
			for i, n := range all {
				switch r.IntN(4) {
				case 0:
					add, want[i] = append(add, n...), true
				case 1:
					del, want[i] = append(del, n...), false
				}
			}
			apply(t, f, add, del)
			var expect []element
			for i, n := range all {
				if want[i] {
					expect = append(expect, n...)
				}
			}
			observed(t, f, expect)
		}
		var rest []element
		for _, n := range all {
			rest = append(rest, n...)
		}
		apply(t, f, nil, rest)
	})
}

func TestDamagedRulesAreNoticedAndRebuiltAroundTheElements(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"a flushed chain":    "nft flush chain ip taproom forward",
		"a flushed table":    "nft flush table ip taproom",
		"a rule too many":    "nft add rule ip taproom guests_out accept",
		"a rule before":      "nft insert rule ip taproom forward drop",
		"a chain too many":   "nft add chain ip taproom more",
		"a set of another":   "nft add set ip taproom net9 '{ type mark; }'",
		"a policy of drop":   "nft add chain ip taproom forward '{ policy drop; }'",
		"a flushed ruleset":  "nft flush ruleset",
		"a deleted table":    "nft delete table ip taproom",
		"larger counters":    "{ echo delete table ip taproom; nft list table ip taproom | sed 's/size 12288/size 65535/'; } | nft -f -", // as they once were
		"rules in another's": "nft -a list chain ip taproom input | grep -q handle && nft flush chain ip taproom postrouting",
	} {
		t.Run(name, func(t *testing.T) {
			ns, c := open(t)
			f := firewall.New(c, firewall.DefaultTable)
			a, b := network("virbr0", "192.168.122.0", 24), network("virbr1", "192.168.123.0", 24)
			a6, b6 := routed("virbr0", "fd00:1::", 64), routed("virbr1", "fd00:2::", 64)
			apply(t, f, slices.Concat(a, b, a6, b6), nil)
			before := dump(t, c)
			ns.Shell(damage)
			if strings.Contains(damage, "flush ruleset") {
				observed(t, f)
				apply(t, f, slices.Concat(a6, b6), nil)
			}
			observed(t, f, a6, b6) // the other table is another matter
			ns.Shell(strings.ReplaceAll(damage, " ip taproom", " ip6 taproom"))
			observed(t, f)
			a, b = append(a, a6...), append(b, b6...)
			apply(t, f, a, nil) // somebody who knows nothing of the damage
			if strings.Contains(damage, "flush ruleset") || strings.HasPrefix(damage, "nft delete table") {
				observed(t, f, a) // b's elements went with the table, and the next plan adds them
				apply(t, f, b, nil)
			}
			observed(t, f, a, b)
			if d := cmp.Diff(before, dump(t, c)); d != "" {
				t.Errorf("after the repair (-before +after):\n%s", d)
			}
			apply(t, f, nil, append(a, b...))
		})
	}
}

func TestElementsThatCouldNeverMatchAreRefused(t *testing.T) {
	t.Parallel()
	f := firewall.New(&nft.Fake{}, firewall.DefaultTable)
	for _, e := range []element{
		{Set: "bridge", Key: "virbr0"},
		{Set: "net0", Key: "virbr0 . 0.0.0.0"},
		{Set: "net33", Key: "virbr0 . 10.0.0.0"},
		{Set: "net024", Key: "virbr0 . 10.0.0.0"},
		{Set: "net24", Key: "virbr0 . 10.0.0.1"},
		{Set: "nat24", Key: "10.0.1.9"},
		{Set: "nat24", Key: "2001:db8::"},
		{Set: "bridges", Key: "far too long a name"},
		{Set: "bridges", Key: `a"b`},
		{Set: "same", Key: "virbr0"},
		{Set: "in24", Key: "virbr0 . 10.0.0.1"},
		{Set: "devnet24", Key: "virbr0 . 10.0.0.0"},
		{Set: "devnat24", Key: "10.0.0.1 . eth0"},
		{Set: "devbridges", Key: "virbr0"},
		{Set: "ip6/net129", Key: "virbr0 . fd00::"},
		{Set: "ip6/net64", Key: "virbr0 . fd00::1"},
		{Set: "ip6/net64", Key: "virbr0 . fd00:0::"},
		{Set: "ip6/nat24", Key: "10.0.0.0"},
		{Set: "ip4/net24", Key: "virbr0 . 10.0.0.0"},
		{},
	} {
		for _, lists := range [][2][]element{{{e}, nil}, {nil, {e}}} {
			if err := f.Apply(context.Background(), lists[0], lists[1]); !errors.Is(err, firewall.ErrElement) {
				t.Errorf("%+v gave %v", e, err)
			}
		}
	}
}

// meddler changes nf_tables before a transaction, a number of times.
type meddler struct {
	nft.Backend
	times int
	with  func()
}

func (m *meddler) Commit(ctx context.Context, t *nft.Transaction) error {
	if m.times > 0 {
		m.times--
		m.with()
	}
	return m.Backend.Commit(ctx, t)
}

func TestAChangeBySomebodyElseInBetweenMeansLookAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, b nft.Backend) {
		a, c := network("virbr0", "192.168.122.0", 24), network("virbr1", "192.168.123.0", 24)
		other := firewall.New(b, firewall.DefaultTable)
		m := &meddler{Backend: b, times: 1, with: func() { apply(t, other, c, nil) }}
		f := firewall.New(m, firewall.DefaultTable)
		apply(t, f, a, nil) // the table appears in between
		observed(t, f, a, c)
		m.times, m.with = 1, func() { apply(t, other, nil, c) }
		apply(t, f, nil, a) // what would have stayed behind alone goes in between
		if s := dump(t, b); s != "" {
			t.Errorf("left:\n%s", s)
		}
		n := 0
		m.times, m.with = 1000, func() {
			n++
			x := &nft.Transaction{}
			x.Add(nft.Table{Family: nft.IPv4, Name: "taproom"})
			x.Add(nft.Set{Family: nft.IPv4, Table: "taproom", Name: fmt.Sprintf("s%d", n), Type: "ifname"})
			if err := b.Commit(context.Background(), x); err != nil {
				t.Error(err)
			}
		}
		if err := f.Apply(context.Background(), a, nil); !errors.Is(err, nft.ErrChanged) {
			t.Errorf("apply while somebody never stops gave %v", err)
		}
		m.times = 0
		apply(t, f, a, nil)
		apply(t, f, nil, a)
	})
}

func TestAfterALostAnswerTheNextLookShowsTheTruth(t *testing.T) {
	t.Parallel()
	f := firewall.New(&nft.Fake{FailAt: 1}, firewall.DefaultTable)
	a := network("virbr0", "192.168.122.0", 24)
	if err := f.Apply(context.Background(), a, nil); !errors.Is(err, nft.ErrAnswerLost) {
		t.Errorf("apply gave %v", err)
	}
	observed(t, f, a)
}

func TestAJoinIsOneTransactionHoweverManyNetworksItBrings(t *testing.T) {
	t.Parallel()
	b := &nft.Fake{}
	f := firewall.New(b, firewall.DefaultTable)
	var all []element
	for i := range 50 {
		all = append(all, network(fmt.Sprintf("virbr%d", i), fmt.Sprintf("10.0.%d.0", i), 24)...)
	}
	apply(t, f, all, nil)
	if b.Commits() != 1 {
		t.Errorf("%d transactions", b.Commits())
	}
	observed(t, f, all)
}
