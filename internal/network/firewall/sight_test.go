package firewall_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
)

// reader counts how often a table is read.
type reader struct {
	nft.Backend
	reads int
}

func (r *reader) Dump(ctx context.Context, f nft.Family, table string) (*nft.Listing, error) {
	r.reads++
	return r.Backend.Dump(ctx, f, table)
}

func TestWhatANetworkCostsDoesNotReadTheOthers(t *testing.T) {
	onBoth(t, func(t *testing.T, b nft.Backend) {
		r := &reader{Backend: b}
		f := firewall.New(r, firewall.DefaultTable)
		nth := func(n int) []element {
			return append(network(fmt.Sprintf("virbr%d", n), fmt.Sprintf("10.0.%d.0", n), 24), routed(fmt.Sprintf("virbr%d", n), fmt.Sprintf("fd00:%d::", n+1), 64)...)
		}
		named := func(want []element, only ...element) {
			t.Helper()
			got, err := f.Observe(t.Context(), only...)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("of those named (-want +got):\n%s", d)
			}
		}
		apply(t, f, nth(0), nil)
		named(nth(0)[:1], nth(0)[0], nth(1)[0])
		for n := 1; n < 6; n++ {
			named(nil, nth(n)...)
			apply(t, f, nth(n), nil)
			named(nth(n)[:1], nth(n)[0], nth(9)[0])
		}
		apply(t, f, nth(5), nth(1))
		named(nil, nth(1)...)
		apply(t, f, nil, append(nth(2), nth(2)...))
		apply(t, f, nil, nth(2))
		if r.reads != 2 {
			t.Errorf("tables were read %d times, want once each before there was anything", r.reads)
		}
		observed(t, f, nth(0), nth(3), nth(4), nth(5))

		// What anybody else does is seen, whatever he did it to.
		other := firewall.New(b, firewall.DefaultTable)
		apply(t, other, nil, nth(3))
		named(nil, nth(3)...) // and from now on it is told who touches what
		named(nth(4)[:1], nth(4)[0])

		// What he did to other tables is no reason to read ours.
		r.reads = 0
		x := &nft.Transaction{}
		x.Add(nft.Table{Family: nft.IPv4, Name: "else"})
		if err := b.Commit(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		named(nth(4)[:1], nth(4)[0])
		apply(t, f, nth(6), nil)
		if r.reads != 0 {
			t.Errorf("after a change of another table ours were read %d times", r.reads)
		}
		observed(t, f, nth(0), nth(4), nth(5), nth(6))
		x = &nft.Transaction{}
		x.Delete(nft.Table{Family: nft.IPv4, Name: "else"})
		if err := b.Commit(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		apply(t, f, nil, slices.Concat(nth(0), nth(4), nth(5), nth(6)))
		if s := dump(t, b); s != "" {
			t.Errorf("left:\n%s", s)
		}
	})
}

// A transaction that changes nothing is not sent: the kernel would not count it, and the next change of somebody else would be
// taken for it.
func TestWhatIsThereAlreadyIsNoTransaction(t *testing.T) {
	onBoth(t, func(t *testing.T, b nft.Backend) {
		f := firewall.New(b, firewall.DefaultTable)
		one, two := network("virbr0", "10.0.0.0", 24), network("virbr1", "10.0.1.0", 24)
		apply(t, f, one, nil)
		apply(t, f, two, nil)
		before, err := b.Generation(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sent := &meddler{Backend: b, times: 1, with: func() { t.Error("a transaction is sent") }}
		g := firewall.New(sent, firewall.DefaultTable)
		apply(t, g, one, nil)
		apply(t, g, append(one, two...), network("virbr2", "10.0.2.0", 24))
		sent.times = 0
		other := firewall.New(b, firewall.DefaultTable)
		apply(t, other, nil, two)
		if after, err := b.Generation(t.Context()); err != nil || after != before+1 {
			t.Errorf("generation %d after %d, %v; one transaction is one", after, before, err)
		}
		observed(t, g, one)
		apply(t, f, nil, one)
	})
}
