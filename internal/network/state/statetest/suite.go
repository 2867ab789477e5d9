// Package statetest holds what every backend of a plan must do. A fake that passes it tells the truth.
package statetest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"taproom/internal/network/state"
)

// network is what a NAT network puts into the firewall.
func network(bridge, address string) []state.Element {
	return []state.Element{
		{Set: "bridges", Key: bridge},
		{Set: "nat24", Key: address},
		{Set: "net24", Key: bridge + " . " + address},
		{Set: "same", Key: bridge + " . " + bridge},
	}
}

// RunFirewall tests a firewall. open returns one that has nothing of ours, for as long as the test runs; each test leaves
// it like that.
func RunFirewall(t *testing.T, open func(t *testing.T) state.FirewallBackend) {
	one, two := network("virbr0", "192.168.122.0"), network("virbr1", "10.0.0.0")
	both := slices.Concat(one, two)
	six := []state.Element{
		{Set: "ip6/bridges", Key: "virbr0"},
		{Set: "ip6/in64", Key: "virbr0 . fd00::"},
		{Set: "ip6/nat64", Key: "fd00::"},
		{Set: "ip6/net64", Key: "virbr0 . fd00::"},
		{Set: "ip6/same", Key: "virbr0 . virbr0"},
	}
	for name, steps := range map[string][]struct{ add, del, want []state.Element }{
		"what is added is observed, and gone when it was removed": {{one, nil, one}, {nil, one, nil}},
		"adding what is there is no error":                        {{one, nil, one}, {both, nil, both}, {nil, both, nil}},
		"removing what is not there is no error":                  {{nil, one, nil}, {two, one, two}, {nil, both, nil}},
		"one transaction replaces a network by another":           {{one, nil, one}, {two, one, two}, {nil, two, nil}},
		"networks do not disturb each other":                      {{one, nil, one}, {two, nil, both}, {nil, one, two}, {nil, two, nil}},
		"families do not disturb each other":                      {{one, nil, one}, {six, nil, slices.Concat(one, six)}, {two, one, slices.Concat(two, six)}, {nil, six, two}, {nil, two, nil}},
		"nothing to do is nothing done":                           {{nil, nil, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, fw := t.Context(), open(t)
			for i, s := range steps {
				if err := fw.Apply(ctx, s.add, s.del); err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
				observed(ctx, t, fw, s.want)
			}
		})
	}
	t.Run("what is rendered names every element", func(t *testing.T) {
		t.Parallel()
		text := strings.Join(open(t).Render(one, two), "\n")
		for _, e := range both {
			if !strings.Contains(text, e.Set) {
				t.Errorf("no %s in\n%s", e.Set, text)
			}
		}
	})
}

func observed(ctx context.Context, t *testing.T, fw state.FirewallBackend, want []state.Element) {
	t.Helper()
	got, err := fw.Observe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(sorted(want), sorted(got)); d != "" {
		t.Errorf("observed (-want +got):\n%s", d)
	}
}

func sorted(es []state.Element) []state.Element {
	es = append([]state.Element{}, es...)
	slices.SortFunc(es, func(a, b state.Element) int {
		return cmp.Or(strings.Compare(a.Set, b.Set), strings.Compare(a.Key, b.Key))
	})
	return es
}
