package build

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/kernel/kerneltest"
)

func TestOfWhatManyVersionsMadeTheOnesUsedLastStay(t *testing.T) {
	t.Parallel()
	c, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ages := []time.Duration{0, 30 * time.Minute, 50 * time.Minute, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 5 * time.Hour, 6 * time.Hour, 25 * time.Hour}
	for i, age := range ages {
		path := c.Path(fmt.Sprintf("appliance-%d", i))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	release, err := cache.Hold(c.Path("appliance-7"))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	sweep(c, initrdPrefix+"*")
	left, err := filepath.Glob(c.Path(initrdPrefix + "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range left {
		left[i] = filepath.Base(path)
	}
	slices.Sort(left)
	want := []string{"appliance-0", "appliance-1", "appliance-2", "appliance-3", "appliance-4", "appliance-5", "appliance-7"}
	if d := cmp.Diff(want, left); d != "" {
		t.Errorf("left (-want +got):\n%s", d)
	}
}

func TestWhatIsAboutToBeOpenedIsNotCleanedAway(t *testing.T) {
	kerneltest.FakeApt(t, "machine")
	o := Options{CacheDir: t.TempDir(), AgentPath: fakeAgent(t, "1")}
	f, release, err := EnsureHeld(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if gone, err := Clean(t.Context(), o, true); err != nil || len(gone) != 0 {
		t.Errorf("removed %+v (%v), want nothing", gone, err)
	}
	release()
	if gone, err := Clean(t.Context(), o, true); err != nil || len(gone) != 1 || gone[0].Path != f.Initrd {
		t.Errorf("removed %+v (%v), want the initramfs", gone, err)
	}
	if _, err := cache.Hold(f.Initrd); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("afterwards: %v", err)
	}
}
