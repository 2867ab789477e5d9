package engine

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"taproom/internal/api/server"
	"taproom/internal/guest"
	"taproom/internal/spec"
)

func TestADiskIsAsLargeAsItsGuestSeesIt(t *testing.T) {
	t.Parallel()
	e := small(t)
	const file, disk = 4096, 20 << 30
	image := make([]byte, file)
	binary.BigEndian.PutUint32(image, 0x514649fb)
	binary.BigEndian.PutUint32(image[4:], 3)
	binary.BigEndian.PutUint64(image[24:], disk)
	path := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]uint64{"qcow2": disk, "raw": file} {
		got, err := e.sizesOf(spec.Disk{Driver: &spec.DiskDriver{Type: format}, Source: &spec.DiskSource{File: path}})
		got.Allocation = 0 // what the filesystem makes of it
		if err != nil || got != (server.BlockInfo{Capacity: want, Physical: file}) {
			t.Errorf("as %s: %+v, %v; want a capacity of %d in %d bytes", format, got, err, want, file)
		}
	}
	if err := os.WriteFile(path, []byte("QED"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := e.sizesOf(spec.Disk{Driver: &spec.DiskDriver{Type: "qcow2"}, Source: &spec.DiskSource{File: path}}); !errors.Is(err, guest.ErrFormat) {
		t.Errorf("what is no image: %v, want %v", err, guest.ErrFormat)
	}
}
