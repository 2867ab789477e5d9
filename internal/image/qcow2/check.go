package qcow2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrTruncated says that an image ends before what it refers to.
var ErrTruncated = errors.New("the image is cut off")

// ErrDamaged says that an image's tables cannot be what they say.
var ErrDamaged = errors.New("the image is damaged")

const (
	offsetMask     = 1<<56 - 512 // of an entry of a table: where the next thing lies
	compressedFlag = 1 << 62
	mostL1         = 32 << 20 // bytes of the first table that QEMU reads
	// mostL2 bounds what is read of second tables, in bytes: those of a disk of 2 TiB. What a larger one, or one that was made
	// to keep us busy, has beyond that is not looked at.
	mostL2     = 256 << 20
	extendedL2 = 1 << 4 // incompatible feature: entries of 128 bits
)

// Check looks for clusters that an image of some length in bytes refers to and does not have: QEMU would show zeroes in
// their place. It reads the first table, and each table that this names. What clusters hold is not looked at, and whether they
// are counted right is for qemu-img check to say.
func Check(r io.ReaderAt, length int64) error {
	h := make([]byte, headerLength)
	n, err := r.ReadAt(h, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the header: %w", err)
	}
	if n < 72 || binary.BigEndian.Uint32(h) != magic {
		return ErrFormat
	}
	bits := binary.BigEndian.Uint32(h[20:])
	if bits < 9 || bits > 21 {
		return ErrFormat
	}
	c := checker{r: r, length: length, bits: bits, entry: 8}
	if binary.BigEndian.Uint32(h[4:]) >= 3 {
		incompatible := binary.BigEndian.Uint64(h[72:])
		c.external = incompatible&externalData != 0
		if incompatible&extendedL2 != 0 {
			c.entry = 16
		}
	}
	if err := c.firstTable(binary.BigEndian.Uint64(h[40:]), uint64(binary.BigEndian.Uint32(h[36:]))); err != nil {
		return err
	}
	refTable, clusters := binary.BigEndian.Uint64(h[48:]), uint64(binary.BigEndian.Uint32(h[56:]))
	if refTable == 0 || refTable%c.cluster() != 0 || clusters > mostL1/c.cluster()+1 {
		return fmt.Errorf("%w: no table of reference counts can be at %d with %d clusters", ErrDamaged, refTable, clusters)
	}
	return c.within("its table of reference counts", refTable, clusters*c.cluster())
}

// checker is one image.
type checker struct {
	r        io.ReaderAt
	length   int64 // bytes
	bits     uint32
	entry    uint64 // bytes of an entry of the second tables
	external bool
}

func (c checker) cluster() uint64 { return 1 << c.bits }

// within checks that something lies in the file.
func (c checker) within(what string, at, size uint64) error {
	if at > uint64(c.length) || size > uint64(c.length)-at {
		return fmt.Errorf("%w: it has %d bytes, and %s would end at byte %d", ErrTruncated, c.length, what, at+size)
	}
	return nil
}

func (c checker) firstTable(at, entries uint64) error {
	if entries*8 > mostL1 {
		return fmt.Errorf("%w: a first table of %d entries", ErrDamaged, entries)
	}
	if entries == 0 {
		return nil
	}
	if err := c.within("its first table", at, entries*8); err != nil {
		return err
	}
	table := make([]byte, entries*8)
	if _, err := c.r.ReadAt(table, int64(at)); err != nil {
		return fmt.Errorf("read its first table: %w", err)
	}
	second, seen := make([]byte, c.cluster()), map[uint64]bool{}
	for ; len(table) > 0; table = table[8:] {
		at := binary.BigEndian.Uint64(table) & offsetMask
		if at == 0 || seen[at] {
			continue
		}
		if seen[at] = true; uint64(len(seen))*c.cluster() > mostL2 {
			return nil
		}
		if at%c.cluster() != 0 {
			return fmt.Errorf("%w: a table would begin at byte %d, inside a cluster", ErrDamaged, at)
		}
		if err := c.within("a second table", at, c.cluster()); err != nil {
			return err
		}
		if _, err := c.r.ReadAt(second, int64(at)); err != nil {
			return fmt.Errorf("read a second table: %w", err)
		}
		if err := c.secondTable(second); err != nil {
			return err
		}
	}
	return nil
}

// secondTable checks that clusters begin within the file. The last one may be shorter than a cluster.
func (c checker) secondTable(b []byte) error {
	if c.external {
		return nil // they are in another file
	}
	for ; len(b) > 0; b = b[c.entry:] {
		e := binary.BigEndian.Uint64(b)
		at := e & offsetMask
		if e&compressedFlag != 0 {
			at = e & (1<<(62-(c.bits-8)) - 1)
		}
		if at != 0 && at >= uint64(c.length) {
			return fmt.Errorf("%w: it has %d bytes, and a cluster would begin at byte %d", ErrTruncated, c.length, at)
		}
	}
	return nil
}
