package pool

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"taproom/internal/qemu/emutest"
)

// A pool that hangs keeps its place, and nobody else out of the folder.
func TestAPoolThatHangsHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	ctx, cancel := emutest.Context(t.Context())
	defer cancel()
	k := kernel(t)
	dir, err := os.MkdirTemp("", "pool") // a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	hung, other := Place{Dir: dir, Key: "hung"}, Place{Dir: dir, Key: "other"}
	for _, p := range []Place{hung, other} {
		f, err := p.listen(ctx, k)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close() // nobody accepts
	}
	if _, err := hung.listen(ctx, k); !errors.Is(err, ErrServed) || ctx.Err() != nil {
		t.Errorf("in the place of one that hangs: %v (%v), want ErrServed", err, ctx.Err())
	}
}

// The folder's name is no pattern, and what cannot be removed keeps no pool from serving.
func TestASweepTakesWhatIsCertainlyLeft(t *testing.T) {
	t.Parallel()
	k := kernel(t)
	dir, err := os.MkdirTemp("", "pool[b") // a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	leaveTraces(t, k, dir, "pool-a", time.Hour)
	leaveTraces(t, k, dir, "pool-b", 0) // a new one may be about to bind
	for _, path := range []string{"pool-c.log/file", "other.log/file"} {
		if err := os.MkdirAll(filepath.Join(dir, path), 0o700); err != nil {
			t.Fatal(err)
		}
		long := time.Now().Add(-time.Hour)
		if err := os.Chtimes(filepath.Join(dir, filepath.Dir(path)), long, long); err != nil {
			t.Fatal(err)
		}
	}
	place := Place{Dir: dir, Key: "mine"}
	f, err := place.listen(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		if e.Name() != "lock" {
			names = append(names, e.Name())
		}
	}
	if want := []string{"other.log", "pool-b.log", "pool-c.log", "pool-mine.sock"}; !slices.Equal(names, want) {
		t.Errorf("left are %q, want %q", names, want)
	}
	if got, err := Sockets(k, dir); err != nil || !slices.Equal(got, []string{place.Socket()}) {
		t.Errorf("sockets: %q, %v", got, err)
	}
	if got, err := Sockets(k, filepath.Join(dir, "none")); err != nil || got != nil {
		t.Errorf("in no folder: %q, %v", got, err)
	}
}
