package chain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/image/qcow2"
)

// layer writes an empty image over another one; backing "" is none.
func layer(t *testing.T, path, backing string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o := qcow2.Options{Capacity: 1 << 20}
	if backing != "" {
		o.Backing, o.BackingFormat = backing, QCOW2
	}
	if err := qcow2.Write(f, o); err != nil {
		t.Fatal(err)
	}
}

// terminal is a terminal that nobody has opened yet: its master's side, and the path of the other.
func terminal(t *testing.T) (fd int, path string) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	return fd, fmt.Sprintf("/dev/pts/%d", n)
}

// A terminal tells its master that it was opened and closed, as other devices do worse at that.
func TestWhatIsNoDiskIsNotEvenOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	master, path := terminal(t)
	over := filepath.Join(dir, "over")
	layer(t, over, path)
	for name, c := range map[string]struct {
		image Image
		err   error
	}{
		"it is the image":                  {Image{Path: path}, ErrFormat},
		"an image leads there":             {Image{Path: over, Within: []string{dir}}, ErrOutside},
		"an image leads there, and it may": {Image{Path: over, Within: []string{"/"}}, ErrFormat},
		"it is to be written to":           {Image{Path: path, Format: Raw, Write: true}, ErrFormat},
		"it is beside what it may":         {Image{Path: over, Within: []string{path + "0"}}, ErrOutside},
	} {
		if _, err := try(t, c.image); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
		if _, err := unix.Read(master, make([]byte, 1)); !errors.Is(err, unix.EAGAIN) {
			t.Fatalf("%s: the master's side says %v; EAGAIN where nobody has opened the terminal", name, err)
		}
	}
}

func TestAChainHasAnEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(n int) string { return filepath.Join(dir, fmt.Sprint(n)) }
	layer(t, at(0), "")
	for n := range mostLayers {
		layer(t, at(n+1), at(n))
	}
	if got, err := try(t, Image{Path: at(mostLayers - 1), Within: []string{dir}}); err != nil || strings.Count(got, QCOW2) != mostLayers {
		t.Errorf("%q, %v, want %d layers", got, err, mostLayers)
	}
	if _, err := try(t, Image{Path: at(mostLayers), Within: []string{dir}}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "more than 64 images") {
		t.Errorf("one more: %v", err)
	}
}

func TestNobodyLooksAtAChainThatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	base, over := filepath.Join(dir, "base"), filepath.Join(dir, "over")
	layer(t, base, "")
	layer(t, over, base)
	ctx, cancel := context.WithCancel(t.Context())
	opened := 0
	k := host.New(host.Options{Hook: func(step string) {
		if strings.HasPrefix(step, "file open over") {
			cancel()
		}
		if strings.HasPrefix(step, "file open") {
			opened++
		}
	}})
	_, err := Open(ctx, k, Image{Path: over, Within: []string{dir}})
	var refused *Error
	if !errors.Is(err, context.Canceled) || errors.As(err, &refused) || opened != 2 { // found, and opened
		t.Errorf("%v after %d files were opened", err, opened)
	}
}
