package nft_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/host/nft"
	"taproom/internal/host/nft/nfttest"
)

func TestTheFakeCanApplyAndThenLoseTheAnswer(t *testing.T) {
	t.Parallel()
	f := &nft.Fake{FailAt: 2}
	ctx := context.Background()
	if err := f.Commit(ctx, nfttest.Layout()); err != nil {
		t.Fatal(err)
	}
	x := &nft.Transaction{}
	x.Add(nft.Elements{Set: nft.Set{Family: nft.IPv4, Table: nfttest.TableName, Name: "bridges", Type: "ifname"}, Keys: []string{"a"}})
	if err := f.Commit(ctx, x); !errors.Is(err, nft.ErrAnswerLost) || !errors.Is(err, unix.ENOBUFS) {
		t.Errorf("commit gave %v", err)
	}
	l, err := f.Dump(ctx, nft.IPv4, nfttest.TableName)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string][]string{"bridges": {"a"}}, l.Elements); d != "" || f.Commits() != 2 {
		t.Errorf("after %d commits (-want +got):\n%s", f.Commits(), d)
	}
}

func TestTheFakeStartsFromAPastedListing(t *testing.T) {
	t.Parallel()
	f := &nft.Fake{}
	if err := f.Load(nfttest.Want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(nfttest.Want, f.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, text := range []string{"", "table ip", "table ip t {", "table ip t {\n\tmap m {\n}", "table ip t {\n\tchain c {\n\t\tlog\n\t}\n}\n", "table xx t {\n}", "table ip t {\n}\nmore"} {
		if err := f.Load(text); err == nil {
			t.Errorf("loaded %q", text)
		}
	}
}
