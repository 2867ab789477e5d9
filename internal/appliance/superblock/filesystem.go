package superblock

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
)

// ext tells ext2, ext3 and ext4 apart as the kernel's drivers do: by the features that they know.
func ext(b []byte) Content {
	const at = 1024
	if len(b) < at+256 || !has(b, at+0x38, "\x53\xef") {
		return Content{}
	}
	s := b[at:]
	compatible, incompatible, readOnly := binary.LittleEndian.Uint32(s[0x5c:]), binary.LittleEndian.Uint32(s[0x60:]), binary.LittleEndian.Uint32(s[0x64:])
	const (
		journal       = 0x4                 // compatible: has_journal
		ext3Incompat  = 0x2 | 0x4 | 0x10    // filetype, recover, meta_bg
		ext3ReadOnly  = 0x1 | 0x2 | 0x4     // sparse_super, large_file, btree_dir
		journalDevice = uint32(0x8)         // incompatible: it is a journal and nothing else
		ext2Incompat  = ext3Incompat &^ 0x4 // a journal to replay is not for ext2
	)
	c := Content{Type: "ext4", UUID: uuid(s[0x68:0x78]), Label: text(s[0x78:0x88])}
	switch {
	case incompatible&journalDevice != 0:
		c.Type = "jbd"
	case incompatible&^uint32(ext3Incompat) != 0 || readOnly&^uint32(ext3ReadOnly) != 0:
	case compatible&journal != 0:
		c.Type = "ext3"
	case incompatible&^uint32(ext2Incompat) == 0:
		c.Type = "ext2"
	}
	return c
}

func xfs(b []byte) Content {
	if len(b) < 120 || !has(b, 0, "XFSB") {
		return Content{}
	}
	return Content{Type: "xfs", UUID: uuid(b[32:48]), Label: text(b[108:120])}
}

func btrfs(b []byte) Content {
	const at = 64 << 10
	if len(b) < at+0x12b+256 || !has(b, at+0x40, "_BHRfS_M") {
		return Content{}
	}
	return Content{Type: "btrfs", UUID: uuid(b[at+0x20 : at+0x30]), Label: text(b[at+0x12b : at+0x12b+256])}
}

func squashfs(b []byte) Content {
	if !has(b, 0, "hsqs") {
		return Content{}
	}
	return Content{Type: "squashfs"}
}

func iso9660(b []byte) Content {
	const at = 32 << 10
	if len(b) < at+830 || !has(b, at+1, "CD001") {
		return Content{}
	}
	c := Content{Type: "iso9660", Label: text(b[at+40 : at+72])}
	if d := text(b[at+813 : at+829]); len(d) == 16 { // when it was made is what it is known by
		c.UUID = strings.Join([]string{d[:4], d[4:6], d[6:8], d[8:10], d[10:12], d[12:14], d[14:16]}, "-")
	}
	return c
}

func ntfs(b []byte) Content {
	if len(b) < 512 || !has(b, 3, "NTFS    ") {
		return Content{}
	}
	return Content{Type: "ntfs3", UUID: fmt.Sprintf("%016X", binary.LittleEndian.Uint64(b[0x48:]))}
}

func exfat(b []byte) Content {
	if len(b) < 512 || !has(b, 3, "EXFAT   ") {
		return Content{}
	}
	return Content{Type: "exfat", UUID: serial(b[0x64:])}
}

// vfat has no magic number of its own: what three fields say must go together.
func vfat(b []byte) Content {
	if len(b) < 512 || b[510] != 0x55 || b[511] != 0xaa || (b[0] != 0xeb && b[0] != 0xe9) {
		return Content{}
	}
	for _, at := range []struct{ kind, serial, label int }{{0x36, 0x27, 0x2b}, {0x52, 0x43, 0x47}} {
		if has(b, at.kind, "FAT") {
			c := Content{Type: "vfat", UUID: serial(b[at.serial:]), Label: text(b[at.label : at.label+11])}
			if c.Label == "NO NAME" {
				c.Label = ""
			}
			return c
		}
	}
	return Content{}
}

// serial prints the four bytes that DOS called a volume's serial number.
func serial(b []byte) string {
	n := binary.LittleEndian.Uint32(b)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%04X-%04X", n>>16, n&0xffff)
}

func f2fs(b []byte) Content {
	const at = 1024
	if len(b) < at+124+1024 || !has(b, at, "\x10\x20\xf5\xf2") {
		return Content{}
	}
	var name []uint16
	for i := at + 124; i < at+124+1024; i += 2 {
		u := binary.LittleEndian.Uint16(b[i:])
		if u == 0 {
			break
		}
		name = append(name, u)
	}
	return Content{Type: "f2fs", UUID: uuid(b[at+108 : at+124]), Label: text([]byte(string(utf16.Decode(name))))}
}

func erofs(b []byte) Content {
	const at = 1024
	if len(b) < at+80 || !has(b, at, "\xe2\xe1\xf5\xe0") {
		return Content{}
	}
	return Content{Type: "erofs", UUID: uuid(b[at+48 : at+64]), Label: text(b[at+64 : at+80])}
}
