package launch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/host"
)

// followsQEMU launches where QEMU was replaced since the template was made, as far as the Launcher knows.
func followsQEMU(t *testing.T, s Spec) {
	l, err := open(t, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	before, is := l.shared, l.madeWith
	l.madeWith.Inode++
	launched(t, l)
	if l.shared == before || l.madeWith != is {
		t.Errorf("it went on with the template of a QEMU that is not there any more: %+v", l.madeWith)
	}
	if _, err := before.memory.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the memory of the old template: %v, want closed", err)
	}
	before = l.shared
	launched(t, l)
	if l.shared != before {
		t.Error("it took another template where QEMU is the same")
	}
}

// outlastsItsFile opens a template that somebody removes while it is read.
func outlastsItsFile(t *testing.T, s Spec, path string) {
	s.CacheDir = t.TempDir()
	mine := filepath.Join(s.CacheDir, filepath.Base(path))
	if err := os.Link(path, mine); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.CacheDir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.Kernel = host.New(host.Options{Hook: func(step string) {
		if strings.HasPrefix(step, "file touch template-") {
			_ = os.Remove(mine)
		}
	}})
	l, err := open(t, s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if way, why := l.Way(); way != WayTemplate || !strings.Contains(why, "nobody will know") {
		t.Errorf("the way is %v: %q", way, why)
	}
	if left, err := os.ReadDir(s.CacheDir); err != nil || len(left) > 0 {
		t.Errorf("a template was made though one was read: %v (%v)", left, err)
	}
}
