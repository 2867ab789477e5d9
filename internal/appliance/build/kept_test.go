package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	t.Parallel()
	dir := t.TempDir()
	began := time.Now().Add(-time.Hour)
	for i, name := range []string{
		"appliance-old", "appliance-new", "own/other-123456789abc-x/manifest.json", "own/other-123456789abc-x/vmlinux", "tools/tools-00000000-x.squashfs",
		"kernel-of-the-distribution/vmlinux", "initramfs-of-the-guest",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		at := began.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	list, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{
		"initramfs appliance-new, current", "initramfs appliance-old", "kernel own/other-123456789abc-x", "tools tools/tools-00000000-x.squashfs",
	}
	if diff := cmp.Diff(all, lines(t, dir, list)); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	gone, err := Clean(t.Context(), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all[1:], lines(t, dir, gone)); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if gone, err = Clean(t.Context(), dir, true); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all[:1], lines(t, dir, gone)); diff != "" {
		t.Errorf("removed in the end (-want +got):\n%s", diff)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if got := strings.Join(left, " "); err != nil || !strings.Contains(got, "kernel-of-the-distribution") || !strings.Contains(got, "initramfs-of-the-guest") {
		t.Errorf("what is not the appliances' was removed: %s is left, %v", got, err)
	}
}
