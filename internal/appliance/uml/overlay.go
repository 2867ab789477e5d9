package uml

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"time"
)

// An overlay is a file of UML's copy-on-write format, version 3: a header, a bit for each sector of the image below that says whether
// the overlay has it, and the sectors. Numbers are big-endian.
const (
	overlayMagic    = 0x4f4f4f4d
	overlayVersion  = 3
	overlaySector   = 512
	overlayAlign    = 4096
	overlayName     = 4096                                    // room for the name of the image below
	overlayHeader   = 4 + 4 + 4 + 8 + 4 + 4 + 4 + overlayName // bytes
	overlayBitmapAt = 2 * overlayAlign                        // behind the header
	// MostOverlaid bounds images that are read through an overlay, in bytes: the kernel keeps offsets into the bitmap in 31 bits.
	MostOverlaid = 4 << 40
)

// Below is what the overlay of a disk says of the image below it. The kernel compares it with the file.
type Below struct {
	Size     int64
	Modified time.Time
}

// WriteOverlay makes an empty file the overlay of a disk.
func WriteOverlay(f *os.File, unit int, b Below) error {
	if b.Size > MostOverlaid {
		return fmt.Errorf("the image has %d bytes; User-Mode Linux reads at most %d through an overlay", b.Size, int64(MostOverlaid))
	}
	if _, err := f.WriteAt(overlayHead(unit, b), 0); err != nil {
		return err
	}
	sectors := (b.Size + overlaySector - 1) / overlaySector
	bitmap := (sectors + 7) / 8
	data := (overlayBitmapAt + bitmap + overlayAlign - 1) / overlayAlign * overlayAlign
	return f.Truncate(data + sectors*overlaySector)
}

func overlayHead(unit int, b Below) []byte {
	h := make([]byte, 0, overlayHeader)
	h = binary.BigEndian.AppendUint32(h, overlayMagic)
	h = binary.BigEndian.AppendUint32(h, overlayVersion)
	h = binary.BigEndian.AppendUint32(h, uint32(b.Modified.Unix()))
	h = binary.BigEndian.AppendUint64(h, uint64(b.Size))
	h = binary.BigEndian.AppendUint32(h, overlaySector)
	h = binary.BigEndian.AppendUint32(h, overlayAlign)
	h = binary.BigEndian.AppendUint32(h, 0) // the format of the bitmap
	h = fmt.Appendf(h, "/proc/self/fd/%d", FirstDiskFD+2*unit+1)
	return h[:overlayHeader]
}

// BeginsAsOverlay reports whether an image's first bytes are those of an overlay. The kernel would take the image's size from the file
// that these name: such an image is not given to it.
func BeginsAsOverlay(image io.ReaderAt) (bool, error) {
	b := make([]byte, 4)
	if n, err := image.ReadAt(b, 0); n < len(b) {
		if err == io.EOF {
			err = nil
		}
		return false, err
	}
	return binary.BigEndian.Uint32(b) == overlayMagic || binary.LittleEndian.Uint32(b) == overlayMagic, nil
}
