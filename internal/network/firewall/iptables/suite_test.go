package iptables_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/xtables"
	"taproom/internal/host/xtables/xtablestest"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalltest"
	"taproom/internal/network/firewall/iptables"
)

// text is what the programs save, without what the kernel has by itself.
func text(t testing.TB, p xtables.Programs) string {
	t.Helper()
	var b strings.Builder
	for _, v6 := range []bool{false, true} {
		saved, err := p.Save(t.Context(), v6)
		if err != nil {
			t.Fatal(err)
		}
		l, err := xtables.Parse(saved)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range l.Tables {
			table.Chains = slices.DeleteFunc(table.Chains, func(c *xtables.Chain) bool { return c.Policy == "ACCEPT" && len(c.Rules) == 0 })
		}
		l.Tables = slices.DeleteFunc(l.Tables, func(t *xtables.Table) bool { return len(t.Chains) == 0 })
		slices.SortFunc(l.Tables, func(a, b *xtables.Table) int { return strings.Compare(a.Name, b.Name) })
		if s := l.String(); s != "" {
			b.WriteString("# " + p.Name(v6) + "\n" + s)
		}
	}
	return b.String()
}

const foreign = `*filter
:theirs - [0:0]
-A FORWARD -s 203.0.113.0/24 -m comment --comment "leads to -j taproom-in \"or not\"" -j theirs
-A FORWARD -i docker0 -j ACCEPT
-A theirs -p tcp -m tcp --dport 22 -j DROP
COMMIT
*nat
-A POSTROUTING -s 203.0.113.0/24 ! -o docker0 -j MASQUERADE
COMMIT
`

var damages = map[string]string{
	"a flushed chain":      "*filter\n:taproom-forward - [0:0]\n",
	"a chain gone":         "*filter\n:taproom-input - [0:0]\n-D INPUT -j taproom-input\n-X taproom-input\n",
	"a jump gone":          "*filter\n-D FORWARD -j taproom-forward\n",
	"a jump twice":         "*nat\n-A POSTROUTING -j taproom-post\n",
	"a jump by others":     "*filter\n-A OUTPUT -d 192.0.2.7/32 -g taproom-out\n",
	"a rule too many":      "*filter\n-A taproom-out -j ACCEPT\n",
	"a rule before":        "*filter\n-I taproom-forward 1 -j DROP\n",
	"a rule twice":         "*filter\n-A taproom-same -i virbr0 -o virbr0 -j ACCEPT\n",
	"a rule gone":          "*filter\n-D taproom-serve -p udp -m udp --dport 67 -j ACCEPT\n",
	"half an element gone": "*filter\n-D taproom-out -s 192.168.122.0/24 -i virbr0 -j ACCEPT\n",
	"rules changed order":  "*nat\n-D taproom-masq -j MASQUERADE\n-I taproom-masq 1 -j MASQUERADE\n",
}

// host is one with programs.
func host(t testing.TB, ns *hosttest.NS, p xtables.Programs) *firewalltest.Host {
	t.Helper()
	faulty := &xtablestest.Faulty{Programs: p}
	restore := func(t testing.TB, script string) {
		t.Helper()
		if err := p.Restore(t.Context(), false, script); err != nil {
			t.Fatal(err)
		}
	}
	h := &firewalltest.Host{
		NS: ns, FailAt: faulty.FailAt,
		Open: func(t testing.TB, table string) firewall.Backend {
			f, err := iptables.New(faulty, table)
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
		Text:    func(t testing.TB) string { t.Helper(); return text(t, p) },
		Foreign: func(t testing.TB) { t.Helper(); restore(t, foreign) },
		Damage:  map[string]firewalltest.Damage{},
	}
	for name, script := range damages {
		h.Damage[name] = firewalltest.Damage{Do: func(t testing.TB) { t.Helper(); restore(t, script+"COMMIT\n") }}
	}
	h.Damage["everything flushed"] = firewalltest.Damage{Loses: true, Do: func(t testing.TB) {
		t.Helper()
		f, err := iptables.New(p, firewalltest.Table)
		if err != nil {
			t.Fatal(err)
		}
		es, err := f.Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		es = slices.DeleteFunc(es, func(e firewall.Element) bool { return strings.HasPrefix(e.Set, "ip6/") })
		if err := f.Apply(t.Context(), nil, es); err != nil {
			t.Fatal(err)
		}
	}}
	return h
}

// inKernel is a namespace in which a variant of the programs works.
func inKernel(t testing.TB, v xtables.Variant) *firewalltest.Host {
	t.Helper()
	ns := hosttest.NewNS(t)
	ns.Keep("table ip filter", "table ip nat", "table ip6 filter", "table ip6 nat") // iptables-nft never removes a table
	return host(t, ns, xtables.New(ns.Kernel(), v))
}

var variants = []xtables.Variant{xtables.NFT, xtables.Legacy}

func TestTheRulesInTheKernelAreWhatTheSuiteAsks(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			firewalltest.RunState(t, func(t testing.TB) *firewalltest.Host { return inKernel(t, v) })
		})
	}
}

