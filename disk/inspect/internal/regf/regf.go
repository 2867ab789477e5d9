// Package regf reads keys and values of a hive of Windows' registry that nobody has reason to trust. The format is not documented by its
// maker; this follows https://github.com/msuhanov/regf (Windows registry file format specification), versions 1.3 to 1.6. Changes that are
// only in the hive's log, as after a crash, are not seen. How deep and how long lists are is bounded.
package regf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
)

// ErrCorrupt says that a hive is none, is damaged, or was made to mislead.
var ErrCorrupt = errors.New("the registry hive is damaged")

// ErrNone says that there is no such key or value.
var ErrNone = errors.New("there is no such key or value in the registry hive")

const (
	baseBlock = 4096
	mostKeys  = 100_000 // below a key
	mostData  = 1 << 20 // bytes of a value
	deepest   = 3       // levels of lists of subkeys: Windows writes two
	none      = 0xffffffff
)

// Types of values that are read, as winnt.h numbers them.
const (
	typeString = 1 // REG_SZ
	typeExpand = 2 // REG_EXPAND_SZ
	typeDWord  = 4 // REG_DWORD
)

// Hive is a registry file. It may be used at the same time as far as its reader may.
type Hive struct {
	r    io.ReaderAt
	size int64
	root uint32
}

// Key is a key of a hive.
type Key struct {
	h *Hive
	b []byte // its cell
}

// Open reads the head of a hive of so many bytes.
func Open(r io.ReaderAt, size int64) (*Hive, error) {
	var b [512]byte
	if _, err := r.ReadAt(b[:], 0); err != nil {
		return nil, fmt.Errorf("%w: its head cannot be read: %w", ErrCorrupt, err)
	}
	if string(b[:4]) != "regf" || binary.LittleEndian.Uint32(b[20:]) != 1 {
		return nil, fmt.Errorf("%w: it does not begin as one", ErrCorrupt)
	}
	return &Hive{r: r, size: size, root: binary.LittleEndian.Uint32(b[36:])}, nil
}

