package proto

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	// maxString bounds a string of a message, in bytes: the kernel's longest path is 4096.
	maxString = 16 << 10
	// maxList bounds the number of entries of a list in a message.
	maxList = 1024
)

// ErrMessage says that a payload is not the message that it should be.
var ErrMessage = errors.New("not the message that belongs there")

// Coder writes or reads the fields of a message, one after the other. A message has one method, Code, for both ways, so
// that both ends agree. The first error sticks.
type Coder struct {
	b       []byte
	reading bool
	err     error
}

// Message is what a payload holds.
type Message interface{ Code(*Coder) }

// Encode returns m as a payload.
func Encode(m Message) ([]byte, error) {
	var c Coder
	m.Code(&c)
	if c.err == nil && len(c.b) > MaxPayload {
		c.err = fmt.Errorf("message of %d bytes, at most %d: %w", len(c.b), MaxPayload, ErrMessage)
	}
	return c.b, c.err
}

// Decode fills m from a payload, all of which it must take.
func Decode(b []byte, m Message) error {
	c := Coder{b: b, reading: true}
	m.Code(&c)
	if c.err == nil && len(c.b) > 0 {
		c.err = fmt.Errorf("%d bytes too many: %w", len(c.b), ErrMessage)
	}
	return c.err
}

// take cuts n bytes off what is read; nil after an error.
func (c *Coder) take(n int) []byte {
	if c.err == nil && len(c.b) < n {
		c.err = fmt.Errorf("ends %d bytes too early: %w", n-len(c.b), ErrMessage)
	}
	if c.err != nil {
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

// U8 is one byte.
func (c *Coder) U8(v *uint8) {
	if !c.reading {
		c.b = append(c.b, *v)
	} else if b := c.take(1); b != nil {
		*v = b[0]
	}
}

// Bool is one byte, 0 or 1.
func (c *Coder) Bool(v *bool) {
	var n uint8
	if *v {
		n = 1
	}
	c.U8(&n)
	if n > 1 && c.err == nil {
		c.err = fmt.Errorf("neither true nor false: %w", ErrMessage)
	}
	*v = n == 1
}

// U32 is four bytes.
func (c *Coder) U32(v *uint32) {
	if !c.reading {
		c.b = binary.LittleEndian.AppendUint32(c.b, *v)
	} else if b := c.take(4); b != nil {
		*v = binary.LittleEndian.Uint32(b)
	}
}

// U64 is eight bytes.
func (c *Coder) U64(v *uint64) {
	if !c.reading {
		c.b = binary.LittleEndian.AppendUint64(c.b, *v)
	} else if b := c.take(8); b != nil {
		*v = binary.LittleEndian.Uint64(b)
	}
}

// I64 is eight bytes with a sign.
func (c *Coder) I64(v *int64) {
	n := uint64(*v)
	c.U64(&n)
	*v = int64(n)
}

// length is that of something with at most limit of what.
func (c *Coder) length(n, limit int, what string) int {
	v := uint32(n)
	c.U32(&v)
	if c.err == nil && int64(v) > int64(limit) {
		c.err = fmt.Errorf("%d %s, at most %d: %w", v, what, limit, ErrMessage)
	}
	if c.err != nil {
		return 0
	}
	return int(v)
}

// String is a length and the bytes.
func (c *Coder) String(v *string) {
	n := c.length(len(*v), maxString, "bytes in a string")
	if !c.reading {
		c.b = append(c.b, *v...)
	} else if b := c.take(n); b != nil {
		*v = string(b)
	}
}

// Bytes is a length and the bytes.
func (c *Coder) Bytes(v *[]byte) {
	n := c.length(len(*v), MaxData, "bytes")
	if !c.reading {
		c.b = append(c.b, *v...)
	} else if b := c.take(n); n > 0 && b != nil {
		*v = append([]byte(nil), b...)
	}
}

// list is a length and that many entries.
func list[T any](c *Coder, v *[]T, each func(*T)) {
	n := c.length(len(*v), maxList, "entries in a list")
	if c.reading {
		*v = nil
	}
	for i := 0; i < n && c.err == nil; i++ {
		if c.reading {
			*v = append(*v, *new(T)) // grows with what is there, not with what is announced
		}
		each(&(*v)[i])
	}
}

// Strings is a list of strings.
func (c *Coder) Strings(v *[]string) { list(c, v, c.String) }
