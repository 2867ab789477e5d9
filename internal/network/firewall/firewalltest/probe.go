package firewalltest

import (
	"testing"

	"taproom/internal/network/state"
)

// probed checks that a mark shows its removal, and that it disturbs no rules.
func probed(t *testing.T, h *Host) {
	before := h.Text(t)
	b := h.Open(t, Table)
	p, ok := b.(state.FirewallProber)
	if !ok {
		t.Fatalf("%T is no state.FirewallProber", b)
	}
	probe := func(when string, want bool) {
		t.Helper()
		if gone, err := p.Probe(t.Context()); err != nil || gone != want {
			t.Errorf("%s: the mark was gone: %v, %v; want %v", when, gone, err, want)
		}
	}
	probe("at first", true)
	probe("again", false)
	apply(t, b, each(), nil)
	observed(t, b, each())
	probe("beside rules", false)
	apply(t, b, nil, each())
	observed(t, b)
	for range 2 {
		if err := p.Unprobe(t.Context()); err != nil {
			t.Errorf("remove the mark: %v", err)
		}
	}
	same(t, "without the mark", before, h.Text(t))
	probe("after it was removed", true)
	if err := p.Unprobe(t.Context()); err != nil {
		t.Errorf("remove the mark: %v", err)
	}
}
