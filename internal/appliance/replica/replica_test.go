package replica

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// image makes a file with a hole in its middle.
func image(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(path, []byte("the beginning"), 0o640); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte("the end"), 40<<20)
	if err := errors.Join(err, unix.Fsetxattr(int(f.Fd()), "user.note", []byte("kept"), 0), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string) (*host.Kernel, *Copy) {
	t.Helper()
	k := host.New(host.Options{})
	t.Cleanup(k.Close)
	c, err := Open(t.Context(), k, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return k, c
}

// change writes to a copy by its path, as a machine would that opens it.
func change(t *testing.T, c *Copy, text string) {
	t.Helper()
	f, err := os.OpenFile(c.Path(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte(text), 0)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func alone(t *testing.T, path string) {
	t.Helper()
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(list) != 1 {
		t.Errorf("%d files are beside the image (%v): %v", len(list)-1, err, list)
	}
}

func TestACommittedCopyIsTheImageWithItsAttributes(t *testing.T) {
	t.Parallel()
	path := image(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	_, c := open(t, link)
	change(t, c, "THE")
	if b, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(b), "the beginning") {
		t.Fatalf("before it was committed: %q (%v)", b[:13], err)
	}
	alone(t, path)
	if err := c.Commit(); err != nil {
		t.Fatal(err)
	}
	alone(t, path)
	b, err := os.ReadFile(path)
	if err != nil || string(b[:13]) != "THE beginning" || string(b[40<<20:]) != "the end" {
		t.Errorf("afterwards: %q, %d bytes (%v)", b[:13], len(b), err)
	}
	var st unix.Stat_t
	value := make([]byte, 10)
	n, err := unix.Getxattr(path, "user.note", value)
	if err := errors.Join(err, unix.Stat(path, &st)); err != nil || string(value[:n]) != "kept" || st.Mode&0o7777 != 0o640 {
		t.Errorf("attribute %q, mode %o (%v)", value[:n], st.Mode, err)
	}
	if st.Blocks*512 > 20<<20 {
		t.Errorf("the hole was filled: %d bytes are taken", st.Blocks*512)
	}
	if target, err := os.Readlink(link); err != nil || target != path {
		t.Errorf("the link leads to %s (%v)", target, err)
	}
}

func TestACopyThatIsNotCommittedLeavesNothing(t *testing.T) {
	t.Parallel()
	path := image(t)
	_, c := open(t, path)
	change(t, c, "THE")
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	alone(t, path)
	if b, err := os.ReadFile(path); err != nil || string(b[:13]) != "the beginning" {
		t.Errorf("%q (%v)", b[:13], err)
	}
}

func TestWhatOthersHaveDoneMeanwhileIsNotLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		does func(path string) error
		want error
	}{
		"written to": {func(path string) error { return os.WriteFile(path, []byte("other"), 0o600) }, ErrChanged},
		"replaced": {func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("other"), 0o600), os.Rename(path+".new", path))
		}, host.ErrReplaced},
		"removed": {os.Remove, host.ErrReplaced},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := image(t)
			_, r := open(t, path)
			change(t, r, "THE")
			if err := c.does(path); err != nil {
				t.Fatal(err)
			}
			if err := r.Commit(); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if b, err := os.ReadFile(path); name != "removed" && (err != nil || string(b) != "other") {
				t.Errorf("%q (%v)", b, err)
			}
		})
	}
}

func TestWhatCannotBeExchangedIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	defer k.Close()
	path := image(t)
	if err := os.Link(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if out, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for path, want := range map[string]string{path: "2 names", pipe: "only a file", "/none": "no such file"} {
		if _, err := Open(t.Context(), k, path, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, k, image(t), nil); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that waits no more: %v", err)
	}
}

// The process is ended at each of its calls to the kernel, by a hook: the image is the old one or the new one, whole.
func TestAProcessThatEndsAtAnyCallLeavesTheImageOldOrNew(t *testing.T) {
	t.Parallel()
	for step := 1; ; step++ {
		path := image(t)
		calls := 0
		stop := errors.New("stop")
		done := func() (done bool) {
			defer func() {
				if r := recover(); r != nil && r != stop { //nolint:errorlint // what was thrown below
					panic(r)
				}
			}()
			k := host.New(host.Options{Hook: func(string) {
				if calls++; calls == step {
					panic(stop)
				}
			}})
			defer k.Close()
			c, err := Open(t.Context(), k, path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			change(t, c, "THE")
			if err := c.Commit(); err != nil {
				t.Fatal(err)
			}
			return true
		}()
		b, err := os.ReadFile(path)
		if err != nil || len(b) != 40<<20+7 || !strings.EqualFold(string(b[:13]), "the beginning") {
			t.Fatalf("ended at call %d: %d bytes (%v)", step, len(b), err)
		}
		if done {
			if step < 4 {
				t.Errorf("there were %d calls", step-1)
			}
			return
		}
	}
}