func TestTheRulesInMemoryAreWhatTheSuiteAsks(t *testing.T) {
	t.Parallel()
	firewalltest.RunState(t, func(t testing.TB) *firewalltest.Host { return host(t, nil, &xtablestest.Fake{}) })
}

// Whatever fails of a request leaves what was there before. The older interface's turn is in the long run: what differs is
// below, and in the suite.
func TestARequestThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		if v == xtables.Legacy && os.Getenv("TAPROOM_LONG") == "" {
			continue
		}
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			firewalltest.RunRequests(t, func(t testing.TB) *firewalltest.Host { return inKernel(t, v) })
		})
	}
}

// broken are programs that change nothing any more after a number of changes.
type broken struct {
	xtables.Programs
	left int
}

func (b *broken) Restore(ctx context.Context, v6 bool, script string) error {
	if b.left--; b.left < 0 {
		return fmt.Errorf("%s: the table is locked, %d", b.Name(v6), -b.left)
	}
	return b.Programs.Restore(ctx, v6, script)
}

// When the way back fails as well, that is told beside why there had to be one.
func TestAWayBackThatFailsIsToldBesideWhatFailed(t *testing.T) {
	t.Parallel()
	f, err := iptables.New(&broken{&xtablestest.Fake{}, 1}, firewalltest.Table)
	if err != nil {
		t.Fatal(err)
	}
	both := slices.Concat(firewalltest.Elements("nat", "virbr0", "10.1.0.0/24"), firewalltest.Elements("nat", "virbr0", "fd00:1::/64"))
	const want = "change the firewall: ip6tables: the table is locked, 1\nput iptables back as it was: iptables: the table is locked, 2"
	if err := f.Apply(t.Context(), both, nil); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// A chain is the administrator's unless a version of this program made one of that name, whatever it begins with.
func TestAChainOfTheAdministratorsStaysHis(t *testing.T) {
	t.Parallel()
	for _, made := range []string{
		"ports", "snat", "masq", "post", "same", "in", "shut_in", "out", "shut_out", "serve", "answer", "forward", "input", "output", "reach",
	} {
		if !iptables.Own("taproom", "taproom-"+made) {
			t.Errorf("nobody removes chain taproom-%s of an earlier version", made)
		}
	}
	p := &xtablestest.Fake{}
	const his = "*filter\n:taproom-mine - [0:0]\n-A FORWARD -j taproom-mine\n-A taproom-mine -s 203.0.113.7/32 -j DROP\nCOMMIT\n"
	if err := p.Restore(t.Context(), false, his); err != nil {
		t.Fatal(err)
	}
	before := text(t, p)
	f, err := iptables.New(p, firewalltest.Table)
	if err != nil {
		t.Fatal(err)
	}
	es := firewalltest.Elements("nat", "virbr0", "10.1.0.0/24")
	firewall.Sort(es)
	if err := f.Apply(t.Context(), es, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Observe(t.Context()); err != nil || !slices.Equal(got, es) {
		t.Errorf("beside his chain there is %v, %v", got, err)
	}
	if found, err := f.Clear(t.Context()); !found || err != nil {
		t.Errorf("removed: %t, %v", found, err)
	}
	if after := text(t, p); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if found, err := f.Any(t.Context()); found || err != nil {
		t.Errorf("his chain is taken for ours: %t, %v", found, err)
	}
}
