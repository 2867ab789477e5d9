package host_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// manyBridges makes bridges and returns their indexes, and a Kernel that counts.
func manyBridges(tb testing.TB, n int) (k *host.Kernel, counter *host.Counter, links []int) {
	tb.Helper()
	ns := hosttest.NewNS(tb)
	ns.Keep("link br*")
	var script strings.Builder
	for i := range n {
		fmt.Fprintf(&script, "link add br%d type bridge\n", i)
	}
	path := filepath.Join(tb.TempDir(), "bridges")
	if err := os.WriteFile(path, []byte(script.String()), 0o600); err != nil {
		tb.Fatal(err)
	}
	ns.Run("ip", "-batch", path)
	counter = &host.Counter{}
	k = host.New(host.Options{Run: ns.Do, Counter: counter})
	tb.Cleanup(k.Close)
	all, err := k.Links()
	if err != nil {
		tb.Fatal(err)
	}
	for _, l := range all {
		if l.Kind == "bridge" {
			links = append(links, l.Index)
		}
	}
	return k, counter, links
}

// messages counts the netlink messages that f sends.
func messages(c *host.Counter, f func()) uint64 {
	before := c.Counts().Netlink
	f()
	return c.Counts().Netlink - before
}

func TestFences_OfManyLinksCostOneListAndThreeRequestsForEachThatHasFilters(t *testing.T) {
	t.Parallel()
	k, counter, links := manyBridges(t, 100)
	gone := links[99] + 1000
	want := map[int]host.Fence{links[0]: host.ClosedFence(), links[7]: {To4: true}, links[99]: {From: true, To6: true}}
	if failed := k.SetFences(want); len(failed) > 0 {
		t.Fatal(failed)
	}
	for _, index := range links[:99] {
		if index != links[0] && index != links[7] {
			want[index] = host.Fence{}
		}
	}
	var have map[int]host.Fence
	var failed map[int]error
	if n := messages(counter, func() { have, failed = k.Fences(append(links, gone)) }); n != 1+3*3 {
		t.Errorf("%d messages, want a list and three for each of three links", n)
	}
	if len(failed) > 0 {
		t.Error(failed)
	}
	for index, f := range want {
		if d := cmp.Diff(f, have[index]); d != "" {
			t.Errorf("link %d (-want +got):\n%s", index, d)
		}
	}
	// A link that has gone fails by itself.
	failed = k.SetFences(map[int]host.Fence{gone: {To4: true}, links[0]: {}, links[1]: {To4: true}})
	if len(failed) != 1 || !errors.Is(failed[gone], host.ErrNoLink) {
		t.Errorf("failed: %v, want ErrNoLink of link %d alone", failed, gone)
	}
	have, failed = k.Fences(links)
	if have[links[0]] != (host.Fence{}) || have[links[1]] != (host.Fence{To4: true}) || have[links[7]] != (host.Fence{To4: true}) || len(failed) > 0 {
		t.Errorf("fences %v, %v", have, failed)
	}
}

// BenchmarkFences reads the fences of 1000 bridges, of which none or all have one, and closes and opens all of them.
func BenchmarkFences(b *testing.B) {
	k, _, links := manyBridges(b, 1000)
	read := func(b *testing.B) {
		for b.Loop() {
			if _, failed := k.Fences(links); len(failed) > 0 {
				b.Fatal(failed)
			}
		}
	}
	set := func(f host.Fence) {
		want := map[int]host.Fence{}
		for _, index := range links {
			want[index] = f
		}
		if failed := k.SetFences(want); len(failed) > 0 {
			b.Fatal(failed)
		}
	}
	b.Run("read=open", read)
	b.Run("close+open", func(b *testing.B) {
		for b.Loop() {
			set(host.Fence{To4: true})
			set(host.Fence{})
		}
	})
	set(host.ClosedFence())
	b.Run("read=closed", read)
}
