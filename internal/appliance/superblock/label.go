package superblock

import (
	"encoding/binary"
	"io"
	"unicode/utf16"
)

// readAt reads n bytes; nil where they are not there.
func readAt(device io.ReaderAt, at int64, n int) []byte {
	b := make([]byte, n)
	if at < 0 {
		return nil
	}
	if got, _ := device.ReadAt(b, at); got < n {
		return nil
	}
	return b
}

// utf16Text is a field of 16-bit characters.
func utf16Text(b []byte) string {
	var name []uint16
	for ; len(b) >= 2; b = b[2:] {
		name = append(name, binary.LittleEndian.Uint16(b))
	}
	return text([]byte(string(utf16.Decode(name))))
}

// ntfsLabel reads the name of a volume out of its fourth file, $Volume (linux, fs/ntfs3/ntfs.h: struct NTFS_BOOT, MFT_REC, ATTRIB). boot
// is the first sector. One that cannot be found is none.
func ntfsLabel(device io.ReaderAt, boot []byte) string {
	sector := int64(binary.LittleEndian.Uint16(boot[0x0b:]))
	cluster := sector * int64(boot[0x0d])
	if boot[0x0d] > 0x80 { // a power of two
		cluster = sector << min(256-int(boot[0x0d]), 31)
	}
	record := int64(int8(boot[0x40])) * cluster
	if n := int8(boot[0x40]); n < 0 {
		record = 1 << min(-int(n), 31)
	}
	const volume, least, most = 3, 512, 4096
	start := binary.LittleEndian.Uint64(boot[0x30:])
	if sector < least || record < least || record > most || start > 1<<40 || cluster > 1<<30 {
		return ""
	}
	b := readAt(device, int64(start)*cluster+volume*record, int(record))
	if !has(b, 0, "FILE") || !fixUp(b) {
		return ""
	}
	const nameAttribute, end = 0x60, 0xffffffff
	for at := int(binary.LittleEndian.Uint16(b[20:])); at+24 <= len(b); {
		kind, size := binary.LittleEndian.Uint32(b[at:]), binary.LittleEndian.Uint32(b[at+4:])
		if kind == end || size < 24 || uint64(at)+uint64(size) > uint64(len(b)) {
			return ""
		}
		if kind == nameAttribute && b[at+8] == 0 { // resident
			length, offset := uint64(binary.LittleEndian.Uint32(b[at+16:])), uint64(binary.LittleEndian.Uint16(b[at+20:]))
			if offset+length > uint64(size) {
				return ""
			}
			return utf16Text(b[at+int(offset) : at+int(offset+length)])
		}
		at += int(size)
	}
	return ""
}

// fixUp puts back the last two bytes of each sector of a record, which are kept at its beginning, and reports whether all of it was
// written at once.
func fixUp(b []byte) bool {
	const sector = 512
	at, n := int(binary.LittleEndian.Uint16(b[4:])), int(binary.LittleEndian.Uint16(b[6:]))
	if n != len(b)/sector+1 || at+2*n > sector {
		return false
	}
	for i := 1; i < n; i++ {
		last := b[i*sector-2 : i*sector]
		if string(last) != string(b[at:at+2]) {
			return false
		}
		copy(last, b[at+2*i:])
	}
	return true
}

// exfatLabel reads the name of a volume out of its first folder (exFAT specification, 3.1 and 7.3), of which its first cluster is looked
// at. boot is the first sector.
func exfatLabel(device io.ReaderAt, boot []byte) string {
	sector, cluster := boot[108], boot[109]
	first := binary.LittleEndian.Uint32(boot[96:])
	if sector < 9 || sector > 12 || cluster > 25-sector || first < 2 {
		return ""
	}
	heap := int64(binary.LittleEndian.Uint32(boot[88:])) << sector
	at := heap + int64(first-2)<<(sector+cluster)
	const entry, volumeLabel, longest = 32, 0x83, 11
	for b := readAt(device, at, min(1<<(sector+cluster), 4096)); len(b) >= entry && b[0] != 0; b = b[entry:] {
		if b[0] == volumeLabel && b[1] <= longest {
			return utf16Text(b[2 : 2+2*int(b[1])])
		}
	}
	return ""
}
