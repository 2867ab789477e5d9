package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/kbuild"
	"taproom/internal/appliance/kernel"
	"taproom/internal/appliance/kernel/kerneltest"
	"taproom/internal/appliance/toolbox"
)

// lines are what a list says of the files below a folder.
func lines(t *testing.T, dir string, list []Kept) []string {
	t.Helper()
	var out []string
	for _, k := range list {
		path, err := filepath.Rel(dir, k.Path)
		if err != nil {
			t.Fatal(err)
		}
		if k.Current {
			path += ", current"
		}
		out = append(out, k.Kind+" "+path)
	}
	return out
}

func TestWhatIsKeptIsListedAndWhatIsNotInUseRemoved(t *testing.T) {
	kerneltest.FakeApt(t, "machine")
	o := Options{CacheDir: t.TempDir(), AgentPath: fakeAgent(t, "1")}
	f, err := Ensure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"appliance-old", "own/other-123456789abc-x/manifest.json", "own/other-123456789abc-x/vmlinux", "tools/tools-00000000-x.squashfs", "initramfs-of-the-guest",
	} {
		path := filepath.Join(o.CacheDir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := List(o)
	if err != nil {
		t.Fatal(err)
	}
	current := "initramfs " + filepath.Base(f.Initrd) + ", current"
	rest := []string{"initramfs appliance-old", "kernel own/other-123456789abc-x", "tools tools/tools-00000000-x.squashfs"}
	all := append([]string{current}, rest...)
	slices.Sort(all)
	if diff := cmp.Diff(all, lines(t, o.CacheDir, list)); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	gone, err := Clean(t.Context(), o, false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rest, lines(t, o.CacheDir, gone)); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if gone, err = Clean(t.Context(), o, true); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{current}, lines(t, o.CacheDir, gone)); diff != "" {
		t.Errorf("removed in the end (-want +got):\n%s", diff)
	}
	left, err := filepath.Glob(filepath.Join(o.CacheDir, "*"))
	if got := strings.Join(left, " "); err != nil || !strings.Contains(got, "kernel-linux-image") || !strings.Contains(got, "initramfs-of-the-guest") {
		t.Errorf("what is not the appliances' was removed: %s is left, %v", got, err)
	}
}

func TestWhatIsLaunchedFromIsNotRemoved(t *testing.T) {
	kerneltest.FakeApt(t, "machine")
	o := Options{CacheDir: t.TempDir(), AgentPath: fakeAgent(t, "1")}
	f, err := Ensure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	own, tools := filepath.Join(o.CacheDir, "own/other-123456789abc-x"), filepath.Join(o.CacheDir, "tools/tools-00000000-x.squashfs")
	for _, path := range []string{filepath.Join(own, "manifest.json"), filepath.Join(own, "vmlinux"), tools} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("{}"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	guests := filepath.Join(o.CacheDir, "own/guest-123456789abc-x")
	for _, name := range []string{"manifest.json", "vmlinux"} {
		if err := errors.Join(os.MkdirAll(guests, 0o755), os.WriteFile(filepath.Join(guests, name), []byte("{}"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(guests, "vmlinux"), filepath.Join(o.CacheDir, kernel.GuestLink)); err != nil {
		t.Fatal(err)
	}
	release, err := cache.Hold(filepath.Join(own, "vmlinux"), f.Initrd, tools)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	o.Progress = func(what string) { said = append(said, what) }
	if gone, err := Clean(t.Context(), o, true); err != nil || len(gone) != 0 || len(said) != 4 {
		t.Errorf("removed %v, %v, saying %q, want nothing", gone, err, said)
	}
	long := time.Now().Add(-2 * unusedFor)
	if err := os.Chtimes(f.Initrd, long, long); err != nil {
		t.Fatal(err)
	}
	o.AgentPath = fakeAgent(t, "2") // of another version, which sweeps
	if _, err := Ensure(t.Context(), o); err != nil || !cache.Exists(f.Initrd) {
		t.Errorf("%v, and what is launched from is there: %v", err, cache.Exists(f.Initrd))
	}
	release()
	if gone, err := Clean(t.Context(), o, true); err != nil || len(gone) != 4 || !cache.Exists(guests) {
		t.Errorf("removed %v, %v, want all but what the built-in guest boots", gone, err)
	}
}

func TestCleanWaitsForWhoBuilds(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]func(context.Context, cache.Folder, func(string)) (func(), error){
		"a kernel": kbuild.Lock, "tools": toolbox.Lock, "the rest": lockFolder,
	} {
		o := Options{CacheDir: t.TempDir()}
		c, err := cache.Open(o.CacheDir)
		if err != nil {
			t.Fatal(err)
		}
		unlock, err := lock(t.Context(), c, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		o.Progress = func(string) { cancel() }
		if _, err := Clean(ctx, o, true); !errors.Is(err, context.Canceled) {
			t.Errorf("while %s is made: %v, want that it waits", name, err)
		}
		cancel()
		unlock()
	}
}
