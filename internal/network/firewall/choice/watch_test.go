package choice_test

import (
	"context"
	"strings"
	"testing"

	"taproom/internal/host/nft"
	"taproom/internal/host/xtables"
	"taproom/internal/network/firewall/choice"
	"taproom/internal/network/firewall/firewalltest"
	"taproom/internal/network/state"
)

// What our own iptables-restore does is no change of somebody else's, which everything would be looked at for again.
func TestOurOwnProgramsAreNobodyElse(t *testing.T) {
	t.Parallel()
	if !nft.TellsPIDs() {
		t.Skip("in a container the kernel tells of programs by numbers that they do not have here; run `make test` outside of one")
	}
	if v, err := choice.TryIPTables(t.Context()); err != nil {
		t.Fatal(err)
	} else if v != xtables.NFT {
		t.Skip("iptables is iptables-legacy here, which tells nobody of changes; iptables-nft tells (Debian: update-alternatives --set iptables /usr/sbin/iptables-nft)")
	}
	e := env(t)
	c := open(t, e, choice.IPTables, choice.IPTables)
	told := make(chan string, 64)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Backend.(state.FirewallWatcher).Watch(ctx, func(who string) { told <- who }) }()
	if who := <-told; who != "" {
		t.Errorf("it begins with %q", who)
	}
	elements := firewalltest.Elements("nat", "virbr0", "192.168.122.0/24")
	if err := c.Apply(t.Context(), elements, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(t.Context(), nil, elements[:1]); err != nil {
		t.Fatal(err)
	}
	somebody := func(args ...string) { // what is told is told in order
		t.Helper()
		e.ns.Run("iptables-nft", args...)
		if who := <-told; strings.Contains(who, "restor") || !strings.HasPrefix(who, "iptables") {
			t.Errorf("who changed something is %q", who)
		}
	}
	somebody("-A", "FORWARD", "-j", "ACCEPT")
	somebody("-D", "FORWARD", "-j", "ACCEPT")
	if err := c.Apply(t.Context(), nil, elements); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
