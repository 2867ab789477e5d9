package firewall_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host/nft"
	"taproom/internal/host/nft/nfttest"
	"taproom/internal/network/firewall"
)

func TestTheKernelListsWhatIsDocumented(t *testing.T) {
	t.Parallel()
	ns, c := open(t)
	f := firewall.New(c, firewall.DefaultTable)
	both := append(network("virbr0", "192.168.122.0", 24), routed("virbr0", "fd00:1::", 64)...)
	apply(t, f, both, nil)
	if d := cmp.Diff(oneNetwork+oneNetwork6, nfttest.Listed(ns.Run("nft", "list", "ruleset"))); d != "" {
		t.Errorf("nft list ruleset (-want +got):\n%s", d)
	}
	apply(t, f, nil, both)
}

func TestALengthOfAllBitsIsAMaskToNobody(t *testing.T) {
	onBoth(t, func(t *testing.T, b nft.Backend) {
		f := firewall.New(b, firewall.DefaultTable)
		all := append(network("virbr0", "192.0.2.1", 32), routed("virbr0", "2001:db8::1", 128)...)
		apply(t, f, all, nil)
		observed(t, f, all)
		if s := dump(t, b); strings.Contains(s, "255.255.255.255 @") || strings.Contains(s, "ffff:ffff @") {
			t.Errorf("a mask of all bits is written:\n%s", s)
		}
		apply(t, f, nil, all)
	})
}

func TestBothTablesChangeInOneTransactionOrNotAtAll(t *testing.T) {
	onBoth(t, func(t *testing.T, b nft.Backend) {
		f := firewall.New(b, firewall.DefaultTable)
		a, six := network("virbr0", "192.168.122.0", 24), routed("virbr0", "fd00:1::", 64)
		both := slices.Concat(a, six)
		fake, counts := b.(*nft.Fake)
		for i, step := range []struct{ add, del []element }{{both, nil}, {nil, both}, {six, nil}, {both, nil}, {a, six}, {nil, both}} {
			apply(t, f, step.add, step.del)
			if counts && fake.Commits() != i+1 {
				t.Errorf("after step %d there were %d transactions", i, fake.Commits())
			}
		}
		if s := dump(t, b); s != "" {
			t.Errorf("left:\n%s", s)
		}
		// A look at the second table after somebody changed the first means looking at both again.
		other := firewall.New(b, firewall.DefaultTable)
		c := network("virbr1", "192.168.123.0", 24)
		apply(t, f, both, nil)
		m := &meddler{Backend: b, times: 1, with: func() { apply(t, other, c, nil) }}
		apply(t, firewall.New(m, firewall.DefaultTable), nil, both)
		observed(t, f, c)
		apply(t, f, nil, c)
	})
}
