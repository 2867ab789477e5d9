package firewall_test

import (
	"slices"
	"strings"
	"testing"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/host/nft/nfttest"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalltest"
)

// suiteHost is a Host on nf_tables; run is `nft` there.
func suiteHost(b nft.Backend, text func(testing.TB) string, run func(t testing.TB, script string)) *firewalltest.Host {
	f := &nfttest.Faulty{Backend: b}
	h := &firewalltest.Host{
		Open:   func(_ testing.TB, table string) firewall.Backend { return firewall.New(f, table) },
		Text:   text,
		FailAt: f.FailAt,
		Foreign: func(t testing.TB) {
			run(t, "add table ip theirs; add chain ip theirs forward { type filter hook forward priority 0; policy accept; }; add rule ip theirs forward oifname docker0 accept")
		},
		Damage: map[string]firewalltest.Damage{},
	}
	for name, script := range map[string]string{
		"a flushed chain":  "flush chain ip taproom forward",
		"a rule too many":  "add rule ip taproom guests_out accept",
		"a rule before":    "insert rule ip taproom forward drop",
		"a chain too many": "add chain ip taproom more",
		"a table gone":     "delete table ip taproom",
	} {
		h.Damage[name] = firewalltest.Damage{Loses: name == "a table gone", Do: func(t testing.TB) { run(t, script) }}
	}
	return h
}

// ruleset is every table, ordered, with ordered elements.
func ruleset(t testing.TB, ns *hosttest.NS, c nft.Backend) string {
	t.Helper()
	out := ""
	for _, line := range slices.Sorted(strings.Lines(ns.Run("nft", "list", "tables"))) {
		f := strings.Fields(line)
		family := nft.IPv4
		if f[1] == "ip6" {
			family = nft.IPv6
		}
		l, err := c.Dump(t.Context(), family, f[2])
		if err != nil {
			t.Fatal(err)
		}
		out += l.String()
	}
	return out
}

func TestTheRulesInTheKernelAreWhatTheSuiteAsks(t *testing.T) {
	t.Parallel()
	firewalltest.RunState(t, func(t testing.TB) *firewalltest.Host {
		ns, c := open(t)
		ns.Keep("table ip theirs")
		h := suiteHost(c, func(t testing.TB) string { t.Helper(); return ruleset(t, ns, c) }, func(_ testing.TB, script string) { ns.Run("nft", script) })
		h.NS = ns
		return h
	})
}

// In memory `nft` cannot be run, so rules of others and damage are made by transactions.
func TestTheRulesInMemoryAreWhatTheSuiteAsks(t *testing.T) {
	t.Parallel()
	firewalltest.RunState(t, func(testing.TB) *firewalltest.Host {
		fake := &nft.Fake{}
		commit := func(t testing.TB, change func(x *nft.Transaction)) {
			t.Helper()
			x := &nft.Transaction{}
			change(x)
			if err := fake.Commit(t.Context(), x); err != nil {
				t.Fatal(err)
			}
		}
		h := suiteHost(fake, func(testing.TB) string { return fake.String() }, nil)
		h.Foreign = func(t testing.TB) {
			t.Helper()
			commit(t, func(x *nft.Transaction) {
				x.Add(nft.Table{Family: nft.IPv4, Name: "theirs"})
				x.Add(nft.Chain{Family: nft.IPv4, Table: "theirs", Name: "forward", Type: "filter", Hook: "forward", Policy: "drop"})
			})
		}
		h.Damage = map[string]firewalltest.Damage{
			"a rule too many": {Do: func(t testing.TB) {
				t.Helper()
				commit(t, func(x *nft.Transaction) {
					x.Add(nft.Rule{Family: nft.IPv4, Table: "taproom", Chain: "guests_out", Exprs: []nft.Expr{nft.Accept()}})
				})
			}},
			"a table gone": {Loses: true, Do: func(t testing.TB) {
				t.Helper()
				commit(t, func(x *nft.Transaction) { x.Delete(nft.Table{Family: nft.IPv4, Name: "taproom"}) })
			}},
		}
		return h
	})
}

func TestPacketsFareAsTheSuiteAsks(t *testing.T) {
	t.Parallel()
	firewalltest.RunTraffic(t, func(t testing.TB) *firewalltest.Host {
		ns, c := open(t)
		return &firewalltest.Host{NS: ns, Open: func(_ testing.TB, table string) firewall.Backend { return firewall.New(c, table) }}
	})
}

// Whatever fails of a request leaves what was there before.
func TestARequestThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	firewalltest.RunRequests(t, func(t testing.TB) *firewalltest.Host {
		ns, c := open(t)
		h := suiteHost(c, func(t testing.TB) string { t.Helper(); return ruleset(t, ns, c) }, nil)
		h.NS = ns
		return h
	})
}