// cell reads a cell, at least so many bytes of it. Its size is negative while it is in use.
func (h *Hive) cell(at uint32, least int) ([]byte, error) {
	var head [4]byte
	where := baseBlock + int64(at)
	if at == none || where+4 > h.size {
		return nil, fmt.Errorf("%w: a cell lies outside of it", ErrCorrupt)
	}
	if _, err := h.r.ReadAt(head[:], where); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	size := -int64(int32(binary.LittleEndian.Uint32(head[:]))) - 4
	if size < int64(least) || size > mostData+8 || where+4+size > h.size {
		return nil, fmt.Errorf("%w: a cell of %d bytes", ErrCorrupt, size)
	}
	b := make([]byte, size)
	if n, err := h.r.ReadAt(b, where+4); n < len(b) {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return b, nil
}

// key reads the cell of a key.
func (h *Hive) key(at uint32) (*Key, error) {
	const fixed = 76
	b, err := h.cell(at, fixed)
	if err != nil {
		return nil, err
	}
	if string(b[:2]) != "nk" || fixed+int(binary.LittleEndian.Uint16(b[72:])) > len(b) {
		return nil, fmt.Errorf("%w: there is no key where one should be", ErrCorrupt)
	}
	return &Key{h, b}, nil
}

// Name is a key's own name.
func (k *Key) Name() string {
	b := k.b[76 : 76+int(binary.LittleEndian.Uint16(k.b[72:]))]
	return name(b, binary.LittleEndian.Uint16(k.b[2:])&0x20 != 0)
}

// name is in Latin-1 where a flag says so, and in UTF-16 else.
func name(b []byte, narrow bool) string {
	if !narrow {
		return wide(b)
	}
	var s strings.Builder
	for _, c := range b {
		s.WriteRune(rune(c))
	}
	return s.String()
}

// wide is a string in UTF-16, as far as its first zero.
func wide(b []byte) string {
	var u []uint16
	for ; len(b) >= 2; b = b[2:] {
		c := binary.LittleEndian.Uint16(b)
		if c == 0 {
			break
		}
		u = append(u, c)
	}
	return string(utf16.Decode(u))
}

// Find follows names, with backslashes between them, from the hive's root. Upper and lower case do not differ.
func (h *Hive) Find(path string) (*Key, error) {
	k, err := h.key(h.root)
	for part := range strings.SplitSeq(path, `\`) {
		if err != nil {
			return nil, err
		}
		k, err = k.sub(part)
	}
	return k, err
}

func (k *Key) sub(name string) (*Key, error) {
	var found *Key
	err := k.Each(func(below *Key) error {
		if strings.EqualFold(below.Name(), name) {
			found = below
			return errStop
		}
		return nil
	})
	switch {
	case found != nil:
		return found, nil
	case err != nil:
		return nil, err
	}
	return nil, fmt.Errorf("%w: %s", ErrNone, name)
}

var errStop = errors.New("enough")

// Each calls do for each key below, until it returns an error.
func (k *Key) Each(do func(*Key) error) error {
	if binary.LittleEndian.Uint32(k.b[20:]) == 0 {
		return nil
	}
	left := mostKeys
	return k.h.list(binary.LittleEndian.Uint32(k.b[28:]), 0, &left, do)
}

// list visits a list of keys: of their cells alone (li), with hints (lf, lh), or of lists (ri).
func (h *Hive) list(at uint32, depth int, left *int, do func(*Key) error) error {
	b, err := h.cell(at, 4)
	if err != nil {
		return err
	}
	kind, count, each := string(b[:2]), int(binary.LittleEndian.Uint16(b[2:])), 4
	switch kind {
	case "lf", "lh":
		each = 8
	case "li", "ri":
	default:
		return fmt.Errorf("%w: there is no list of keys where one should be", ErrCorrupt)
	}
	if 4+each*count > len(b) || depth >= deepest {
		return fmt.Errorf("%w: a list of %d keys is cut off, or lies too deep", ErrCorrupt, count)
	}
	for i := range count {
		if *left--; *left < 0 {
			return fmt.Errorf("%w: more than %d keys", ErrCorrupt, mostKeys)
		}
		below := binary.LittleEndian.Uint32(b[4+each*i:])
		if kind == "ri" {
			err = h.list(below, depth+1, left, do)
		} else if key, kerr := h.key(below); kerr != nil {
			err = kerr
		} else {
			err = do(key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// String is a value that is text; "" where there is none, or it is something else.
func (k *Key) String(value string) (string, error) {
	kind, b, err := k.value(value)
	if err != nil || (kind != typeString && kind != typeExpand) {
		return "", err
	}
	return wide(b), nil
}

// Number is a value of 32 bits; 0 where there is none, or it is something else.
func (k *Key) Number(value string) (uint32, error) {
	kind, b, err := k.value(value)
	if err != nil || kind != typeDWord || len(b) < 4 {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

// Values calls do for the name of each value.
func (k *Key) Values(do func(name string) error) error {
	return k.values(func(name string, _ []byte) error { return do(name) })
}

// values calls do for the name and the cell of each value.
func (k *Key) values(do func(name string, cell []byte) error) error {
	count := int64(binary.LittleEndian.Uint32(k.b[36:]))
	if count == 0 {
		return nil
	}
	list, err := k.h.cell(binary.LittleEndian.Uint32(k.b[40:]), 4)
	if err != nil {
		return err
	}
	if 4*count > int64(len(list)) {
		return fmt.Errorf("%w: a list of %d values is cut off", ErrCorrupt, count)
	}
	for i := range count {
		const fixed = 20
		b, err := k.h.cell(binary.LittleEndian.Uint32(list[4*i:]), fixed)
		if err != nil {
			return err
		}
		size := int(binary.LittleEndian.Uint16(b[2:]))
		if string(b[:2]) != "vk" || fixed+size > len(b) {
			return fmt.Errorf("%w: there is no value where one should be", ErrCorrupt)
		}
		if err := do(name(b[fixed:fixed+size], binary.LittleEndian.Uint16(b[16:])&1 != 0), b); err != nil {
			return err
		}
	}
	return nil
}

// value finds a value by its name, and reads its type and data.
func (k *Key) value(name string) (kind uint32, data []byte, err error) {
	var found []byte
	err = k.values(func(is string, cell []byte) error {
		if strings.EqualFold(is, name) {
			found = cell
			return errStop
		}
		return nil
	})
	if found == nil {
		return 0, nil, err
	}
	size, at := binary.LittleEndian.Uint32(found[4:]), binary.LittleEndian.Uint32(found[8:])
	kind = binary.LittleEndian.Uint32(found[12:])
	if size&0x80000000 != 0 { // at most four bytes are in the place of the offset
		return kind, found[8 : 8+min(4, size&0x7fffffff)], nil
	}
	if size > mostData {
		return 0, nil, fmt.Errorf("%w: a value of %d bytes", ErrCorrupt, size)
	}
	data, err = k.h.cell(at, 0)
	if err != nil {
		return 0, nil, err
	}
	if int(size) > len(data) { // large ones are in several cells (db): none of those that are asked for
		return 0, nil, fmt.Errorf("%w: a value is cut off", ErrCorrupt)
	}
	return kind, data[:size], nil
}
