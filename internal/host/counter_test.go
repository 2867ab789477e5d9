package host_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
)

// counting returns a Kernel in a namespace of its own that counts.
func counting(t *testing.T) (*host.Kernel, *host.Counter) {
	t.Helper()
	ns := hosttest.NewNS(t)
	c := &host.Counter{}
	k := host.New(host.Options{Run: ns.Do, Counter: c})
	t.Cleanup(k.Close)
	return k, c
}

func TestCounter_CountsCallsByNameAndTheirMessages(t *testing.T) {
	t.Parallel()
	k, c := counting(t)
	index, err := k.CreateBridge(host.BridgeSpec{Name: "br0"})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []string{"192.0.2.1/24", "192.0.2.2/24"} {
		if err := k.AddAddress(index, netip.MustParsePrefix(a)); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.DeleteLink(index); err != nil {
		t.Fatal(err)
	}
	got := c.Counts()
	if d := cmp.Diff(map[string]uint64{"bridge create": 1, "address add": 2, "link delete": 1}, got.Calls); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	if got.Netlink != 4 {
		t.Errorf("%d messages, want one for each call", got.Netlink)
	}
}

func TestCounter_CountsEachMessageOfAPipelineAndOfABatch(t *testing.T) {
	t.Parallel()
	k, c := counting(t)
	index, err := k.CreateBridge(host.BridgeSpec{Name: "br0"})
	if err != nil {
		t.Fatal(err)
	}
	before := c.Counts()
	p := k.Pipeline()
	for _, alias := range []string{"one", "two", "three"} {
		p.SetAlias(index, alias, func(err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	p.Flush()
	after := c.Counts()
	if n := after.Netlink - before.Netlink; n != 3 {
		t.Errorf("a pipeline of three requests: %d messages", n)
	}
	if err := k.DeleteLink(index); err != nil {
		t.Fatal(err)
	}
	conn, err := nft.Open(k)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	made, gone := &nft.Transaction{}, &nft.Transaction{}
	for _, name := range []string{"one", "two"} {
		made.Create(nft.Table{Family: nft.INet, Name: name})
		gone.Delete(nft.Table{Family: nft.INet, Name: name})
	}
	for _, tx := range []*nft.Transaction{made, gone} {
		before = c.Counts()
		if err := conn.Commit(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
		if n := c.Counts().Netlink - before.Netlink; n != 4 {
			t.Errorf("a batch of two changes: %d messages, want its begin and its end too", n)
		}
	}
}

func TestCounter_KeepsWhatItReturned(t *testing.T) {
	t.Parallel()
	c := &host.Counter{}
	k := host.New(host.Options{Counter: c})
	defer k.Close()
	k.Step("link get")
	was := c.Counts()
	k.Step("link get")
	if was.Calls["link get"] != 1 || c.Counts().Calls["link get"] != 2 {
		t.Errorf("counts %v, then %v", was, c.Counts())
	}
}
