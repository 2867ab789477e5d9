package doctor

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAMissingFeatureIsToldFromAnErrorThatProvesNothing(t *testing.T) {
	t.Parallel()
	f := feature{name: "thing", config: "CONFIG_THING", need: "nothing works", status: Problem}
	for _, c := range []struct {
		err  error
		want Finding
	}{
		{nil, Finding{"kernel.thing", OK, "works", ""}},
		{fmt.Errorf("add: %w", unix.EPERM), Finding{"kernel.thing", Unknown, "add: operation not permitted", ""}},
		{unix.ENOENT, Finding{"kernel.thing", Problem, "this kernel has no thing (no such file or directory); it needs CONFIG_THING", "a kernel with CONFIG_THING; without it nothing works"}},
		{&needsClsact{unix.ENOENT}, Finding{"kernel.thing", Unknown, "not tried: clsact is needed for it\nno such file or directory", ""}},
	} {
		f.try = func(int) error { return c.err }
		var got Finding
		if err := throwaway(func() error { got = f.finding(tryFeature(f, "base")); return nil }); err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("got  %+v\nwant %+v", got, c.want)
		}
	}
}

func TestEveryFeatureIsNamedOnceAndSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range features() {
		if seen[f.name] || f.config == "" || f.need == "" || f.status != Warning && f.status != Problem || f.try == nil {
			t.Errorf("feature %+v", f)
		}
		seen[f.name] = true
	}
}

// Everything here is asked of one namespace, so what a feature leaves must not be in another's way.
func TestNoFeatureDependsOnTheOneBefore(t *testing.T) {
	t.Parallel()
	list := features()
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	alone := map[string]Finding{}
	for _, f := range list {
		if err := throwaway(func() error { alone[f.name] = f.finding(tryFeature(f, "base")); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	err := throwaway(func() error {
		for i, f := range list {
			if got := f.finding(tryFeature(f, fmt.Sprintf("base%d", i))); got != alone[f.name] {
				t.Errorf("together %+v\nalone    %+v", got, alone[f.name])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func FuzzBusMessage(f *testing.F) {
	f.Add(busCall(2, "NameHasOwner", firewalldName))
	f.Fuzz(func(_ *testing.T, b []byte) {
		replySerial(b)
		if len(b) >= iptInfoSize {
			parseLegacy(b[:iptInfoSize], b[iptInfoSize:])
		}
	})
}
