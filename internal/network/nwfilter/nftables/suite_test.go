package nftables_test

import (
	"context"
	"testing"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
	"taproom/internal/network/nwfilter/filtertest"
	"taproom/internal/network/nwfilter/nftables"
)

const table = "filters"

func conn(t testing.TB, ns *hosttest.NS) *nft.Conn {
	t.Helper()
	c, err := nft.Open(ns.Kernel())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func open(t testing.TB, ns *hosttest.NS) nwfilter.Backend {
	t.Helper()
	b, err := nftables.Open(context.Background(), conn(t, ns), ns.Kernel(), table)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNftablesPassesTheSuite(t *testing.T) {
	t.Parallel()
	filtertest.RunBackend(t, filtertest.Options{}, open)
}
