package choice_test

import (
	"slices"
	"strings"
	"testing"

	"taproom/internal/host/xtables"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/choice"
	"taproom/internal/network/firewall/firewalltest"
	"taproom/internal/network/firewall/iptables"
)

// former are back ends by the names that Found gives them, each with a way to make what is there look like an earlier version's:
// something more that nothing of ours makes now, and something less.
func former(t *testing.T, e machine) map[string]func(elements []firewall.Element, old bool) {
	t.Helper()
	in := func(v xtables.Variant) func([]firewall.Element, bool) {
		return func(elements []firewall.Element, old bool) {
			t.Helper()
			p := xtables.New(e.Kernel, v)
			f, err := iptables.New(p, e.Table)
			if err == nil {
				err = f.Apply(t.Context(), elements, nil)
			}
			if err == nil && old {
				err = p.Restore(t.Context(), false, "*filter\n-I taproom-forward 1 -i virbr0 -m comment --comment before -j ACCEPT\n-A FORWARD -j taproom-in\n-D OUTPUT -j taproom-output\nCOMMIT\n")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return map[string]func([]firewall.Element, bool){
		choice.NFTables: func(elements []firewall.Element, old bool) {
			t.Helper()
			if err := e.Tables.Apply(t.Context(), elements, nil); err != nil {
				t.Fatal(err)
			}
			if old {
				e.ns.Run("nft", "add chain ip taproom before; add set ip taproom ports { type inet_service; elements = { 22 }; }; add rule ip taproom before tcp dport @ports accept; flush chain ip taproom forward")
			}
		},
		"iptables-nft":    in(xtables.NFT),
		"iptables-legacy": in(xtables.Legacy),
	}
}

// Whatever back end a daemon had, in this version or an earlier one, the one that it has now has the rules of its networks and
// nobody else has any.
func TestWhatAnotherBackEndOrVersionLeftGoes(t *testing.T) {
	t.Parallel()
	v, err := choice.TryIPTables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]string{choice.NFTables: choice.NFTables, choice.IPTables: "iptables-" + string(v)}
	elements := slices.Concat(firewalltest.Elements("nat", "virbr0", "192.168.122.0/24"), firewalltest.Elements("route", "virbr0", "fd00:1::/64"))
	firewall.Sort(elements)
	for _, from := range []string{choice.NFTables, "iptables-nft", "iptables-legacy"} {
		for _, to := range []string{choice.NFTables, choice.IPTables} {
			for _, old := range []bool{false, true} {
				name := from + " to " + to
				if old {
					name += " of an earlier version"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					e := env(t)
					former(t, e)[from](elements, old)
					found(t, e, from)
					c := open(t, e, to, to)
					got, err := c.Observe(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					missing := slices.DeleteFunc(slices.Clone(elements), func(el firewall.Element) bool { return slices.Contains(got, el) })
					if err := c.Apply(t.Context(), missing, nil); err != nil {
						t.Fatal(err)
					}
					var want []string
					if from != own[to] {
						want = []string{from}
					}
					if had, err := c.ClearOthers(t.Context()); err != nil || !slices.Equal(had, want) {
						t.Errorf("removed what was left in %v, %v; want %v", had, err, want)
					}
					found(t, e, own[to])
					if got, err := c.Observe(t.Context()); err != nil || !slices.Equal(got, elements) {
						t.Errorf("the rules are %v, %v; want %v", got, err, elements)
					}
					if all := e.all(); strings.Contains(all, "before") {
						t.Errorf("left of the earlier version:\n%s", all)
					}
					if err := c.Apply(t.Context(), nil, elements); err != nil {
						t.Fatal(err)
					}
					found(t, e)
				})
			}
		}
	}
}
