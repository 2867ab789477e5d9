package qcow2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrFormat says that something is no qcow2 image.
var ErrFormat = errors.New("not a qcow2 image")

const (
	magic         = 0x514649fb // "QFI\xfb"
	headerLength  = 104        // of version 3, without what came later
	lazyRefcounts = 1          // compatible feature
	corrupt       = 1 << 1     // incompatible feature
	externalData  = 1 << 2     // incompatible feature
	backingFormat = 0xe2792aca // header extension
	dataFile      = 0x44415441 // header extension
	bitmaps       = 0x23852875 // header extension
	maxBacking    = 1023       // bytes of the name of a backing file
	maxFormat     = 15         // bytes of its format that QEMU reads
)

// Header is what an image says of itself.
type Header struct {
	Version       uint32
	Capacity      uint64 // bytes that a guest sees
	ClusterBits   uint32
	LazyRefcounts bool
	Backing       string // the file below, as it is written in the image; "" for none
	BackingFormat string // "" when the image does not say
	External      bool   // what it holds is in another file, DataFile
	DataFile      string // as it is written in the image; "" when it does not say
	Corrupt       bool   // QEMU has found it damaged, and writes to it no more
	Snapshots     uint32 // internal ones
	Bitmaps       uint32 // persistent dirty bitmaps
}

// Read reads the header of an image. Numbers that no image has are ErrFormat.
func Read(r io.ReaderAt) (Header, error) {
	b := make([]byte, headerLength)
	n, err := r.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Header{}, fmt.Errorf("read the header: %w", err)
	}
	if n < 72 || binary.BigEndian.Uint32(b) != magic {
		return Header{}, ErrFormat
	}
	h := Header{Version: binary.BigEndian.Uint32(b[4:]), ClusterBits: binary.BigEndian.Uint32(b[20:]), Capacity: binary.BigEndian.Uint64(b[24:])}
	h.Snapshots = binary.BigEndian.Uint32(b[60:])
	if h.Version != 2 && (h.Version != 3 || n < headerLength) || h.ClusterBits < 9 || h.ClusterBits > 21 || h.Capacity > 1<<62 {
		return Header{}, ErrFormat
	}
	extensions := int64(72)
	if h.Version == 3 {
		h.LazyRefcounts = binary.BigEndian.Uint64(b[80:])&lazyRefcounts != 0
		incompatible := binary.BigEndian.Uint64(b[72:])
		h.Corrupt, h.External = incompatible&corrupt != 0, incompatible&externalData != 0
		extensions = int64(binary.BigEndian.Uint32(b[100:]))
	}
	if text := extension(r, bitmaps, extensions, 1<<h.ClusterBits, 24); len(text) >= 4 {
		h.Bitmaps = binary.BigEndian.Uint32([]byte(text))
	}
	if h.External {
		h.DataFile = extension(r, dataFile, extensions, 1<<h.ClusterBits, maxBacking)
	}
	at, size := binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint32(b[16:])
	if at == 0 {
		return h, nil
	}
	if size == 0 || size > maxBacking || at > 1<<h.ClusterBits {
		return Header{}, ErrFormat
	}
	name := make([]byte, size)
	if _, err := r.ReadAt(name, int64(at)); err != nil {
		return Header{}, ErrFormat
	}
	h.Backing = string(name)
	h.BackingFormat = extension(r, backingFormat, extensions, int64(at), 32)
	return h, nil
}

// extension finds a header extension between from and to, with at most so many bytes.
func extension(r io.ReaderAt, wanted uint32, from, to, most int64) string {
	var head [8]byte
	for from+8 <= to {
		if _, err := r.ReadAt(head[:], from); err != nil {
			return ""
		}
		kind, size := binary.BigEndian.Uint32(head[:]), int64(binary.BigEndian.Uint32(head[4:]))
		from += 8
		if kind == 0 || size > to-from {
			return ""
		}
		if kind == wanted && size <= most {
			b := make([]byte, size)
			if _, err := r.ReadAt(b, from); err != nil {
				return ""
			}
			return string(b)
		}
		from += (size + 7) &^ 7
	}
	return ""
}
