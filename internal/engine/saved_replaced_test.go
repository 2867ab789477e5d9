package engine

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// rewriteAt opens an image and rewrites its header.
func rewriteAt(ctx context.Context, t *testing.T, k *host.Kernel, path string, head []byte) error {
	t.Helper()
	e := small(t)
	e.k = k
	s, err := e.openSaved(path, os.O_RDWR)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer s.close()
	return e.rewriteSaved(ctx, s, head)
}

// alone checks that a folder has one file, with some content.
func alone(t *testing.T, path string, want []byte) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s has %d bytes that were not expected, %v", path, len(got), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("beside it: %v, %v", left, err)
	}
}

// Who restores the guest meanwhile and saves it again to the same path does not lose its state.
func TestAnImageThatIsSavedAnewMeanwhileStays(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"directory open", "file copy image", "file exchange image", "file remove image"} {
		dir, other := t.TempDir(), t.TempDir()
		path, fresh := filepath.Join(dir, "image"), filepath.Join(other, "image")
		imageAt(t, path)
		saved := append(header(t, "<domain>another</domain>"), "later"...)
		came := false
		k := host.New(host.Options{Hook: func(call string) {
			if came || call != at && !(at == "directory open" && call == "file open "+filepath.Base(dir)) {
				return
			}
			came = true
			if err := errors.Join(os.WriteFile(fresh, saved, 0o600), os.Rename(fresh, path)); err != nil {
				t.Error(err)
			}
		}})
		err := rewriteAt(t.Context(), t, k, path, header(t, "<domain>new</domain>"))
		k.Close()
		if at == "file remove image" { // it has come after the change
			err = errors.Join(err, host.ErrReplaced)
		}
		if !came || !errors.Is(err, host.ErrReplaced) || !strings.Contains(savedError(path, err).Error(), "replaced by another") {
			t.Errorf("%s: %v, %v, want that it was replaced", at, came, err)
		}
		alone(t, path, saved)
	}
}

// An image that is gone is not made again.
func TestAnImageThatIsRemovedMeanwhileStaysAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "image")
	imageAt(t, path)
	k := host.New(host.Options{Hook: func(call string) {
		if call == "file exchange image" {
			_ = os.Remove(path)
		}
	}})
	defer k.Close()
	if err := rewriteAt(t.Context(), t, k, path, header(t, "<domain>new</domain>")); !errors.Is(err, host.ErrReplaced) {
		t.Errorf("got %v, want %v", err, host.ErrReplaced)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A disk without room for a copy has room for another header.
func TestAnImageIsChangedOnAFullDisk(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t) // for its private mounts
	dir := t.TempDir()
	ns.Do(func() {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = unix.Unmount(dir, 0) }()
		path := filepath.Join(dir, "image")
		before, head := imageAt(t, path), header(t, "<domain>new</domain>")
		if err := rewriteAt(t.Context(), t, ns.Kernel(), path, head); err != nil {
			t.Error(err)
		}
		alone(t, path, append(bytes.Clone(head), before[len(head):]...))
	})
}

// What is noted at an image, and who may read it, stays.
func TestAnImageKeepsItsAttributes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "image")
	imageAt(t, path)
	err := unix.Setxattr(path, "user.note", []byte("mine"), 0)
	if errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("run `make test` with TMPDIR on a filesystem that keeps attributes of users, as ext4, xfs and btrfs do")
	}
	if err != nil {
		t.Fatal(err)
	}
	k := host.New(host.Options{})
	defer k.Close()
	var before, after unix.Stat_t
	err = errors.Join(unix.Stat(path, &before), rewriteAt(t.Context(), t, k, path, header(t, "<domain>new</domain>")), unix.Stat(path, &after))
	if err != nil || before.Ino == after.Ino {
		t.Errorf("%v; inode %d, want another than %d", err, after.Ino, before.Ino)
	}
	value := make([]byte, 16)
	if n, err := unix.Getxattr(path, "user.note", value); err != nil || string(value[:max(n, 0)]) != "mine" {
		t.Errorf("its note is %q, %v", value[:max(n, 0)], err)
	}
}
