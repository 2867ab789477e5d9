package state

import (
	"strings"
	"testing"

	"taproom/internal/host/hosttest"
)

// A bridge that was made before, or that somebody told to, learns from frames that it passes on to nobody: that is put right by one step.
func TestABridgeOfOursIsToldToLearnNothingFromLinkLocalFrames(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	e := newEnv(ns)
	want := config(1)
	if err := settle(e, want); err != nil {
		t.Fatal(err)
	}
	ns.Run("ip", "link", "set", "dev", "virbr1", "type", "bridge", "no_linklocal_learn", "0")
	scope := want.Scope()
	p, err := set(e, scope, want)
	if err != nil || len(p) != 1 || !strings.Contains(p.String(), "no_linklocal_learn 1") {
		t.Errorf("the plan is (%v)\n%s\nwant one step that says no_linklocal_learn 1", err, p)
	}
	if p, err := set(e, scope, want); err != nil || len(p) != 0 {
		t.Errorf("a second Set would still run (%v)\n%s", err, p)
	}
	empty(t, e)
}
