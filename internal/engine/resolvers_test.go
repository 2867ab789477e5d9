package engine

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host"
)

// followed is a file that names resolvers, and what is told of it.
type followed struct {
	t     *testing.T
	path  string
	told  chan []string
	again chan struct{}
	gone  atomic.Bool // the networks of our own
}

func follow(t *testing.T, text string) *followed {
	t.Helper()
	f := &followed{t: t, path: filepath.Join(t.TempDir(), "resolv.conf"), told: make(chan []string, 16), again: make(chan struct{})}
	own := map[netip.Addr]bool{netip.MustParseAddr("192.168.122.1"): true, netip.MustParseAddr("fd00::1"): true}
	f.write(text)
	k := host.New(host.Options{})
	w, err := k.WatchFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	r := &resolvers{
		k: k, log: slog.New(slog.DiscardHandler), path: f.path, own: func(a netip.Addr) bool { return own[a] && !f.gone.Load() },
		tell: func(_ context.Context, to []netip.AddrPort) {
			said := []string{}
			for _, a := range to {
				said = append(said, a.String())
			}
			f.told <- said
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.follow(ctx, w, f.again) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, w.Close()); !errors.Is(err, context.Canceled) {
			t.Errorf("following ended with %v", err)
		}
	})
	return f
}

func (f *followed) write(text string) {
	f.t.Helper()
	if err := os.WriteFile(f.path+".new", []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(f.path+".new", f.path); err != nil {
		f.t.Fatal(err)
	}
}

// tells waits for what is told next.
func (f *followed) tells(want ...string) {
	f.t.Helper()
	if want == nil {
		want = []string{}
	}
	if d := cmp.Diff(want, <-f.told); d != "" {
		f.t.Errorf("told of others (-want +got):\n%s", d)
	}
}

func TestTheHostsResolversAreToldWhenTheyChangeAndOnlyThen(t *testing.T) {
	t.Parallel()
	f := follow(t, "nameserver 192.0.2.1\n")
	f.tells("192.0.2.1:53")
	f.write("# rewritten, and the same\nsearch example\nnameserver 192.0.2.1\n")
	f.write("nameserver 192.0.2.2\nnameserver 2001:db8::1\n")
	f.tells("192.0.2.2:53", "[2001:db8::1]:53")
	if err := os.Remove(f.path); err != nil {
		t.Fatal(err)
	}
	f.tells()
	f.write("nameserver 127.0.0.53\n")
	f.tells("127.0.0.53:53")
}

func TestNetworksOfOurOwnAreNoResolvers(t *testing.T) {
	t.Parallel()
	f := follow(t, "nameserver 192.168.122.1\nnameserver fd00::1\nnameserver 192.0.2.1\n")
	f.tells("192.0.2.1:53")
	f.write("nameserver 192.168.122.1\n")
	f.tells()
	// A network stops: what was ours is somebody else's.
	f.gone.Store(true)
	f.again <- struct{}{}
	f.tells("192.168.122.1:53")
}
