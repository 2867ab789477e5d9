package statetest_test

import (
	"testing"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
	"taproom/internal/network/state"
	"taproom/internal/network/state/statetest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

func TestTheKernelsFirewall(t *testing.T) {
	t.Parallel()
	statetest.RunFirewall(t, func(t *testing.T) state.FirewallBackend {
		ns := hosttest.NewNS(t)
		c, err := nft.Open(ns.Kernel())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
		return firewall.New(c, "taproom")
	})
}
