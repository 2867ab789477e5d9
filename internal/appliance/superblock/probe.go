// Package superblock tells what a block device holds, from its first bytes, and those at its end where arrays of md have their superblocks: a file system, swap space, or a part of
// something larger such as a volume group. What it reads is a stranger's; nothing of it is trusted but to be
// reported.
package superblock

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Content is what a device holds. Type is the kernel's name for mount(2) where it is a file system, else blkid's.
type Content struct {
	Type  string // "": nothing that is known
	UUID  string // as blkid prints it; "" where there is none
	Label string
}

// Mountable reports whether the kernel mounts it as it is.
func (c Content) Mountable() bool {
	switch c.Type {
	case "", "swap", "jbd", "crypto_LUKS", "LVM2_member", "linux_raid_member":
		return false
	}
	return true
}

// head is how much is read: btrfs has its superblock at 64 KiB, which is 4 KiB long.
const head = 68 << 10

// Probe reads from a device of size bytes what is on it.
func Probe(device io.ReaderAt, size int64) (Content, error) {
	b := make([]byte, min(size, head))
	n, err := device.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Content{}, fmt.Errorf("read the first %d bytes: %w", len(b), err)
	}
	b = b[:n]
	// The members of a mirror may begin as the file system on it does: a write to a single member would make them differ.
	c, atEnd := raidAtEnd(device, size)
	if c.Type != "" {
		return c, nil
	}
	// What lies below something else is asked for first: an encrypted disk or a volume group may begin with the rest of
	// a file system that was there before.
	for _, probe := range []func([]byte) Content{
		luks, lvm, raid, swap, xfs, ext, btrfs, squashfs, iso9660, ntfs, exfat, vfat, f2fs, erofs,
	} {
		c := probe(b)
		switch c.Type {
		case "":
			continue
		case "ntfs3":
			c.Label = ntfsLabel(device, b)
		case "exfat":
			c.Label = exfatLabel(device, b)
		}
		return c, nil
	}
	return Content{}, atEnd // a file system of which the end is damaged is still listed
}

// has reports whether magic is at an offset.
func has(b []byte, at int, magic string) bool {
	return len(b) >= at+len(magic) && string(b[at:at+len(magic)]) == magic
}

// text is a field that is filled up with zeros or spaces. What no terminal should be shown is left out.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' || (r >= 0x80 && r < 0xa0) {
			return -1
		}
		return r
	}, string(b)))
}

// uuid prints 16 bytes; all zero is none.
func uuid(b []byte) string {
	if len(b) != 16 || bytes.Equal(b, make([]byte, 16)) {
		return ""
	}
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func luks(b []byte) Content {
	if len(b) < 208 || !has(b, 0, "LUKS\xba\xbe") {
		return Content{}
	}
	c := Content{Type: "crypto_LUKS", UUID: text(b[168:208])}
	if binary.BigEndian.Uint16(b[6:]) == 2 {
		c.Label = text(b[24:72])
	}
	return c
}

func lvm(b []byte) Content {
	for at := 0; at < 4*512 && at+64 <= len(b); at += 512 {
		if has(b, at, "LABELONE") && has(b, at+24, "LVM2 001") {
			id := text(b[at+32 : at+64])
			if len(id) == 32 { // printed in groups of 6, 4, 4, 4, 4, 4, 6
				id = strings.Join([]string{id[:6], id[6:10], id[10:14], id[14:18], id[18:22], id[22:26], id[26:]}, "-")
			}
			return Content{Type: "LVM2_member", UUID: id}
		}
	}
	return Content{}
}

func swap(b []byte) Content {
	for _, page := range []int{4096, 8192, 16384, 65536} {
		if has(b, page-10, "SWAPSPACE2") && len(b) >= 1024+12+32 {
			return Content{Type: "swap", UUID: uuid(b[1036:1052]), Label: text(b[1052:1068])}
		}
	}
	return Content{}
}
