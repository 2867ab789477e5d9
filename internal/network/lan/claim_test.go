package lan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/network/lan"
)

// script is a plan as it is printed.
func script(steps []lan.Step) string {
	var out strings.Builder
	for _, s := range steps {
		out.WriteString(s.String() + "\n")
	}
	return out.String()
}

// TestThePrintedPlanDoesTheSame applies a plan in one namespace and has a shell run what it prints in another.
func TestThePrintedPlanDoesTheSame(t *testing.T) {
	t.Parallel()
	applied, k := newHost(t, rich)
	typed, k2 := newHost(t, rich)
	s, s2 := look(t, k), look(t, k2)
	there, there2 := lan.Current(s, "br0"), lan.Current(s2, "br0")
	if _, err := lan.Apply(t.Context(), k, s, lan.Plan(s, there.WithBridge()), false); err != nil {
		t.Fatal(err)
	}
	typed.Shell(script(lan.Plan(s2, there2.WithBridge())))
	if d := cmp.Diff(shown(applied), shown(typed)); d != "" {
		t.Errorf("there (-applied +typed):\n%s", d)
	}
	s, s2 = look(t, k), look(t, k2)
	if _, err := lan.Apply(t.Context(), k, s, lan.Plan(s, there), false); err != nil {
		t.Fatal(err)
	}
	typed.Shell(script(lan.Plan(s2, there2)))
	if d := cmp.Diff(shown(applied), shown(typed)); d != "" {
		t.Errorf("and back (-applied +typed):\n%s", d)
	}
}

// TestFromAnyStepThereIsAWayBack carries out the first so many steps of a plan, and then the plan back from there.
func TestFromAnyStepThereIsAWayBack(t *testing.T) {
	t.Parallel()
	ns, k := newHost(t, rich)
	before, s := shown(ns), look(t, k)
	is := lan.Current(s, "br0")
	steps := lan.Plan(s, is.WithBridge())
	for n := range steps {
		if n%3 != 0 && n != len(steps)-1 {
			continue
		}
		s := look(t, k)
		if _, err := lan.Apply(t.Context(), k, s, lan.Plan(s, is.WithBridge())[:n], false); err != nil {
			t.Fatal(err)
		}
		move(t.Context(), t, k, is)
		if d := cmp.Diff(before, shown(ns)); d != "" {
			t.Fatalf("after %d steps it is not as before (-before +after):\n%s", n, d)
		}
	}
}
