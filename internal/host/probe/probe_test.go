package probe

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

func TestAMissingFeatureIsToldFromAnErrorThatProvesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
		gone bool
	}{
		{nil, "<nil>", false},
		{fmt.Errorf("add: %w", unix.EPERM), "add: operation not permitted", false},
		{unix.ENOENT, "this kernel has no thing (no such file or directory); it needs CONFIG_THING", true},
		{unix.EOPNOTSUPP, "this kernel has no thing (operation not supported); it needs CONFIG_THING", true},
		{&needsClsact{unix.ENOENT}, "not tried: clsact is needed for it\nno such file or directory", false},
	} {
		f := Feature{Name: "thing", Config: "CONFIG_THING", try: func(int) error { return c.err }}
		var got error
		if err := Throwaway(func() error { got = f.attempt("base"); return nil }); err != nil {
			t.Fatal(err)
		}
		var m *host.Missing
		if fmt.Sprint(got) != c.want || errors.As(got, &m) != c.gone {
			t.Errorf("%v gave %v", c.err, got)
		}
	}
}

func TestEveryFeatureIsNamedOnceAndSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	results, err := Features(ns.Kernel())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range results {
		f := r.Feature
		if seen[f.Name] || f.Config == "" || f.Need == "" {
			t.Errorf("feature %+v", f)
		}
		seen[f.Name] = true
		var m *host.Missing
		if r.Err != nil && !errors.As(r.Err, &m) {
			t.Errorf("%s: %v", f.Name, r.Err)
		}
	}
	if len(results) != len(features()) || !seen["tap"] || !seen["act_police"] {
		t.Errorf("tried %v", seen)
	}
}

// All are asked of one namespace, so what a feature leaves must not be in another's way.
func TestNoFeatureDependsOnTheOneBefore(t *testing.T) {
	t.Parallel()
	list := features()
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	alone := map[string]string{}
	for _, f := range list {
		if err := Throwaway(func() error { alone[f.Name] = fmt.Sprint(f.attempt("base")); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	err := Throwaway(func() error {
		for i, f := range list {
			if got := fmt.Sprint(f.attempt(fmt.Sprintf("base%d", i))); got != alone[f.Name] {
				t.Errorf("%s together: %s\nalone: %s", f.Name, got, alone[f.Name])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
