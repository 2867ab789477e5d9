package qcow2_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"taproom/internal/image/qcow2"
)

// filled is an image that qemu-img and qemu-io have written.
func filled(t *testing.T, options string, commands ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image")
	args := []string{"create", "-q", "-f", "qcow2"}
	if options != "" {
		args = append(args, "-o", options)
	}
	if out, err := exec.Command("qemu-img", append(args, path, "100M")...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	args = []string{"-f", "qcow2"}
	for _, c := range commands {
		args = append(args, "-c", c)
	}
	if out, err := exec.Command("qemu-io", append(args, path)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func check(b []byte) error { return qcow2.Check(bytes.NewReader(b), int64(len(b))) }

func TestAnImageThatIsCutOffIsToldFromAWholeOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options  string
		commands []string
	}{
		"plain":            {"", []string{"write 0 1M", "write 99M 300k"}},
		"version 2":        {"compat=0.10", []string{"write 3M 64k"}},
		"small clusters":   {"cluster_size=512", []string{"write 1M 100k"}},
		"compressed":       {"", []string{"write -c -P 7 0 64k", "write -c -P 8 10M 64k"}},
		"extended entries": {"extended_l2=on,cluster_size=128k", []string{"write 0 300k"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := filled(t, c.options, c.commands...)
			if err := check(whole); err != nil {
				t.Fatalf("a whole image of %d bytes: %v", len(whole), err)
			}
			for _, left := range []int{len(whole) / 2, len(whole) / 4, 600, 200} {
				if err := check(whole[:left]); !errors.Is(err, qcow2.ErrTruncated) {
					t.Errorf("%d of %d bytes: %v", left, len(whole), err)
				}
			}
			if err := check(whole[:50]); !errors.Is(err, qcow2.ErrFormat) {
				t.Errorf("50 bytes: %v", err)
			}
		})
	}
}

func TestTheNameOfADataFileIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "image")
	out, err := exec.Command("qemu-img", "create", "-q", "-f", "qcow2", "-o", "data_file="+filepath.Join(dir, "data"), path, "1M").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := qcow2.Read(f)
	if err != nil || !h.External || h.DataFile != filepath.Join(dir, "data") {
		t.Errorf("%+v (%v)", h, err)
	}
}

func FuzzCheck(f *testing.F) {
	for _, o := range []qcow2.Options{{Capacity: 1 << 20}, {Capacity: 4 << 20, Preallocate: true}} {
		path := filepath.Join(f.TempDir(), "image")
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
		f.Add(b[:min(len(b), 8<<16)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = check(b) // it ends, and reads nothing that is not there
	})
}
