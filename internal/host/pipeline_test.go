package host_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func TestAnswersOfAPipelineReachThoseWhoAsked(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	const n = 150 // more than two windows
	indexes, closeAll := manyTaps(t, k, 0, n)
	var order []int
	p := k.Pipeline()
	for i, index := range indexes {
		missing := i%7 == 3
		if missing {
			index = 1_000_000 + i
		}
		p.SetAlias(index, fmt.Sprint("tap ", i), func(err error) {
			order = append(order, i)
			if missing != errors.Is(err, host.ErrNoLink) || !missing && err != nil {
				t.Errorf("request %d: %v, missing: %v", i, err, missing)
			}
		})
	}
	p.SetLink(indexes[0], host.LinkSettings{MAC: "nonsense"}, func(err error) {
		if err == nil {
			t.Error("an address that is none was sent")
		}
	})
	p.Flush()
	if len(order) != n || !slices.IsSorted(order) {
		t.Errorf("%d of %d requests were answered, in the order %v", len(order), n, order)
	}
	for i, index := range indexes {
		l, err := k.LinkByIndex(index)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprint("tap ", i)
		if i%7 == 3 {
			want = ""
		}
		if l.Alias != want {
			t.Errorf("tap %d has the alias %q, want %q", i, l.Alias, want)
		}
	}
	must(t, errors.Join(k.DeleteLinks(leaving, indexes), closeAll()))
	empty := k.Pipeline()
	empty.Flush()
}

func TestConversationsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	indexes, closeAll := manyTaps(t, k, 0, 2)
	first := k.Pipeline() // under way
	first.SetAlias(indexes[0], "first", func(err error) { must(t, err) })
	second := k.Pipeline()
	second.SetAlias(indexes[1], "second", func(err error) { must(t, err) })
	must(t, k.SetAlias(indexes[0], "third"))
	second.Flush()
	first.Flush()
	for i, want := range []string{"third", "second"} {
		if l, err := k.LinkByIndex(indexes[i]); err != nil || l.Alias != want {
			t.Errorf("link %d: alias %q, %v, want %q", i, l.Alias, err, want)
		}
	}
	must(t, errors.Join(k.DeleteLinks(leaving, indexes), closeAll()))
}
