package nftables_test

import (
	"context"
	"strings"
	"testing"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
	"taproom/internal/network/nwfilter/filtertest"
	"taproom/internal/network/nwfilter/nftables"
)

const limited = `<filter name='f' chain='root'><rule action='drop' direction='out' priority='100'><tcp connlimit-above='2' dstportstart='80'/></rule></filter>`

// Two NICs count in one set, and it goes with the last of them.
func TestConnLimit_SetIsSharedAndRemoved(t *testing.T) {
	t.Parallel()
	fake := &nft.Fake{} // a kernel that has all
	b, err := nftables.Open(context.Background(), fake, nil, table)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, b, ports(t, 2, limited))
	text := fake.String()
	if n := strings.Count(text, "set limit-p"); n != 1 || !strings.Contains(text, "iifname ct count over 2 }") {
		t.Errorf("%d sets of limits:\n%s", n, text)
	}
	commits := fake.Commits()
	apply(t, b, ports(t, 2, limited))
	if n := fake.Commits(); n != commits {
		t.Errorf("the same again: %d more transactions", n-commits)
	}
	again, err := nftables.Open(context.Background(), fake, nil, table)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, again, ports(t, 2, noPackets))
	if text := fake.String(); strings.Contains(text, "limit-p") {
		t.Errorf("left behind:\n%s", text)
	}
}

// The third connection of a guest is dropped, the first two are not.
func TestConnLimit_CountsConnectionsOfANIC(t *testing.T) {
	t.Parallel()
	r := filtertest.NewRig(t, open)
	p := port(t, filtertest.Guest, limited, "10.0.0.10")
	hosttest.Needs(t, r.Backend.Apply(context.Background(), []nwfilter.Port{p}, nil), hosttest.Lift{Since: "6.1", Module: "nf_conntrack_bridge"})
	for i, pass := range []bool{true, true, false, false} {
		if got := r.Judge(nwfilter.Out, [][]byte{filtertest.SYN(1024+i, 80)}); got[0] != pass {
			t.Errorf("connection %d: came through %v, want %v", i+1, got[0], pass)
		}
	}
}
