package state

import (
	"testing"

	"taproom/internal/host/hosttest"
)

func TestWhetherSettingsAreAsWantedIsReadOfTheBridge(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	ns.Shell("ip link add virbr0 type bridge")
	defer ns.Shell("ip link delete virbr0")
	set := func(settings ...string) {
		t.Helper()
		for i := 0; i < len(settings); i += 2 {
			if err := k.SetSysctl(ipv6Path("virbr0", settings[i]), settings[i+1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	static, quiet, plain := Bridge{Static: true}, Bridge{NoIPv6: true}, Bridge{}
	expect := func(what string, want ...Bridge) {
		t.Helper()
		for _, b := range []Bridge{static, quiet, plain} {
			should := false
			for _, w := range want {
				should = should || w.Static == b.Static && w.NoIPv6 == b.NoIPv6
			}
			if AsWanted(k, "virbr0", b) != should {
				t.Errorf("%s: %+v is as wanted: %t", what, b, !should)
			}
		}
	}
	set("disable_ipv6", "0")
	expect("as the kernel makes it", plain)
	set("disable_ipv6", "1")
	expect("without IPv6", quiet)
	set("disable_ipv6", "0", "addr_gen_mode", "1", "accept_ra", "0", "autoconf", "0")
	expect("what is behind it are guests", plain, static)
	set("accept_ra", "1")
	expect("it believes routers", plain)
	if AsWanted(k, "virbr1", plain) || !AsWanted(k, "virbr1", quiet) {
		t.Error("one that is not there has IPv6")
	}
}
