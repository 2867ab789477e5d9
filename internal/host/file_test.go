package host_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func TestWriteFileReplacesWholeFilesWithTheModeAsked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	var calls []string
	k := host.New(host.Options{Hook: func(c string) { calls = append(calls, c) }})
	must(t, k.WriteFile(path, []byte("one"), 0o666, false))
	must(t, k.WriteFile(path, []byte("two"), 0o600, true))
	got, err := k.ReadFile(path)
	st, serr := os.Stat(path)
	if string(got) != "two" || err != nil || serr != nil || st.Mode() != 0o600 {
		t.Errorf("holds %q, mode %v, %v, %v", got, st.Mode(), err, serr)
	}
	want := strings.Fields("create write rename create write sync rename sync read")
	for i := range want {
		want[i] = "file " + want[i] + " state"
	}
	want[7] = "directory sync"
	if d := cmp.Diff(want, calls); d != "" {
		t.Errorf("announced calls (-want +got):\n%s", d)
	}
	if e, _ := os.ReadDir(filepath.Dir(path)); len(e) != 1 {
		t.Errorf("beside the file: %v", e)
	}
}

func TestAFullDiskLeavesTheOldFileAndNothingElse(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t) // for its private mounts
	dir := t.TempDir()
	ns.Do(func() {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = unix.Unmount(dir, 0) }()
		k, path := ns.Kernel(), filepath.Join(dir, "state")
		if err := k.WriteFile(path, []byte("old"), 0o600, true); err != nil {
			t.Error(err)
		}
		if err := k.WriteFile(path, make([]byte, 1<<20), 0o600, true); !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), path) {
			t.Errorf("on a full disk: %v, want ENOSPC naming %s", err, path)
		}
		got, err := k.ReadFile(path)
		if string(got) != "old" || err != nil {
			t.Errorf("the old file holds %q, %v", got, err)
		}
		if e, _ := k.ReadDir(dir); len(e) != 1 {
			t.Errorf("left in the directory: %v", e)
		}
	})
}

func TestAWriteCutOffAnywhereKeepsOldOrNewAndIsSwept(t *testing.T) {
	t.Parallel()
	type cut struct{}
	for at := range 6 {
		dir := t.TempDir()
		path := filepath.Join(dir, "state")
		must(t, os.WriteFile(path, []byte("old"), 0o600))
		must(t, os.WriteFile(filepath.Join(dir, ".other"), nil, 0o600))
		n := 0
		k := host.New(host.Options{Hook: func(string) {
			if n++; n == at+1 {
				panic(cut{})
			}
		}})
		func() {
			defer func() { _ = recover() }()
			_ = k.WriteFile(path, []byte("new"), 0o600, true)
		}()
		if _, err := host.New(host.Options{}).SweepTemp(dir); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if s := string(got); err != nil || s != "old" && s != "new" || at >= 5 && s != "new" {
			t.Errorf("cut at call %d: holds %q, %v", at, got, err)
		}
		if e, _ := os.ReadDir(dir); len(e) != 2 {
			t.Errorf("cut at call %d: after the sweep there are %v", at, e)
		}
	}
}

func TestDirectoriesAndRemoval(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	dir := filepath.Join(t.TempDir(), "a", "b")
	must(t, k.Mkdir(dir, 0o2775))
	must(t, k.Mkdir(dir, 0o700)) // exists
	st, err := os.Stat(dir)
	if err != nil || st.Mode().Perm() != 0o775 {
		t.Errorf("mode %v, %v: want 0775 whatever the umask, and kept", st.Mode(), err)
	}
	file := filepath.Join(dir, "f")
	must(t, k.WriteFile(file, []byte("12345"), 0o600, false))
	if err := k.Mkdir(file, 0o700); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("a file in the directory's place: %v", err)
	}
	if _, err := k.ReadFileLimit(file, 4); !errors.Is(err, host.ErrTooLarge) {
		t.Errorf("five bytes with a limit of four: %v", err)
	}
	if b, err := k.ReadFileLimit(file, 5); string(b) != "12345" || err != nil {
		t.Errorf("five bytes with a limit of five: %q, %v", b, err)
	}
	must(t, k.Chmod(file, 0o640))
	must(t, k.Chown(file, os.Getuid(), os.Getgid()))
	must(t, k.Remove(file))
	must(t, k.Remove(file)) // gone already
	must(t, k.RemoveAll(filepath.Dir(dir)))
	if n, err := k.SweepTemp(dir); n != 0 || err != nil {
		t.Errorf("sweep of a directory that is not there: %d, %v", n, err)
	}
}

func TestFileUseTellsHolesFromData(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	path := filepath.Join(t.TempDir(), "disk.raw")
	f, err := k.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	must(t, err)
	must(t, f.Truncate(1<<20))
	_, err = f.WriteAt(make([]byte, 8192), 65536)
	must(t, errors.Join(err, f.Sync(), f.Close()))
	got, err := k.FileUse(path)
	if err != nil || got.Capacity != 1<<20 || got.Allocation < 8192 || got.Allocation >= 1<<19 || got.Block {
		t.Errorf("a file of 1 MiB with 8 KiB written: %+v, %v", got, err)
	}
	if _, err := k.FileUse(t.TempDir()); err == nil {
		t.Error("a directory was measured")
	}
	if _, err := k.FileUse(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestAnOpenFileCanBeMadeToBypassThePageCache(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	f, err := k.OpenFile(filepath.Join(t.TempDir(), "image"), os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	defer f.Close()
	if err := k.SetDirect(f); errors.Is(err, unix.EINVAL) {
		return // a filesystem without it says so
	} else if err != nil {
		t.Fatal(err)
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_DIRECT == 0 || flags&unix.O_ACCMODE != unix.O_RDWR {
		t.Errorf("flags are %#x, %v", flags, err)
	}
}
