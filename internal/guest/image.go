package guest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Reasons why an image is not what its document says.
var (
	// ErrFormat says that the content is not of the declared format.
	ErrFormat = errors.New("is not a qcow2 image; name its format in <driver type=>")
	// ErrBacking says that the image names a backing file that the document does not declare.
	ErrBacking = errors.New("names a backing image that the document does not declare; add <backingStore> with its path and format")
	// ErrDataFile says that the image keeps its data in another file.
	ErrDataFile = errors.New("keeps its data in an external file, which is not followed; convert it with qemu-img convert")
)

const (
	qcowMagic        = 0x514649fb // "QFI\xfb"
	qcowExternalData = 1 << 2     // incompatible feature: external data file
	qcowHeader       = 80         // up to and with the incompatible features
)

// VirtualSize is how large a disk a qcow2 image holds, in bytes.
func VirtualSize(r io.ReaderAt) (uint64, error) {
	h := make([]byte, 32)
	if _, err := r.ReadAt(h, 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("read the header: %w", err)
	}
	if binary.BigEndian.Uint32(h) != qcowMagic {
		return 0, ErrFormat
	}
	return binary.BigEndian.Uint64(h[24:]), nil
}

// CheckImage reads the header of an image that was opened for a Need. Whoever wrote the image must not choose which
// other files are opened for it: a backing file that the document does not declare, and any external data file, are
// refused.
func CheckImage(r io.ReaderAt, n Need) error {
	if n.Format != "qcow2" {
		return nil
	}
	h := make([]byte, qcowHeader)
	got, err := r.ReadAt(h, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the header: %w", err)
	}
	if got < 72 || binary.BigEndian.Uint32(h) != qcowMagic {
		return ErrFormat
	}
	version := binary.BigEndian.Uint32(h[4:])
	switch {
	case version != 2 && version != 3, version == 3 && got < qcowHeader:
		return ErrFormat
	case version == 3 && binary.BigEndian.Uint64(h[72:])&qcowExternalData != 0:
		return ErrDataFile
	case binary.BigEndian.Uint64(h[8:]) != 0 && !n.Backing:
		return ErrBacking
	}
	return nil
}
