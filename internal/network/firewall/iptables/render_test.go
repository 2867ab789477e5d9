package iptables_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/xtables"
	"taproom/internal/host/xtables/xtablestest"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalltest"
	"taproom/internal/network/firewall/iptables"

	"github.com/google/go-cmp/cmp"
)

// What the plan prints must do what the plan does.
func TestThePrintedCommandsMakeTheSameRules(t *testing.T) {
	t.Parallel()
	one := slices.Concat(firewalltest.Elements("nat", "virbr0", "192.168.122.0/24"), firewalltest.Elements("route", "virbr0", "fd00:1::/64"))
	two := slices.Concat(firewalltest.Elements("route", "virbr1", "10.0.0.0/8"), firewalltest.ByDev("nat", "virbr2", "10.2.0.0/16", "eth0"),
		firewalltest.SeenAs("virbr3", "10.4.0.0/24", "192.0.2.1", "192.0.2.9", 1024, 65535), firewalltest.SeenAs("virbr4", "fd00:4::/64", "", "", 80, 80),
		firewalltest.Forwarded("virbr1", "10.0.0.0/8", "192.0.2.1", "10.1.2.3"), firewalltest.Forwarded("virbr0", "fd00:1::/64", "2001:db8::1", "fd00:1::10"))
	for _, v := range variants {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			applied := inKernel(t, v)
			printed := inKernel(t, v)
			f := applied.Open(t, firewalltest.Table)
			for i, step := range []struct{ add, del []firewall.Element }{{one, nil}, {two, one[:2]}, {one, two}, {nil, one}, {nil, two}} {
				if err := f.Apply(t.Context(), step.add, step.del); err != nil {
					t.Fatal(err)
				}
				commands := strings.Join(f.Render(step.add, step.del), "\n")
				printed.NS.Shell(commands)
				want := applied.Text(t)
				if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(printed.Text(t), "\n")); d != "" {
					t.Errorf("step %d: applied (-) and printed (+) differ:\n%s\n%s", i, d, commands)
				}
			}
			if s := printed.Text(t); s != "" {
				t.Errorf("left:\n%s", s)
			}
		})
	}
}

func TestNamesThatIPTablesTakesForPatternsAreRefused(t *testing.T) {
	t.Parallel()
	f, err := iptables.New(&xtablestest.Fake{}, firewall.DefaultTable)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"virbr+", "-j", "!x", "a b"} {
		if err := f.Apply(t.Context(), []firewall.Element{{Set: "bridges", Key: name}}, nil); !errors.Is(err, firewall.ErrElement) {
			t.Errorf("%q gave %v", name, err)
		}
	}
	if _, err := iptables.New(&xtablestest.Fake{}, "a-table-with-a-long-name"); err == nil {
		t.Error("a chain's name may be as long as it likes")
	}
}

func TestAllOfOursCanBeClearedWhateverItsState(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("table ip filter", "table ip nat", "table ip6 filter", "table ip6 nat")
	p := xtables.New(ns.Kernel(), xtables.NFT)
	f, err := iptables.New(p, firewall.DefaultTable)
	if err != nil {
		t.Fatal(err)
	}
	if any, err := f.Clear(t.Context()); any || err != nil {
		t.Errorf("cleared nothing: %v, %v", any, err)
	}
	if err := p.Restore(t.Context(), false, foreign+"*filter\n:taproom-his - [0:0]\n-A OUTPUT -j taproom-his\nCOMMIT\n"); err != nil {
		t.Fatal(err)
	}
	before := text(t, p)
	if err := f.Apply(t.Context(), slices.Concat(firewalltest.Elements("nat", "virbr0", "192.168.122.0/24"), firewalltest.Elements("nat", "virbr0", "fd00::/64")), nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Restore(t.Context(), false, "*filter\n-A taproom-his -j taproom-in\n:taproom-out - [0:0]\nCOMMIT\n"); err != nil {
		t.Fatal(err)
	}
	if any, err := f.Clear(t.Context()); !any || err != nil {
		t.Errorf("cleared: %v, %v", any, err)
	}
	if d := cmp.Diff(before, text(t, p)); d != "" {
		t.Errorf("afterwards (-want +got):\n%s", d)
	}
}

func TestWhatIsPutBackIsWhereItWas(t *testing.T) {
	t.Parallel()
	fake := &xtablestest.Fake{}
	h := host(t, nil, fake)
	f := h.Open(t, firewalltest.Table)
	one := firewalltest.Elements("nat", "virbr0", "192.168.122.0/24")
	if err := f.Apply(t.Context(), one, nil); err != nil {
		t.Fatal(err)
	}
	if err := fake.Restore(t.Context(), false, "*filter\n-I FORWARD 1 -i docker0 -j ACCEPT\n-I FORWARD 2 -o docker0 -j DROP\nCOMMIT\n"); err != nil {
		t.Fatal(err)
	}
	before := h.Text(t)
	h.FailAt(2, false) // the first table is as it should be by then
	if err := f.Apply(t.Context(), nil, one); !errors.Is(err, xtablestest.ErrFault) {
		t.Fatalf("the change gave %v", err)
	}
	if d := cmp.Diff(before, h.Text(t)); d != "" {
		t.Errorf("put back (-want +got):\n%s", d)
	}
}
