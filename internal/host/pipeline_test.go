package host_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	indexes, closeAll := manyTaps(t, k, 0, 3)
	first := k.Pipeline() // under way
	first.SetAlias(indexes[0], "first", func(err error) { must(t, err) })
	first.SetAlias(indexes[2], "last", func(err error) { must(t, err) }) // the one before is sent
	second := k.Pipeline()
	second.SetAlias(indexes[1], "second", func(err error) { must(t, err) })
	must(t, k.SetAlias(indexes[0], "third"))
	second.Flush()
	first.Flush()
	for i, want := range []string{"third", "second", "last"} {
		if l, err := k.LinkByIndex(indexes[i]); err != nil || l.Alias != want {
			t.Errorf("link %d: alias %q, %v, want %q", i, l.Alias, err, want)
		}
	}
	must(t, errors.Join(k.DeleteLinks(leaving, indexes), closeAll()))
}

// A conversation costs a message for each request, and one to read where all goes well.
func TestRequestsThatFollowEachOtherAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	var calls []string
	k := ns.KernelWith(func(call string) { calls = append(calls, call) })
	defer k.Close()
	index, err := k.CreateBridge(host.BridgeSpec{Name: "virbr0"})
	must(t, err)
	calls = nil
	var done []string
	note := func(what string) func(error) {
		return func(err error) {
			if err != nil || len(calls) != 4 {
				t.Errorf("%s: %v, after %q", what, err, calls)
			}
			done = append(done, what)
		}
	}
	p := k.Pipeline()
	p.AddAddress(index, netip.MustParsePrefix("192.0.2.1/24"), note("four"))
	p.AddAddress(index, netip.MustParsePrefix("192.0.2.1/24"), note("again"))
	p.AddAddress(index, netip.MustParsePrefix("2001:db8::1/64"), note("six"))
	p.SetLink(index, host.LinkSettings{Up: true}, note("up"))
	if len(calls) != 3 || len(done) != 0 {
		t.Errorf("before the end: %q, answered %q", calls, done)
	}
	p.Flush()
	if d := cmp.Diff([]string{"four", "again", "six", "up"}, done); d != "" {
		t.Errorf("answered (-want +got):\n%s", d)
	}
	got, err := k.Addresses(index)
	if err != nil || !slices.Contains(got, netip.MustParsePrefix("192.0.2.1/24")) || !slices.Contains(got, netip.MustParsePrefix("2001:db8::1/64")) {
		t.Errorf("addresses %v, %v", got, err)
	}
	must(t, k.DeleteLink(index))
}
