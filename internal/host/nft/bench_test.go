package nft_test

import (
	"context"
	"fmt"
	"testing"

	"taproom/internal/host/nft"
	"taproom/internal/host/nft/nfttest"
)

// One element more where a thousand are: a commit's floor, against which a network's join is measured.
func BenchmarkAddElement(b *testing.B) {
	_, c := open(b)
	ctx := context.Background()
	if err := c.Commit(ctx, nfttest.Layout()); err != nil {
		b.Fatal(err)
	}
	s := nft.Set{Family: nft.IPv4, Table: nfttest.TableName, Name: "net24", Type: "ifname . ipv4_addr"}
	add := func(i int) {
		x := &nft.Transaction{}
		x.Add(nft.Elements{Set: s, Keys: []string{fmt.Sprintf("br%d . 10.%d.%d.0", i, i>>8&255, i&255)}})
		if err := c.Commit(ctx, x); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 1000 {
		add(i)
	}
	b.ResetTimer()
	for i := range b.N {
		add(1000 + i)
	}
}
