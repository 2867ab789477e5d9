package saveimage

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
)

// mostWindow is how much of what came out of a stream its decoder may have to keep, in bytes: what `xz -9` asks for. An image
// may come from a stranger, and says by itself how much that is.
const mostWindow = 64 << 20

// boundedXZ passes an xz stream on piece by piece, and looks at the head of each block before the decoder does, which takes
// as much memory as that says. What is no xz at all is the decoder's to refuse.
type boundedXZ struct {
	r     *bufio.Reader
	left  int64        // bytes of the piece that is being passed on
	next  func() error // looks at the next piece
	check int64        // bytes of a block's checksum
	size  int64        // bytes of the block's data, or of the index, so far
	count uint64       // numbers of the index that are left
}

func newBoundedXZ(r io.Reader) *boundedXZ {
	b := &boundedXZ{r: bufio.NewReaderSize(r, buffer)}
	b.next = b.stream
	return b
}

// Read implements io.Reader.
func (b *boundedXZ) Read(p []byte) (int, error) {
	for b.left == 0 {
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// pass has n bytes passed on, and then looks at the next piece.
func (b *boundedXZ) pass(n int64, next func() error) error {
	b.left, b.next = n, next
	return nil
}

// rest passes on all that is left: what it begins with is wrong, or cut off, and the decoder goes no further.
func (b *boundedXZ) rest() error { return b.pass(math.MaxInt64, b.rest) }

// peek is the next n bytes. Where there are less, the stream is cut off.
func (b *boundedXZ) peek(n int) ([]byte, bool) {
	head, err := b.r.Peek(n)
	return head, err == nil
}

func (b *boundedXZ) stream() error {
	if pad, ok := b.peek(4); ok && binary.BigEndian.Uint32(pad) == 0 {
		return b.pass(4, b.stream)
	}
	const header = 12
	head, ok := b.peek(header)
	if !ok {
		return b.rest()
	}
	sizes := [16]int64{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}
	b.check = sizes[head[7]&0xf]
	return b.pass(header, b.blockOrIndex)
}

func (b *boundedXZ) blockOrIndex() error {
	head, ok := b.peek(1)
	b.size = 0
	switch {
	case !ok:
		return b.rest()
	case head[0] == 0:
		b.size = 1
		return b.pass(1, b.records)
	}
	n := 4 * (int(head[0]) + 1)
	if head, ok = b.peek(n); !ok {
		return b.rest()
	}
	window, ok := windowOf(head)
	switch {
	case !ok:
		return b.rest()
	case window > mostWindow:
		return &UnsupportedError{Reason: "its xz stream takes more than 64 MiB of memory to read; compress it anew, with `xz -9` at the most"}
	}
	return b.pass(int64(n), b.chunk)
}

// windowOf is the size of the dictionary that a block's header names. The decoder knows one kind of filter, alone.
func windowOf(head []byte) (int64, bool) {
	flags, at := head[1], 2
	for _, bit := range []byte{0x40, 0x80} { // a size
		if flags&bit != 0 {
			_, n := binary.Uvarint(head[at:])
			if n <= 0 {
				return 0, false
			}
			at += n
		}
	}
	if flags&3 != 0 || at+3 > len(head) || head[at] != 0x21 || head[at+1] != 1 || head[at+2] > 40 {
		return 0, false
	}
	code := head[at+2]
	return int64(2|code&1) << (code/2 + 11), true
}

// chunk is a piece of LZMA2.
func (b *boundedXZ) chunk() error {
	head, ok := b.peek(1)
	if !ok {
		return b.rest()
	}
	kind := head[0]
	var n int64
	switch {
	case kind == 0:
		b.size++
		return b.pass(1+(4-b.size%4)%4+b.check, b.blockOrIndex)
	case kind <= 2:
		if head, ok = b.peek(3); !ok {
			return b.rest()
		}
		n = 3 + int64(binary.BigEndian.Uint16(head[1:])) + 1
	case kind >= 0x80:
		if head, ok = b.peek(5); !ok {
			return b.rest()
		}
		n = 5 + int64(binary.BigEndian.Uint16(head[3:])) + 1
		if kind >= 0xc0 {
			n++ // properties
		}
	default:
		return b.rest()
	}
	b.size += n
	return b.pass(n, b.chunk)
}

// records are the index's number of blocks, which is followed by two numbers for each.
func (b *boundedXZ) records() error {
	count, n, ok := b.number()
	if !ok || count > math.MaxUint64/2 {
		return b.rest()
	}
	b.count = 2 * count
	return b.pass(n, b.record)
}

func (b *boundedXZ) record() error {
	if b.count == 0 {
		const checksum, footer = 4, 12
		return b.pass((4-b.size%4)%4+checksum+footer, b.stream)
	}
	_, n, ok := b.number()
	if !ok {
		return b.rest()
	}
	b.count--
	return b.pass(n, b.record)
}

// number is the next number of the index, and how many bytes it takes.
func (b *boundedXZ) number() (uint64, int64, bool) {
	for n := 1; n <= 9; n++ {
		head, ok := b.peek(n)
		if !ok {
			return 0, 0, false
		}
		if head[n-1] < 0x80 {
			v, _ := binary.Uvarint(head)
			b.size += int64(n)
			return v, int64(n), true
		}
	}
	return 0, 0, false
}
