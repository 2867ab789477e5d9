// Package rpmdb reads which packages a database of rpm's names, without rpm, from one that nobody has reason to trust. It knows the two
// databases that rpm writes since 4.16: SQLite, and the one of SUSE that rpm calls ndb.
package rpmdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"taproom/disk/inspect/internal/sqlite"
)

// ErrCorrupt says that a database is damaged, or was made to mislead.
var ErrCorrupt = errors.New("the database of rpm is damaged")

// Package is what the header of a package says of it.
type Package struct{ Name, Epoch, Version, Release, Arch string }

// Tags of a header, as rpm's rpmtag.h numbers them.
const (
	tagName    = 1000
	tagVersion = 1001
	tagRelease = 1002
	tagEpoch   = 1003
	tagArch    = 1022
)

// Types of what a tag has, as rpm's rpmtag.h numbers them.
const (
	typeInt32  = 4
	typeString = 6
	typeI18N   = 9
)

const (
	mostTags  = 65536    // rpm's own bound, as hdrchkTags has it
	mostBytes = 64 << 20 // of a header
)

// SQLite calls do for each package of a database in SQLite's format.
func SQLite(db *sqlite.DB, do func(Package) error) error {
	return db.Rows("Packages", func(r sqlite.Row) error { return header(r.Bytes("blob"), do) })
}

// header reads a header as it lies in the database: how many tags and bytes, then the tags, then the bytes.
func header(b []byte, do func(Package) error) error {
	if len(b) < 8 {
		return fmt.Errorf("%w: a header of %d bytes", ErrCorrupt, len(b))
	}
	tags, size := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if tags > mostTags || uint64(size) > uint64(len(b)) || 8+16*uint64(tags)+uint64(size) > uint64(len(b)) {
		return fmt.Errorf("%w: a header of %d tags in %d bytes", ErrCorrupt, tags, len(b))
	}
	data := b[8+16*tags:][:size]
	var p Package
	for i := range tags {
		entry := b[8+16*i:]
		kind, at := binary.BigEndian.Uint32(entry[4:]), binary.BigEndian.Uint32(entry[8:])
		if at > size {
			continue
		}
		switch binary.BigEndian.Uint32(entry) {
		case tagName:
			p.Name = text(data[at:], kind)
		case tagVersion:
			p.Version = text(data[at:], kind)
		case tagRelease:
			p.Release = text(data[at:], kind)
		case tagArch:
			p.Arch = text(data[at:], kind)
		case tagEpoch:
			if kind == typeInt32 && len(data[at:]) >= 4 {
				p.Epoch = fmt.Sprint(binary.BigEndian.Uint32(data[at:]))
			}
		}
	}
	if p.Name == "" || p.Name == "gpg-pubkey" { // keys are kept as packages
		return nil
	}
	return do(p)
}

// text is a string that a zero ends.
func text(b []byte, kind uint32) string {
	if kind != typeString && kind != typeI18N {
		return ""
	}
	for i := range min(len(b), 4096) {
		if b[i] == 0 {
			return string(b[:i])
		}
	}
	return ""
}

// The parts of an ndb, as rpm's lib/backend/ndb/rpmpkg.c has them: pages of 4096 bytes with slots of 16 bytes, and blobs of packages, each with
// a head of 16 bytes, in blocks of 16 bytes. All numbers are little-endian.
const (
	ndbMagic  = 'R' | 'p'<<8 | 'm'<<16 | 'P'<<24
	slotMagic = 'S' | 'l'<<8 | 'o'<<16 | 't'<<24
	blobMagic = 'B' | 'l'<<8 | 'b'<<16 | 'S'<<24
	ndbPage   = 4096
	ndbSlot   = 16
	ndbBlock  = 16
	mostPages = 4096 // of slots: a million packages
)

// NDB calls do for each package of a database of so many bytes in the format ndb.
func NDB(r io.ReaderAt, size int64, do func(Package) error) error {
	var head [32]byte
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return fmt.Errorf("%w: its head cannot be read: %w", ErrCorrupt, err)
	}
	if binary.LittleEndian.Uint32(head[:]) != ndbMagic {
		return fmt.Errorf("%w: it does not begin as one", ErrCorrupt)
	}
	pages := int64(binary.LittleEndian.Uint32(head[12:]))
	if pages > mostPages || pages*ndbPage > size {
		return fmt.Errorf("%w: %d pages of slots in %d bytes", ErrCorrupt, pages, size)
	}
	slots := make([]byte, pages*ndbPage)
	if _, err := r.ReadAt(slots, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var sum int64
	for at := 2 * ndbSlot; at+ndbSlot <= len(slots); at += ndbSlot { // the head takes the place of two
		s := slots[at:]
		if binary.LittleEndian.Uint32(s) != slotMagic {
			return fmt.Errorf("%w: there is no slot at %d", ErrCorrupt, at)
		}
		number, from, blocks := binary.LittleEndian.Uint32(s[4:]), int64(binary.LittleEndian.Uint32(s[8:]))*ndbBlock, int64(binary.LittleEndian.Uint32(s[12:]))*ndbBlock
		if from == 0 {
			continue // free
		}
		if sum += blocks; sum > size { // each lies elsewhere
			return fmt.Errorf("%w: packages overlap", ErrCorrupt)
		}
		if err := blob(r, number, from, blocks, size, do); err != nil {
			return err
		}
	}
	return nil
}

// blob reads one package.
func blob(r io.ReaderAt, number uint32, from, blocks, size int64, do func(Package) error) error {
	if blocks < ndbBlock || blocks > mostBytes || from+blocks > size {
		return fmt.Errorf("%w: package %d lies outside of it", ErrCorrupt, number)
	}
	b := make([]byte, blocks)
	if n, err := r.ReadAt(b, from); n < len(b) {
		return fmt.Errorf("%w: package %d: %w", ErrCorrupt, number, err)
	}
	length := int64(binary.LittleEndian.Uint32(b[12:]))
	if binary.LittleEndian.Uint32(b) != blobMagic || binary.LittleEndian.Uint32(b[4:]) != number || 16+length > blocks {
		return fmt.Errorf("%w: package %d is not where its slot says", ErrCorrupt, number)
	}
	return header(b[16:16+length], do)
}
