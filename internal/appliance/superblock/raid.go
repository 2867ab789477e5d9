package superblock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// raidMagic is 0xa92b4efc, little endian. Version 0.90 has it in the byte order of the machine that made the array.
const (
	raidMagic    = "\xfc\x4e\x2b\xa9"
	raidMagicBig = "\xa9\x2b\x4e\xfc"
	// raidHead is the number of bytes read of a superblock: up to the field of version 1 with its own sector.
	raidHead = 152
)

// raid finds versions 1.1 and 1.2, at the start and at 4 KiB.
func raid(b []byte) Content {
	for _, at := range []int{0, 4096} {
		if len(b) >= at+64 && has(b, at, raidMagic) && binary.LittleEndian.Uint32(b[at+4:]) == 1 {
			return raidMember(b[at:])
		}
	}
	return Content{}
}

// raidMember reads a superblock of version 1.
func raidMember(b []byte) Content {
	return Content{Type: "linux_raid_member", UUID: uuid(b[16:32]), Label: text(b[32:64])}
}

// raidAtEnd finds versions 0.90, in the last whole 64 KiB, and 1.0, 8 to 12 KiB before the end (md(4)).
func raidAtEnd(device io.ReaderAt, size int64) (c Content, err error) {
	const reserved = 64 << 10
	for _, place := range []struct {
		at    int64
		known func(b []byte, at int64) Content
	}{
		{size&^(reserved-1) - reserved, raid090},
		{(size - 8<<10) &^ 4095, raid10},
	} {
		b := make([]byte, raidHead)
		if place.at < 0 {
			continue
		}
		if _, failed := device.ReadAt(b, place.at); errors.Is(failed, io.EOF) {
			continue
		} else if failed != nil {
			err = fmt.Errorf("read %d bytes at %d: %w", len(b), place.at, failed)
			continue
		}
		if c = place.known(b, place.at); c.Type != "" {
			return c, nil
		}
	}
	return c, err
}

func raid090(b []byte, _ int64) Content {
	const minor = 90
	for magic, order := range map[string]binary.ByteOrder{raidMagic: binary.LittleEndian, raidMagicBig: binary.BigEndian} {
		if has(b, 0, magic) && order.Uint32(b[4:]) == 0 && order.Uint32(b[8:]) == minor {
			id := make([]byte, 16) // mdadm(8) prints its four numbers in hexadecimal
			for i, at := range []int{20, 52, 56, 60} {
				binary.BigEndian.PutUint32(id[4*i:], order.Uint32(b[at:]))
			}
			return Content{Type: "linux_raid_member", UUID: uuid(id)}
		}
	}
	return Content{}
}

// raid10 finds version 1.0. Its own sector is in it, so that of a partition at the end of the disk is not taken for the disk's.
func raid10(b []byte, at int64) Content {
	if has(b, 0, raidMagic) && binary.LittleEndian.Uint32(b[4:]) == 1 && binary.LittleEndian.Uint64(b[144:]) == uint64(at)>>9 {
		return raidMember(b)
	}
	return Content{}
}
