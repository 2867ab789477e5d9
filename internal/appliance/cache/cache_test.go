package cache

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWaitForAnotherProcessEndsWithTheContext(t *testing.T) {
	t.Parallel()
	c, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := c.Lock(t.Context(), func() { t.Error("nobody else holds the lock") })
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	_, err = c.Lock(ctx, cancel)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), c.dir) {
		t.Errorf("got %v, want context.Canceled and the folder", err)
	}
}

func TestSweepKeepsWhatIsNamedAndWhatMatchesNothing(t *testing.T) {
	t.Parallel()
	c, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".new-left", "a-1", "a-2", "b-1"} {
		if err := os.WriteFile(c.Path(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.Sweep("")
	if left, err := filepath.Glob(c.Path("*")); err != nil || len(left) != 3 {
		t.Errorf("without a pattern there is %q, %v left, want all but what was begun", left, err)
	}
	c.Sweep("a-*", c.Path("a-2"))
	left, err := filepath.Glob(c.Path("*"))
	if want := []string{c.Path("a-2"), c.Path("b-1")}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left %q, %v, want %q", left, err, want)
	}
}

func TestPublishLeavesNothingWhereWritingFails(t *testing.T) {
	t.Parallel()
	c, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left")
	if _, err := c.Publish("x", func(*os.File) error { return full }); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
	if entries, err := os.ReadDir(c.Dir()); err != nil || len(entries) != 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}
