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
	if err := os.Mkdir(c.Path("a-folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.Sweep("")
	if left, err := filepath.Glob(c.Path("*")); err != nil || len(left) != 4 {
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

func TestLockIsTheOwnersAlone(t *testing.T) {
	t.Parallel()
	c, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.Path("lock"), nil, 0o644); err != nil { // of a former version
		t.Fatal(err)
	}
	unlock, err := c.Lock(t.Context(), func() { t.Error("nobody else holds the lock") })
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if st, err := os.Stat(c.Path("lock")); err != nil || st.Mode() != 0o600 {
		t.Errorf("the lock is %v, %v, want one that nobody else can open", st.Mode(), err)
	}
}

func TestRootTakesNoFolderThatOthersMayChange(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("run as root, as `make test` does in a container: other users' folders are their own affair")
	}
	for name, c := range map[string]struct {
		mode     os.FileMode
		uid, gid int
		refused  bool
	}{
		"root's":                      {0o755, 0, 0, false},
		"root's group's":              {0o775, 0, 0, false},
		"another group may write":     {0o775, 0, 12, true},
		"everybody may write":         {0o757, 0, 0, true},
		"another user's, to be shown": {0o755, 1000, 0, true},
	} {
		dir := t.TempDir()
		if err := errors.Join(os.Chown(dir, c.uid, c.gid), os.Chmod(dir, c.mode)); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir)
		if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
