package host_test

import (
	"os"
	"slices"
	"testing"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func TestTheTapsOfAProcessAreKnownByTheNamesTheyHave(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	tap, err := k.CreateTap(host.TapSpec{Name: "opentaps0"})
	must(t, err)
	defer tap.Close()
	is := func(when string, want ...string) { // other tests of this process have taps too
		t.Helper()
		all, err := k.OpenTaps(os.Getpid())
		must(t, err)
		got := slices.DeleteFunc(all, func(name string) bool { return name != "opentaps0" && name != "opentaps1" })
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	is("new", "opentaps0")
	ns.Run("ip", "link", "set", "dev", "opentaps0", "name", "opentaps1")
	is("called otherwise", "opentaps1")
	must(t, k.DeleteLink(tap.Index))
	is("deleted")
}
