package disk_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/disk"
)

// noise is so many bytes of which no two parts are alike.
func noise(t *testing.T, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := io.CopyN(&b, rand.NewChaCha8([32]byte{byte(size)}), size); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// onEmpty is an appliance with an ext4 that it may write to.
func onEmpty(t *testing.T) *disk.Appliance {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	must(exec.Command("mke2fs", "-q", "-F", "-t", "ext4", image, "128M").CombinedOutput())
	a, err := disk.Launch(t.Context(), disk.Spec{Images: []disk.Image{{Path: image, Format: "raw", Access: disk.Write}}, CacheDir: cacheDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if out, err := exec.Command("e2fsck", "-fn", image).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	if err := a.Mount(t.Context(), a.Disks()[0].Name, "/", false); err != nil {
		t.Fatal(err)
	}
	return a
}

// plain hides that a reader or writer is a file.
type plain struct {
	io.Reader
	io.Writer
}

func TestCopiesAreWhatWasCopiedWhicheverWayTheyGo(t *testing.T) {
	t.Parallel()
	a, dir := onEmpty(t), t.TempDir()
	const bulk = 8 << 20
	for _, size := range []int64{0, 1, bulk - 1, bulk, bulk + 1, bulk + 511, bulk + 4097} {
		want := noise(t, size)
		source := filepath.Join(dir, "source")
		if err := os.WriteFile(source, want, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(source)
		if err != nil {
			t.Fatal(err)
		}
		target, err := os.OpenFile(filepath.Join(dir, "target"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		var stream bytes.Buffer
		err = errors.Join(
			a.CopyIn(t.Context(), "/file", file, 0o604), a.CopyIn(t.Context(), "/stream", plain{Reader: bytes.NewReader(want)}, 0o604),
			a.CopyOut(t.Context(), "/stream", target), a.CopyOut(t.Context(), "/file", plain{Writer: &stream}),
		)
		got, rerr := os.ReadFile(target.Name())
		if err := errors.Join(err, rerr, file.Close(), target.Close()); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if !bytes.Equal(got, want) || !bytes.Equal(stream.Bytes(), want) {
			t.Errorf("%d bytes: %d came to a file and %d to a stream, or others", size, len(got), stream.Len())
		}
	}
	devices, err := a.Devices(t.Context())
	if err != nil || len(devices) != 1 {
		t.Errorf("devices %+v (%v), want the image's alone", devices, err)
	}
}

// Large files go another way than small ones, and what they are afterwards is the same.
func TestWhatIsCopiedHasTheAttributesOfAFile(t *testing.T) {
	t.Parallel()
	a := onEmpty(t)
	for name, size := range map[string]int64{"small": 100, "large": 9 << 20} {
		path, data := "/"+name, noise(t, size)
		in := func(mode fs.FileMode) error { return a.CopyIn(t.Context(), path, bytes.NewReader(data), mode) }
		if err := in(fs.ModeSetuid | 0o642); err != nil {
			t.Fatal(err)
		}
		want := disk.Entry{Name: name, Mode: 0o642, Size: size}
		if got := entry(t, a, name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		// What is replaced keeps what it is, but for what it holds.
		data = data[:size-1]
		if err := in(0o600); err != nil {
			t.Fatal(err)
		}
		want.Size--
		if got := entry(t, a, name); got != want {
			t.Errorf("%s, replaced: %+v, want %+v", name, got, want)
		}
		if err := a.CopyIn(t.Context(), "/none/"+name, bytes.NewReader(data), 0o600); !errors.Is(err, unix.ENOENT) {
			t.Errorf("%s into a folder that is not there: %v", name, err)
		}
		if err := a.CopyOut(t.Context(), "/none", io.Discard); !errors.Is(err, unix.ENOENT) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := a.CopyOut(t.Context(), "/lost+found", io.Discard); !errors.Is(err, unix.EINVAL) {
		t.Errorf("a folder: %v", err)
	}
}

// entry is a name in the root folder, without its time.
func entry(t *testing.T, a *disk.Appliance, name string) disk.Entry {
	t.Helper()
	list, err := a.List(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Name == name {
			now := disk.Entry{Name: e.Name, Target: e.Target, Mode: e.Mode, UID: e.UID, GID: e.GID, Size: e.Size}
			return now
		}
	}
	t.Fatalf("there is no %s", name)
	return disk.Entry{}
}

func TestAFileThatDoesNotFitIsAnError(t *testing.T) {
	t.Parallel()
	a := onEmpty(t)
	if err := a.CopyIn(t.Context(), "/file", io.LimitReader(rand.NewChaCha8([32]byte{}), 200<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("200 MiB on a disk of 128: %v", err)
	}
}
