package choice_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/host/xtables"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/choice"
	"taproom/internal/network/firewall/firewalltest"
	"taproom/internal/network/firewall/iptables"
)

// machine is an Env with its namespace.
type machine struct {
	choice.Env
	ns *hosttest.NS
}

// all are all rules that there are, as text.
func (m machine) all() string {
	return m.ns.Shell("nft list ruleset; iptables-legacy-save; ip6tables-legacy-save")
}

func env(t *testing.T) machine {
	t.Helper()
	ns := hosttest.NewNS(t)
	ns.Keep("table ip filter", "table ip nat", "table ip6 filter", "table ip6 nat") // iptables-nft never removes a table
	c, err := nft.Open(ns.Kernel())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return machine{choice.Env{Kernel: ns.Kernel(), NFT: c, Tables: firewall.New(c, firewall.DefaultTable), Table: firewall.DefaultTable}, ns}
}

func open(t *testing.T, e machine, word, want string) *choice.Chosen {
	t.Helper()
	c, err := choice.Open(t.Context(), e.Env, word)
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != want || c.Why == "" {
		t.Errorf("%s chose %s: %s", word, c.Name, c.Why)
	}
	return c
}

func found(t *testing.T, e machine, want ...string) {
	t.Helper()
	got, err := e.Found(t.Context())
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("there are rules in %v, %v; want %v", got, err, want)
	}
}

func TestAnotherBackEndTakesTheRulesOver(t *testing.T) {
	t.Parallel()
	e := env(t)
	elements := slices.Concat(firewalltest.Elements("nat", "virbr0", "192.168.122.0/24"), firewalltest.Elements("route", "virbr0", "fd00:1::/64"))
	firewall.Sort(elements)
	use := func(word, name string, left []string) *choice.Chosen {
		t.Helper()
		c := open(t, e, word, name)
		if err := c.Apply(t.Context(), elements, nil); err != nil {
			t.Fatal(err)
		}
		had, err := c.ClearOthers(t.Context())
		if err != nil || !slices.Equal(had, left) {
			t.Errorf("%s removed what was left in %v, %v; want %v", word, had, err, left)
		}
		got, err := c.Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(elements, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", word, d)
		}
		return c
	}
	found(t, e)
	use("auto", choice.NFTables, nil)
	found(t, e, choice.NFTables)
	v, err := choice.TryIPTables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own, rest := "iptables-"+string(v), xtables.Legacy
	if v == xtables.Legacy {
		rest = xtables.NFT
	}
	use("iptables", choice.IPTables, []string{choice.NFTables})
	found(t, e, own)

	// What was made before the host's iptables became the other one.
	f, err := iptables.New(xtables.New(e.Kernel, rest), firewall.DefaultTable)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Apply(t.Context(), elements, nil); err != nil {
		t.Fatal(err)
	}
	use("iptables", choice.IPTables, []string{"iptables-" + string(rest)})
	found(t, e, own)
	c := use("nftables", choice.NFTables, []string{own})
	found(t, e, choice.NFTables)
	if err := c.Apply(t.Context(), nil, elements); err != nil {
		t.Fatal(err)
	}
	found(t, e)
}

func TestWithoutNFTablesTheFirewallIsIPTables(t *testing.T) {
	t.Parallel()
	e := env(t)
	e.NFT, e.Tables = nil, nil
	open(t, e, "auto", choice.IPTables)
	if c, err := choice.Open(t.Context(), e.Env, "nftables"); err == nil {
		t.Errorf("nftables is %+v", c)
	}
	if err := choice.Check("ebtables"); err == nil {
		t.Error("any word is a back end's")
	}
}
