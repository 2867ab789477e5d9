package host

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

var errAttributes = errors.New("malformed attributes in a netlink message")

// attrs calls f for each attribute in b. The library's reader of them (1.3.1) panics on what does not add up.
func attrs(b []byte, f func(kind uint16, value []byte) error) error {
	for len(b) >= unix.SizeofNlAttr {
		size := int(binary.NativeEndian.Uint16(b))
		if size < unix.SizeofNlAttr || size > len(b) {
			return errAttributes
		}
		kind := binary.NativeEndian.Uint16(b[2:]) &^ (unix.NLA_F_NESTED | unix.NLA_F_NET_BYTEORDER)
		if err := f(kind, b[unix.SizeofNlAttr:size]); err != nil {
			return err
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return nil
}

// attrMap collects them; of two of a kind the later one counts.
func attrMap(b []byte) (map[uint16][]byte, error) {
	m := map[uint16][]byte{}
	err := attrs(b, func(kind uint16, value []byte) error {
		m[kind] = value
		return nil
	})
	return m, err
}

func uint32Value(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(b)
}
