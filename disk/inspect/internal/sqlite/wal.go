package sqlite

import (
	"encoding/binary"
	"fmt"
)

const (
	walHeader   = 32
	frameHeader = 24
	walMagic    = 0x377f0682 // or one more: the byte order of the checksums
)

// readLog finds the newest version of each page that was committed to the write-ahead log. As SQLite does, it stops at the first frame that
// is not of this log, or whose checksum is not that of all before it.
func (d *DB) readLog(size int64) error {
	var h [walHeader]byte
	if size < walHeader {
		return nil // an empty one is left where nothing was written
	}
	if _, err := d.log.ReadAt(h[:], 0); err != nil {
		return fmt.Errorf("%w: its log: %w", ErrCorrupt, err)
	}
	m := binary.BigEndian.Uint32(h[:])
	var order binary.ByteOrder = binary.LittleEndian
	if m == walMagic+1 {
		order = binary.BigEndian
	}
	page := int64(binary.BigEndian.Uint32(h[8:]))
	if m&^1 != walMagic || page < 512 || page > 65536 || page&(page-1) != 0 {
		return nil // SQLite takes it for none
	}
	sum := [2]uint32{}
	checksum(order, &sum, h[:24])
	if sum != [2]uint32{binary.BigEndian.Uint32(h[24:]), binary.BigEndian.Uint32(h[28:])} {
		return nil
	}
	d.page = page
	pending := map[uint32]int64{}
	b := make([]byte, frameHeader+page)
	for at := int64(walHeader); at+int64(len(b)) <= size; at += int64(len(b)) {
		if n, err := d.log.ReadAt(b, at); n < len(b) {
			return fmt.Errorf("%w: its log: %w", ErrCorrupt, err)
		}
		if string(b[8:16]) != string(h[16:24]) { // salts
			break
		}
		checksum(order, &sum, b[:8])
		checksum(order, &sum, b[frameHeader:])
		if sum != [2]uint32{binary.BigEndian.Uint32(b[16:]), binary.BigEndian.Uint32(b[20:])} {
			break
		}
		pending[binary.BigEndian.Uint32(b)] = at + frameHeader
		if pages := binary.BigEndian.Uint32(b[4:]); pages != 0 { // the transaction was committed
			d.freshest = pages
			for n, where := range pending {
				d.inLog[n] = where
			}
			clear(pending)
		}
	}
	if len(d.inLog) == 0 {
		d.page = 0
	}
	return nil
}

func checksum(order binary.ByteOrder, sum *[2]uint32, b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		sum[0] += order.Uint32(b) + sum[1]
		sum[1] += order.Uint32(b[4:]) + sum[0]
	}
}
