package vnet

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
	"taproom/internal/network/state"
)

func TestThePlanOfANetworkCanBeTyped(t *testing.T) {
	t.Parallel()
	applied, typed := hosttest.NewNS(t), hosttest.NewNS(t)
	conn, err := nft.Open(applied.Kernel())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	e := &state.Env{Kernel: applied.Kernel(), Group: 0x7461, Firewall: firewall.New(conn, "taproom")}
	first, err := Compile(parse(t, document("</network>", "<route address='192.168.7.0' gateway='10.0.0.7'/><route address='0.0.0.0' gateway='10.0.0.8' metric='9'/></network>")))
	if err != nil {
		t.Fatal(err)
	}
	second, err := Compile(parse(t, document("10.0.0.", "10.7.0.", "prefix='24'", "prefix='20'", "</network>", "<route address='192.168.7.0' gateway='10.7.0.7' metric='3'/></network>")))
	if err != nil {
		t.Fatal(err)
	}
	scope := first.Scope(second)
	rules := func(ns *hosttest.NS) string {
		return ns.Shell("nft -s list ruleset; ip -4 -br address show dev virbr0 || true; ip route")
	}
	for i, want := range []state.State{first, second, {}} {
		o, err := state.Observe(t.Context(), e, scope)
		if err != nil {
			t.Fatal(err)
		}
		p, err := state.Diff(e, o, want)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Apply(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		typed.Shell(p.String())
		if d := cmp.Diff(rules(applied), rules(typed)); d != "" {
			t.Errorf("state %d, applied (-) and typed (+):\n%s\nthe plan was:\n%s", i, d, p)
		}
	}
}
