// Package xdr is the external data representation of RFC 4506, as far as libvirt's protocol uses it.
//
// Decoding accepts the same input as the C decoder of libtirpc, which libvirt's daemons use: clients that are not libvirt's own
// rely on it. Encoding writes the standard's form.
//
// A type describes itself once: its XDR method names its fields in order, and a Coder either writes them or fills them.
// Nothing is reflected upon. Decoding never allocates more than the message that is being read can hold, and the first
// error sticks, so that XDR methods are straight lines. Encoding only reads the value: values may be shared.
package xdr

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// MaxString is the longest string libvirt's protocol allows (remote_protocol.x, REMOTE_STRING_MAX).
const MaxString = 4 << 20

// ErrMalformed is wrapped by every error of decoding and encoding.
var ErrMalformed = errors.New("malformed XDR")

// Value is a type that can be written and read.
type Value interface{ XDR(x *Coder) }

// Void is nothing.
type Void struct{}

// XDR implements Value.
func (*Void) XDR(*Coder) {}

// Coder writes to, or reads from, a message.
type Coder struct {
	buf    []byte
	pos    int // read so far
	decode bool
	err    error
}

// Append writes v behind dst and returns it. On error dst is returned as it was.
func Append(dst []byte, v Value) ([]byte, error) {
	x := Coder{buf: dst}
	v.XDR(&x)
	if x.err != nil {
		return dst, x.err
	}
	return x.buf, nil
}

// Decode fills v from b. Bytes behind the value are ignored, as libvirt's daemons ignore them. Strings and opaque data are
// copied.
func Decode(b []byte, v Value) error {
	_, err := DecodePrefix(b, v)
	return err
}

// DecodePrefix fills v from the beginning of b and returns how many bytes that took.
func DecodePrefix(b []byte, v Value) (int, error) {
	x := Coder{buf: b, decode: true}
	v.XDR(&x)
	return x.pos, x.err
}

// Decoding reports whether the Coder reads.
func (x *Coder) Decoding() bool { return x.decode }

// Err returns the first error.
func (x *Coder) Err() error { return x.err }

// Failf records an error, unless there is one already.
func (x *Coder) Failf(format string, args ...any) {
	if x.err == nil {
		x.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
	}
}

// take returns the next n bytes, or nil after an error.
func (x *Coder) take(n int) []byte {
	if x.err != nil {
		return nil
	}
	if n > len(x.buf)-x.pos {
		x.Failf("%d bytes wanted at offset %d, %d left", n, x.pos, len(x.buf)-x.pos)
		return nil
	}
	b := x.buf[x.pos : x.pos+n]
	x.pos += n
	return b
}

// Uint32 is an unsigned int.
func (x *Coder) Uint32(v *uint32) {
	if !x.decode {
		x.buf = binary.BigEndian.AppendUint32(x.buf, *v)
	} else if b := x.take(4); b != nil {
		*v = binary.BigEndian.Uint32(b)
	}
}

// Int32 is an int, and every smaller type of C.
func (x *Coder) Int32(v *int32) {
	u := uint32(*v)
	x.Uint32(&u)
	if x.decode {
		*v = int32(u)
	}
}

// Uint64 is an unsigned hyper.
func (x *Coder) Uint64(v *uint64) {
	if !x.decode {
		x.buf = binary.BigEndian.AppendUint64(x.buf, *v)
	} else if b := x.take(8); b != nil {
		*v = binary.BigEndian.Uint64(b)
	}
}

// Int64 is a hyper.
func (x *Coder) Int64(v *int64) {
	u := uint64(*v)
	x.Uint64(&u)
	if x.decode {
		*v = int64(u)
	}
}

// Double is a floating-point number.
func (x *Coder) Double(v *float64) {
	u := math.Float64bits(*v)
	x.Uint64(&u)
	if x.decode {
		*v = math.Float64frombits(u)
	}
}

// Bool is an int: 0 is false and 1 is true. Every other value is read as true; go-libvirt writes 0x01000000 before an
// optional value that is present.
func (x *Coder) Bool(v *bool) {
	var u uint32
	if *v {
		u = 1
	}
	x.Uint32(&u)
	if x.decode {
		*v = u != 0
	}
}

// Fixed is opaque data of a fixed length: len(b).
func (x *Coder) Fixed(b []byte) {
	if !x.decode {
		x.buf = append(x.buf, b...)
		x.pad(len(b))
		return
	}
	copy(b, x.take(len(b)))
	x.skipPad(len(b))
}

// String is a string of up to MaxString bytes. Zero bytes at its end are dropped: a client may count the terminator of a C
// string.
func (x *Coder) String(s *string) {
	n := x.length(len(*s), MaxString)
	if !x.decode {
		if x.err == nil {
			x.buf = append(x.buf, *s...)
			x.pad(n)
		}
		return
	}
	*s = string(bytes.TrimRight(x.take(n), "\x00"))
	x.skipPad(n)
}

// Opaque is data of up to max bytes.
func (x *Coder) Opaque(b *[]byte, max int) {
	n := x.length(len(*b), max)
	if !x.decode {
		if x.err == nil {
			x.buf = append(x.buf, *b...)
			x.pad(n)
		}
		return
	}
	*b = append([]byte(nil), x.take(n)...)
	x.skipPad(n)
}

// CString is a C character array of fixed size: every character travels as an int, of which the lowest byte is read. It ends
// at the first zero; the last character is the terminator, whatever it is.
func (x *Coder) CString(s *string, size int) {
	if !x.decode && len(*s) >= size {
		x.Failf("%q does not fit into %d characters", *s, size)
		return
	}
	out := make([]byte, 0, len(*s))
	ended := false
	for i := range size {
		var c int32
		if !x.decode && i < len(*s) {
			c = int32(int8((*s)[i]))
		}
		x.Int32(&c)
		ended = ended || byte(c) == 0 || i == size-1
		if x.decode && !ended {
			out = append(out, byte(c))
		}
	}
	if x.decode {
		*s = string(out)
	}
}

// length codes how many elements follow.
func (x *Coder) length(n, max int) int {
	if !x.decode && n > max {
		x.Failf("length %d is over the limit of %d", n, max)
		return 0
	}
	u := uint32(n)
	x.Uint32(&u)
	if x.err != nil {
		return 0
	}
	if int64(u) > int64(max) {
		x.Failf("length %d is over the limit of %d", u, max)
		return 0
	}
	return int(u)
}

func (x *Coder) pad(n int) {
	for ; n%4 != 0; n++ {
		x.buf = append(x.buf, 0)
	}
}

func (x *Coder) skipPad(n int) {
	if r := n % 4; r != 0 {
		x.take(4 - r) // RFC 4506 says zero; libvirt's decoder does not look either
	}
}
