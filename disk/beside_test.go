package disk_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"taproom/disk"
	"taproom/disk/disktest"
)

// What a copy in the image's place would lose is refused before anything is done, and for a copy beside the image it is named.
func TestCheckSaveInPlace_RefusesWhatWouldBeLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, format, beside, refuses string }{
		"snapshot":  {"qemu-img create -q -f qcow2 $I 8M; qemu-img snapshot -c one $I; qemu-img snapshot -c two $I", "qcow2", "2 internal snapshots", "would lose"},
		"bitmap":    {"qemu-img create -q -f qcow2 $I 8M; qemu-img bitmap --add $I b", "", "1 persistent bitmaps", "would lose"},
		"data file": {"qemu-img create -q -f qcow2 -o data_file=$D/data $I 8M", "qcow2", "a file of its own for its data", "would lose"},
		"plain":     {"qemu-img create -q -f qcow2 $I 8M", "qcow2", "", ""},
		"raw":       {"qemu-img create -q -f qcow2 $I 8M; qemu-img snapshot -c one $I", "raw", "", ""},
		"names":     {"image 8M; ln $I $D/two", "raw", "", "2 names"},
	} {
		image := disktest.Make(t, c.script)
		before := sum(t, image)
		list, err := disk.Beside(image, c.format)
		if got := strings.Join(list, ", "); err != nil || got != c.beside {
			t.Errorf("%s: it has %q (%v), want %q", name, got, err, c.beside)
		}
		err = disk.CheckSaveInPlace(image, c.format)
		if (err == nil) != (c.refuses == "") || err != nil && !strings.Contains(err.Error(), c.refuses) || errors.Is(err, disk.ErrBeside) != (c.beside != "") {
			t.Errorf("%s: %v, want %q", name, err, c.refuses)
		}
		if sum(t, image) != before {
			t.Errorf("%s: the image was written to", name)
		}
	}
	if err := disk.CheckSaveInPlace("/dev/null", "raw"); err == nil || !strings.Contains(err.Error(), "only a file") {
		t.Errorf("a device: %v", err)
	}
}

func TestSaveInPlace_KeepsInternalSnapshots(t *testing.T) {
	t.Parallel()
	image := disktest.Make(t, "qemu-img create -q -f qcow2 $I 8M; qemu-img snapshot -c one $I")
	before := sum(t, image)
	a, err := disk.Launch(t.Context(), disk.Spec{CacheDir: cacheDir(), Images: []disk.Image{{Path: image, Format: "qcow2"}}})
	if err != nil {
		t.Fatal(err)
	}
	err = a.SaveInPlace(t.Context(), 0, image, disk.SaveOptions{})
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if !errors.Is(err, disk.ErrBeside) || sum(t, image) != before {
		t.Errorf("%v, want that the image would lose its snapshot", err)
	}
}

func TestCheckSaveAs_WantsAFreeName(t *testing.T) {
	t.Parallel()
	image := disktest.Make(t, "image 1M")
	if err := disk.CheckSaveAs(image); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name that is taken: %v", err)
	}
	if err := disk.CheckSaveAs(filepath.Join(filepath.Dir(image), "none", "copy")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	free := filepath.Join(filepath.Dir(image), "copy")
	if err := disk.CheckSaveAs(free); err != nil {
		t.Error(err)
	}
	if list, err := filepath.Glob(free + "*"); err != nil || len(list) > 0 {
		t.Errorf("the check left %v (%v)", list, err)
	}
}
