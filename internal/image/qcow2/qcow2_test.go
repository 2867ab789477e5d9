package qcow2_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/image/qcow2"
)

func write(t *testing.T, o qcow2.Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.qcow2")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := qcow2.Write(f, o); err != nil {
		t.Fatal(err)
	}
	return path
}

// qemu-img knows best what an image is: it finds no error in ours, and reads from them what was asked for.
func TestImagesAreWhole(t *testing.T) {
	t.Parallel()
	base := write(t, qcow2.Options{Capacity: 1 << 20})
	for _, o := range []qcow2.Options{
		{},
		{Capacity: 1},
		{Capacity: 512 << 20},
		{Capacity: 512<<20 + 1},
		{Capacity: 20 << 30, LazyRefcounts: true},
		{Capacity: 8 << 40},
		{Capacity: 1, Preallocate: true},
		{Capacity: 512 << 20, Preallocate: true},
		{Capacity: 5<<30 + 513, Preallocate: true, LazyRefcounts: true},
		{Capacity: 1 << 20, Backing: base, BackingFormat: "qcow2"},
	} {
		t.Run(fmt.Sprintf("%d %v %v", o.Capacity, o.Preallocate, o.Backing != ""), func(t *testing.T) {
			t.Parallel()
			path := write(t, o)
			if out, err := exec.Command("qemu-img", "check", "-f", "qcow2", path).CombinedOutput(); err != nil || !strings.Contains(string(out), "No errors were found") {
				t.Errorf("qemu-img check: %v: %s", err, out)
			}
			out, err := exec.Command("qemu-img", "info", "--output=json", path).CombinedOutput()
			capacity := (o.Capacity + 511) / 512 * 512 // a disk has whole sectors
			want := fmt.Sprintf(`"virtual-size": %d,`, capacity)
			if err != nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), fmt.Sprintf(`"lazy-refcounts": %v`, o.LazyRefcounts)) {
				t.Errorf("qemu-img info: %v: %s; want %s", err, out, want)
			}
			if o.Backing != "" && !strings.Contains(string(out), `"backing-filename-format": "qcow2"`) {
				t.Errorf("qemu-img info: %s", out)
			}
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			got, err := qcow2.Read(f)
			h := qcow2.Header{Version: 3, Capacity: capacity, ClusterBits: 16, LazyRefcounts: o.LazyRefcounts, Backing: o.Backing, BackingFormat: o.BackingFormat}
			if d := cmp.Diff(h, got); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}

// A preallocated image has a place for every cluster, so that a guest's writes change no table.
func TestAPreallocatedImageHasAPlaceForEverything(t *testing.T) {
	t.Parallel()
	path := write(t, qcow2.Options{Capacity: 600 << 20, Preallocate: true})
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("qemu-io", "-f", "qcow2", "-c", "write -P 7 0 1M", "-c", "write -P 8 599M 1M", "-c", "read -P 8 599M 1M", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if after, err := os.Stat(path); err != nil || after.Size() != before.Size() {
		t.Errorf("%d bytes, then %d (%v): it grew", before.Size(), after.Size(), err)
	}
}

func TestWhatIsTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]qcow2.Options{
		"holds at most":           {Capacity: 1 << 60},
		"the path of the image":   {Backing: strings.Repeat("x", 1024), BackingFormat: "raw"},
		"the format of the image": {Backing: "/x", BackingFormat: strings.Repeat("x", 16)},
		"hides the one below it":  {Backing: "/x", BackingFormat: "raw", Preallocate: true},
	} {
		f, err := os.Create(filepath.Join(t.TempDir(), "x"))
		if err != nil {
			t.Fatal(err)
		}
		if err := qcow2.Write(f, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
		f.Close()
	}
}

func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	for i, o := range []qcow2.Options{{Capacity: 1 << 20}, {Capacity: 1, Backing: "/base.raw", BackingFormat: "raw", LazyRefcounts: true}} {
		path := filepath.Join(dir, fmt.Sprint(i))
		w, err := os.Create(path)
		if err != nil {
			f.Fatal(err)
		}
		if err := errors.Join(qcow2.Write(w, o), w.Close()); err != nil {
			f.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:512])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := qcow2.Read(bytes.NewReader(b))
		if err != nil && !errors.Is(err, qcow2.ErrFormat) {
			t.Errorf("%v", err)
		}
		if err == nil && (len(h.Backing) > 1023 || h.Capacity > 1<<62) {
			t.Errorf("%+v", h)
		}
	})
}
