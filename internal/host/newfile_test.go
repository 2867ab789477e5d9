package host_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

func TestAFileIsMadeWholeOrNotAtAllAndReplacesNothing(t *testing.T) {
	t.Parallel()
	k, dir := host.New(host.Options{}), t.TempDir()
	defer k.Close()
	n := host.NewFile{Path: filepath.Join(dir, "new"), Mode: 0o640, Owner: -1, Group: -1}
	write := func(s string) func(*os.File) error {
		return func(f *os.File) error {
			_, err := f.WriteString(s)
			return err
		}
	}
	if err := k.CreateFile(n, write("first")); err != nil {
		t.Fatal(err)
	}
	if err := k.CreateFile(n, write("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second file of the name: %v", err)
	}
	n.Path = filepath.Join(dir, "other")
	if err := k.CreateFile(n, func(*os.File) error { return unix.ENOSPC }); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a file that cannot be filled: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "new" {
		t.Errorf("%v, %v; want the first file alone", entries, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "new"))
	info, serr := os.Stat(filepath.Join(dir, "new"))
	if err != nil || serr != nil || string(b) != "first" || info.Mode() != 0o640 {
		t.Errorf("%q, %v, %v, %v", b, info.Mode(), err, serr)
	}
}

// holes makes a file of 4 MiB with something at 1 MiB and at its end.
func holes(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	for _, at := range []int64{1 << 20, 4<<20 - 3} {
		if _, err := f.WriteAt([]byte("abc"), at); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestCopiesAndZeroesKeepHoles(t *testing.T) {
	t.Parallel()
	k, dir := host.New(host.Options{}), t.TempDir()
	defer k.Close()
	from := holes(t, filepath.Join(dir, "from"))
	to, err := os.Create(filepath.Join(dir, "to"))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if err := k.CopyContent(t.Context(), to, from, false); err != nil {
		t.Fatal(err)
	}
	want, _ := os.ReadFile(from.Name())
	if got, err := os.ReadFile(to.Name()); err != nil || string(got) != string(want) {
		t.Errorf("the copy is another: %d bytes, %v", len(got), err)
	}
	if err := k.Zero(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(to.Name()); err != nil || string(got) != string(make([]byte, 4<<20)) {
		t.Errorf("not all zeroes: %d bytes, %v", len(got), err)
	}
	for _, f := range []*os.File{from, to} {
		use, err := k.FileUse(f.Name())
		if err != nil || use.Allocation > 64<<10 {
			t.Errorf("%s takes %d bytes, %v", f.Name(), use.Allocation, err)
		}
	}
}

// Every name that the filesystem takes can be written, though files have a longer one until they are whole.
func TestAFileMayHaveTheLongestName(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	defer k.Close()
	path := filepath.Join(t.TempDir(), strings.Repeat("n", 255))
	if err := k.CreateFile(host.NewFile{Path: path, Mode: 0o600, Owner: -1, Group: -1}, func(*os.File) error { return nil }); err != nil {
		t.Error(err)
	}
	if err := k.WriteFile(path, []byte("x"), 0o600, false); err != nil {
		t.Error(err)
	}
}
