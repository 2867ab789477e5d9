package disk_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/disk"
	"taproom/disk/disktest"
)

// room is how much a file takes on the host's disk, in bytes.
func room(t *testing.T, path string) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// withGarbage is an ext4 of which 20 MiB were written to and are not used, and 8 MiB are zeros of a file.
const withGarbage = `
mkdir t; tree t; head -c 20M /dev/urandom >t/garbage; head -c 8M /dev/zero >t/zeros
image 64M; mkfs.ext4 -q -d t $I; debugfs -w -R 'rm /garbage' $I 2>/dev/null
`

func TestSaveAs_LeavesOutZerosAndStandsAlone(t *testing.T) {
	t.Parallel()
	image := disktest.Make(t, withGarbage+"qemu-img create -q -f qcow2 -b image -F raw over.qcow2; cp image before; chmod 600 image; chmod 644 over.qcow2")
	dir := filepath.Dir(image)
	a, err := disk.Launch(t.Context(), disk.Spec{CacheDir: cacheDir(), Images: []disk.Image{{Path: filepath.Join(dir, "over.qcow2"), Within: []string{image}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close(context.WithoutCancel(t.Context())) }()
	if err := errors.Join(
		a.Mount(t.Context(), a.Disks()[0].Name, "/", false), a.CopyIn(t.Context(), "/new", strings.NewReader("new"), 0o600), a.UnmountAll(t.Context()),
	); err != nil {
		t.Fatal(err)
	}
	for _, c := range []disk.SaveOptions{{}, {Format: "raw"}, {Compress: true}} {
		out := filepath.Join(dir, "out")
		if err := a.SaveAs(t.Context(), 0, out, c); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if err := a.SaveAs(t.Context(), 0, out, c); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a path that is taken: %v", err)
		}
		if got := room(t, out); got < 20<<20 || got > 24<<20 {
			t.Errorf("%+v takes %d bytes", c, got)
		}
		if i, err := os.Stat(out); err != nil || i.Mode() != 0o600 {
			t.Errorf("it is readable by %v, its backing file by the owner alone (%v)", i.Mode(), err)
		}
		format := c.Format
		if format == "" {
			format = "qcow2"
		}
		disktest.Script(t, dir, "qemu-img convert -f "+format+" -O raw out flat; rm out; e2fsck -fn flat >/dev/null; debugfs -R 'cat /new' flat 2>/dev/null >new")
		if b, err := os.ReadFile(filepath.Join(dir, "new")); err != nil || string(b) != "new" {
			t.Errorf("%+v: %q, %v", c, b, err)
		}
	}
	if err := a.SaveAs(t.Context(), 0, filepath.Join(dir, "out"), disk.SaveOptions{Format: "raw", Compress: true}); err == nil {
		t.Error("a raw image was compressed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.SaveAs(ctx, 0, filepath.Join(dir, "cut"), disk.SaveOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after an interrupt: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "cut")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an interrupt left %v", err)
	}
	if sum(t, image) != sum(t, filepath.Join(dir, "before")) {
		t.Error("the backing file was written to")
	}
}

// An interrupt ends a copy that is under way, and the appliance copies once more afterwards.
func TestSaveAs_EndsByAnInterrupt(t *testing.T) {
	t.Parallel()
	image := disktest.Make(t, "head -c 256M /dev/urandom >$I")
	a, err := disk.Launch(t.Context(), disk.Spec{CacheDir: cacheDir(), Images: []disk.Image{{Path: image, Format: "raw"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close(context.WithoutCancel(t.Context())) }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var done, total int64
	cut := filepath.Join(filepath.Dir(image), "cut")
	err = a.SaveAs(ctx, 0, cut, disk.SaveOptions{Compress: true, Progress: func(d, all int64) {
		done, total = d, all
		cancel()
	}})
	if !errors.Is(err, context.Canceled) || done >= total {
		t.Errorf("%v, at %d of %d bytes", err, done, total)
	}
	if list, err := os.ReadDir(filepath.Dir(image)); err != nil || len(list) != 1 {
		t.Errorf("it left %v (%v)", list, err)
	}
	if err := a.SaveAs(t.Context(), 0, cut, disk.SaveOptions{Format: "raw"}); err != nil {
		t.Fatal(err)
	}
	if sum(t, cut) != sum(t, image) {
		t.Error("the copy after that is another one")
	}
}

// A change by another program since the image was opened is not lost, also where it was done before the copy began.
func TestSaveInPlace_LeavesAnImageThatOthersHaveChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		want   error
	}{
		"written to": {"printf other | dd of=image conv=notrunc status=none", disk.ErrChanged},
		"replaced":   {"cp image new; printf other | dd of=new conv=notrunc status=none; mv new image", disk.ErrReplaced},
	} {
		image := disktest.Make(t, "image 8M; mkfs.ext4 -q $I")
		a, err := disk.Launch(t.Context(), disk.Spec{CacheDir: cacheDir(), Images: []disk.Image{{Path: image, Format: "raw"}}})
		if err != nil {
			t.Fatal(err)
		}
		disktest.Script(t, filepath.Dir(image), c.script)
		before := sum(t, image)
		err = a.SaveInPlace(t.Context(), 0, image, disk.SaveOptions{Format: "raw"})
		if !errors.Is(err, c.want) || sum(t, image) != before {
			t.Errorf("%s: %v, want %v and the image of the other program", name, err, c.want)
		}
		if list, err := os.ReadDir(filepath.Dir(image)); err != nil || len(list) != 1 {
			t.Errorf("%s: it left %v (%v)", name, list, err)
		}
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// An image that the appliance writes to has no state that it could be compared with.
func TestSaveInPlace_IsForImagesThatTheApplianceLeavesAlone(t *testing.T) {
	t.Parallel()
	image := disktest.Make(t, "image 8M; mkfs.ext4 -q $I")
	a := opened(t, image, disk.Write)
	if err := a.SaveInPlace(t.Context(), 0, image, disk.SaveOptions{Format: "raw"}); err == nil || !strings.Contains(err.Error(), "open it with Discard") {
		t.Errorf("got %v", err)
	}
}

func TestTrimAll_DropsUnusedBlocksOfACopy(t *testing.T) {
	t.Parallel()
	image := disktest.Make(t, withGarbage+"cp image before; chmod 640 image")
	dir := filepath.Dir(image)
	a, err := disk.Launch(t.Context(), disk.Spec{CacheDir: cacheDir(), Images: []disk.Image{{Path: image}}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := a.TrimAll(t.Context())
	if err != nil || len(list) != 1 || list[0].Problem != "" {
		t.Fatalf("%+v, %v", list, err)
	}
	if sum(t, image) != sum(t, filepath.Join(dir, "before")) {
		t.Error("the image was written to")
	}
	if err := a.SaveInPlace(t.Context(), 0, image, disk.SaveOptions{Format: "raw"}); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := room(t, image); got > 4<<20 {
		t.Errorf("it takes %d bytes", got)
	}
	if i, err := os.Stat(image); err != nil || i.Mode() != 0o640 || i.Size() != 64<<20 {
		t.Errorf("%v, %v", i, err)
	}
	if out, err := exec.Command("e2fsck", "-fn", image).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
