package qcow2

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Images are made with clusters of 64 KiB and reference counts of 16 bits, as qemu-img makes them.
const (
	clusterBits = 16
	cluster     = 1 << clusterBits
	sector      = 512         // a guest's disk is a multiple of it
	perTable    = cluster / 8 // entries of 64 bits in a cluster
	perBlock    = cluster / 2 // reference counts in a cluster
	copied      = 1 << 63     // a cluster that only this table refers to
	// maxCapacity keeps the first table below the 32 MiB that QEMU reads.
	maxCapacity = 32 << 20 / 8 * perTable * cluster
)

// Options are what an image is made with.
type Options struct {
	Capacity      uint64 // bytes
	Preallocate   bool   // all tables are written, so that a guest's writes change no table
	LazyRefcounts bool
	Backing       string // the file below
	BackingFormat string
}

// File is what an image is written to: new, and empty.
type File interface {
	io.WriterAt
	Truncate(size int64) error
}

// layout is where things lie, in clusters: the header, the table of reference blocks, the blocks, the first table, the
// second tables, the content.
type layout struct {
	refTable, refBlocks uint64 // how many
	l1Entries, l1       uint64
	l2, data            uint64
	total               uint64
}

// plan says how much of everything an image needs. Reference blocks count themselves, so their number is approached from
// below.
func plan(o Options) layout {
	content := ceil(o.Capacity, cluster)
	n := layout{l1Entries: ceil(content, perTable)}
	n.l1 = ceil(n.l1Entries, perTable)
	if o.Preallocate {
		n.l2, n.data = n.l1Entries, content
	}
	n.refBlocks = 1
	for {
		n.refTable = ceil(n.refBlocks, perTable)
		n.total = 1 + n.refTable + n.refBlocks + n.l1 + n.l2 + n.data
		need := ceil(n.total, perBlock)
		if need <= n.refBlocks {
			return n
		}
		n.refBlocks = need
	}
}

func ceil(n, unit uint64) uint64 { return (n + unit - 1) / unit }

// Write makes an image without content, or with that of its backing file.
func Write(f File, o Options) error {
	switch {
	case o.Capacity > maxCapacity:
		return fmt.Errorf("a qcow2 image holds at most %d bytes, not %d", uint64(maxCapacity), o.Capacity)
	case len(o.Backing) > maxBacking:
		return fmt.Errorf("the path of the image below has %d bytes; an image takes %d", len(o.Backing), maxBacking)
	case len(o.BackingFormat) > maxFormat:
		return fmt.Errorf("the format of the image below has %d bytes; an image takes %d", len(o.BackingFormat), maxFormat)
	case o.Backing != "" && o.Preallocate:
		return fmt.Errorf("an image that is preallocated hides the one below it")
	}
	o.Capacity = ceil(o.Capacity, sector) * sector
	n := plan(o)
	if err := f.Truncate(int64(n.total) * cluster); err != nil {
		return err
	}
	blocks := 1 + n.refTable
	l1 := blocks + n.refBlocks
	l2 := l1 + n.l1
	w := writer{f: f}
	w.entries(1, n.refBlocks, func(i uint64) uint64 { return (blocks + i) * cluster })
	w.counts(blocks, n.total)
	if o.Preallocate {
		w.entries(l1, n.l2, func(i uint64) uint64 { return (l2+i)*cluster | copied })
		w.entries(l2, n.data, func(i uint64) uint64 { return (l2+n.l2+i)*cluster | copied })
	}
	w.write(header(o, n, l1), 0) // last: what has no header is no image
	return w.err
}

// header is the first cluster.
func header(o Options, n layout, l1 uint64) []byte {
	b := make([]byte, headerLength, 2048)
	binary.BigEndian.PutUint32(b, magic)
	binary.BigEndian.PutUint32(b[4:], 3)
	binary.BigEndian.PutUint32(b[20:], clusterBits)
	binary.BigEndian.PutUint64(b[24:], o.Capacity)
	binary.BigEndian.PutUint32(b[36:], uint32(n.l1Entries))
	binary.BigEndian.PutUint64(b[40:], l1*cluster)
	binary.BigEndian.PutUint64(b[48:], cluster) // the table of reference blocks follows the header
	binary.BigEndian.PutUint32(b[56:], uint32(n.refTable))
	if o.LazyRefcounts {
		binary.BigEndian.PutUint64(b[80:], lazyRefcounts)
	}
	binary.BigEndian.PutUint32(b[96:], 4) // reference counts of 1<<4 bits
	binary.BigEndian.PutUint32(b[100:], headerLength)
	if o.Backing == "" {
		return binary.BigEndian.AppendUint64(b, 0) // no extensions
	}
	b = binary.BigEndian.AppendUint32(b, backingFormat)
	b = binary.BigEndian.AppendUint32(b, uint32(len(o.BackingFormat)))
	b = append(b, o.BackingFormat...)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	b = binary.BigEndian.AppendUint64(b, 0)
	binary.BigEndian.PutUint64(b[8:], uint64(len(b)))
	binary.BigEndian.PutUint32(b[16:], uint32(len(o.Backing)))
	return append(b, o.Backing...)
}

// writer keeps the first error.
type writer struct {
	f   io.WriterAt
	err error
}

func (w *writer) write(b []byte, at uint64) {
	if w.err == nil && len(b) > 0 {
		_, w.err = w.f.WriteAt(b, int64(at))
	}
}

// entries writes n entries of 64 bits from a cluster on, a cluster at a time.
func (w *writer) entries(from, n uint64, entry func(i uint64) uint64) {
	for first := uint64(0); first < n; first += perTable {
		b := make([]byte, 0, cluster)
		for i := first; i < min(first+perTable, n); i++ {
			b = binary.BigEndian.AppendUint64(b, entry(i))
		}
		w.write(b, (from+first/perTable)*cluster)
	}
}

// counts writes a reference count of one for each of n clusters.
func (w *writer) counts(from, n uint64) {
	for first := uint64(0); first < n; first += perBlock {
		b := make([]byte, 0, cluster)
		for range min(perBlock, n-first) {
			b = binary.BigEndian.AppendUint16(b, 1)
		}
		w.write(b, (from+first/perBlock)*cluster)
	}
}
