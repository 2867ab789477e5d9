package tftp

import (
	"errors"
	"io"
)

// content is a file as it is sent. It remembers nothing: a block that was lost is read again.
type content struct {
	file    io.ReaderAt
	size    int64 // when it was opened; what is appended later is not sent
	ascii   bool
	scratch []byte
}

// position is where a block begins: an offset in the file, and in netascii the half of a pair that the last block had no
// room for.
type position struct {
	offset  int64
	pending byte
	half    bool
}

// errShrunk is a file that has become shorter while it was sent.
var errShrunk = errors.New("the file has changed")

// read fills b as far as the file goes and returns where the next block begins. A block that is not full is the last one.
func (c *content) read(at position, b []byte) (int, position, error) {
	if !c.ascii {
		n, err := c.raw(at.offset, b)
		return n, position{offset: at.offset + int64(n)}, err
	}
	n := 0
	if at.half {
		b[0] = at.pending
		n, at.half = 1, false
	}
	if len(c.scratch) < len(b) {
		c.scratch = make([]byte, len(b))
	}
	got, err := c.raw(at.offset, c.scratch[:len(b)])
	for _, ch := range c.scratch[:got] {
		if n == len(b) {
			break
		}
		at.offset++
		second, pair := byte(0), ch == '\n' || ch == '\r'
		if ch == '\n' { // a line ends with CR LF, and CR alone is CR NUL (RFC 764, the NVT)
			ch, second = '\r', '\n'
		}
		b[n] = ch
		n++
		switch {
		case pair && n == len(b):
			at.pending, at.half = second, true
		case pair:
			b[n] = second
			n++
		}
	}
	return n, at, err
}

func (c *content) raw(offset int64, b []byte) (int, error) {
	want := int(min(int64(len(b)), c.size-offset))
	n, err := c.file.ReadAt(b[:want], offset)
	if n == want {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		err = errShrunk
	}
	return n, err
}
