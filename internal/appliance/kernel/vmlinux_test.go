package kernel

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/kernel/kerneltest"
)

func extract(t *testing.T, image []byte) ([]byte, error) {
	t.Helper()
	from, to := filepath.Join(t.TempDir(), "vmlinuz"), filepath.Join(t.TempDir(), "vmlinux")
	if err := os.WriteFile(from, image, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := extractVmlinux(t.Context(), from, to); err != nil {
		if cache.Exists(to) {
			t.Errorf("extraction failed with %v and left a file", err)
		}
		return nil, err
	}
	got, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return got, nil
}

func TestVmlinuxComesOutOfABzImage(t *testing.T) {
	t.Parallel()
	want := kerneltest.ELF("Xen", pvhNote)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(want)
	_ = w.Close()
	xz := exec.Command("xz", "--check=crc32", "--stdout")
	xz.Stdin = bytes.NewReader(want)
	xzPacked, err := xz.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, payload := range map[string][]byte{"gzip": packed.Bytes(), "xz": xzPacked} {
		got, err := extract(t, kerneltest.BzImage(payload))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %d bytes, want %d: %v", name, len(got), len(want), err)
		}
	}
}

func TestKernelWithoutPVHIsRecognised(t *testing.T) {
	t.Parallel()
	for name, kernel := range map[string][]byte{
		"another note": kerneltest.ELF("Xen", 17), "another owner": kerneltest.ELF("GNU", pvhNote),
	} {
		if _, err := extract(t, kerneltest.BzImage(kernel)); !errors.Is(err, errNoPVH) {
			t.Errorf("%s: %v, want errNoPVH", name, err)
		}
	}
}

func TestDamagedKernelIsRefused(t *testing.T) {
	t.Parallel()
	good := kerneltest.BzImage(kerneltest.ELF("Xen", pvhNote))
	beyond := bytes.Clone(good)
	binary.LittleEndian.PutUint32(beyond[payloadLengthAt:], 1<<31)
	for name, c := range map[string]struct {
		image []byte
		want  string
	}{
		"empty":               {nil, "not a bzImage"},
		"no magic":            {make([]byte, 4096), "not a bzImage"},
		"payload beyond":      {beyond, "payload"},
		"unknown compression": {kerneltest.BzImage([]byte("hello world")), "is not known"},
		"cut xz":              {kerneltest.BzImage([]byte("\xfd7zXZ\x00\x00\x01")), "xz"},
		"not ELF":             {kerneltest.BzImage([]byte("\x7fELF")), "no ELF"},
	} {
		if _, err := extract(t, c.image); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, c.want)
		}
	}
}

func FuzzNotes(f *testing.F) {
	f.Add(kerneltest.ELF("Xen", pvhNote)[64+56:])
	f.Fuzz(func(_ *testing.T, b []byte) { hasNote(b, binary.LittleEndian, "Xen", pvhNote) })
}
