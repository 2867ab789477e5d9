package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/appliance/kernel/kerneltest"
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
