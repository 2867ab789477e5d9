package nft

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
)

var errMalformed = errors.New("malformed netlink message")

// packet is one netlink message as received.
type packet struct {
	kind  uint16
	flags uint16
	seq   uint32
	port  uint32 // of the socket it is for, or in a notification, of whoever caused it
	body  []byte
}

// packets walks the messages of a datagram. After an error it stops.
func packets(b []byte) iter.Seq2[packet, error] {
	return func(yield func(packet, error) bool) {
		order := binary.NativeEndian
		for len(b) > 0 {
			if len(b) < headerSize {
				yield(packet{}, fmt.Errorf("%w: %d bytes left over", errMalformed, len(b)))
				return
			}
			size := int64(order.Uint32(b))
			if size < headerSize || size > int64(len(b)) {
				yield(packet{}, fmt.Errorf("%w: length %d in %d bytes", errMalformed, size, len(b)))
				return
			}
			m := packet{kind: order.Uint16(b[4:]), flags: order.Uint16(b[6:]), seq: order.Uint32(b[8:]), port: order.Uint32(b[12:]), body: b[headerSize:size]}
			if !yield(m, nil) {
				return
			}
			b = b[min(padded(int(size)), len(b)):]
		}
	}
}

// attr is one netlink attribute without the flags in its type. Data is what the datagram holds, not a copy.
type attr struct {
	kind uint16
	data []byte
}

const (
	attrHeader   = 4
	attrKindMask = 0x3fff
)

func parseAttrs(b []byte) ([]attr, error) {
	var out []attr
	for len(b) > 0 {
		if len(b) < attrHeader {
			return nil, fmt.Errorf("%w: %d bytes of attributes left over", errMalformed, len(b))
		}
		size := int(binary.NativeEndian.Uint16(b))
		if size < attrHeader || size > len(b) {
			return nil, fmt.Errorf("%w: attribute of length %d in %d bytes", errMalformed, size, len(b))
		}
		out = append(out, attr{binary.NativeEndian.Uint16(b[2:]) & attrKindMask, b[attrHeader:size]})
		b = b[min(padded(size), len(b)):]
	}
	return out, nil
}

func (a attr) uint32() (uint32, error) {
	if len(a.data) != 4 {
		return 0, fmt.Errorf("%w: attribute %d of %d bytes is no 32-bit number", errMalformed, a.kind, len(a.data))
	}
	return binary.BigEndian.Uint32(a.data), nil
}

func (a attr) uint64() (uint64, error) {
	if len(a.data) != 8 {
		return 0, fmt.Errorf("%w: attribute %d of %d bytes is no 64-bit number", errMalformed, a.kind, len(a.data))
	}
	return binary.BigEndian.Uint64(a.data), nil
}

func cString(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}

// attrSet collects the attributes of one object and the first error met while reading them.
type attrSet struct {
	byKind map[uint16]attr
	err    error
}

func readAttrs(b []byte) *attrSet {
	list, err := parseAttrs(b)
	s := &attrSet{byKind: make(map[uint16]attr, len(list)), err: err}
	for _, a := range list {
		s.byKind[a.kind] = a
	}
	return s
}

func (s *attrSet) has(kind uint16) bool {
	_, ok := s.byKind[kind]
	return ok
}

func (s *attrSet) bytes(kind uint16) []byte { return s.byKind[kind].data }

func (s *attrSet) string(kind uint16) string { return cString(s.byKind[kind].data) }

func (s *attrSet) uint32(kind uint16) uint32 {
	a, ok := s.byKind[kind]
	if !ok {
		return 0
	}
	v, err := a.uint32()
	s.err = errors.Join(s.err, err)
	return v
}

func (s *attrSet) uint64(kind uint16) uint64 {
	a, ok := s.byKind[kind]
	if !ok {
		return 0
	}
	v, err := a.uint64()
	s.err = errors.Join(s.err, err)
	return v
}

// readUdata finds one entry in the private data that user space left beside an object. Others write there too, so what
// cannot be read is no error, only absent.
func readUdata(b []byte, kind uint8) []byte {
	for len(b) >= 2 {
		size := 2 + int(b[1])
		if size > len(b) {
			return nil
		}
		if b[0] == kind {
			return b[2:size]
		}
		b = b[size:]
	}
	return nil
}
