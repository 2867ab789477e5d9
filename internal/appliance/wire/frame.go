package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// MaxFrame bounds the JSON of one frame, in bytes.
const MaxFrame = 1 << 20

const (
	headerSize = 4
	resetByte  = 0xff
	// A frame that was cut within its header can swallow three bytes of a reset as the rest of that header; what is left
	// must still be recognisable.
	resetSize = 8
	// Payloads are read in pieces of this size, so that a header alone allocates little.
	pieceSize = 16 << 10
)

var (
	// ErrReset is returned by Decoder.Next when the other side started afresh. The decoder is then at a frame boundary.
	ErrReset = errors.New("the other side reset the channel")
	// ErrTooLong is returned for a frame beyond MaxFrame. The decoder is lost until a reset arrives.
	ErrTooLong = errors.New("frame is too long")
)

// Encode returns payload as a frame.
func Encode(payload []byte) ([]byte, error) {
	if len(payload) > MaxFrame {
		return nil, fmt.Errorf("encode frame of %d bytes: %w (at most %d)", len(payload), ErrTooLong, MaxFrame)
	}
	if bytes.IndexByte(payload, resetByte) >= 0 {
		return nil, errors.New("encode frame: byte 0xff is not JSON")
	}
	frame := make([]byte, headerSize, headerSize+len(payload))
	binary.BigEndian.PutUint32(frame, uint32(len(payload)))
	return append(frame, payload...), nil
}

// Reset returns the bytes that make the other side drop half a frame.
func Reset() []byte { return bytes.Repeat([]byte{resetByte}, resetSize) }

// Decoder takes frames out of a byte stream.
type Decoder struct {
	r    *bufio.Reader
	lost bool
}

// NewDecoder returns a Decoder that reads from r.
func NewDecoder(r io.Reader) *Decoder { return &Decoder{r: bufio.NewReaderSize(r, pieceSize)} }

// Next returns the payload of the next frame. It fails with ErrReset at a reset, with ErrTooLong at a length beyond
// MaxFrame, with io.EOF between frames, with io.ErrUnexpectedEOF within one, and with what the reader failed with.
// After ErrTooLong, Next skips to the next reset.
func (d *Decoder) Next() ([]byte, error) {
	if d.lost {
		return nil, d.hunt()
	}
	var header [headerSize]byte
	first, err := d.r.ReadByte()
	if err != nil {
		return nil, err
	}
	if first == resetByte {
		return nil, d.skipReset()
	}
	header[0] = first
	if _, err := io.ReadFull(d.r, header[1:]); err != nil {
		return nil, unexpected(err)
	}
	size := binary.BigEndian.Uint32(header[:])
	if size > MaxFrame {
		d.lost = true
		return nil, fmt.Errorf("frame of %d bytes announced: %w (at most %d)", size, ErrTooLong, MaxFrame)
	}
	return d.payload(int(size))
}

func (d *Decoder) payload(size int) ([]byte, error) {
	var payload []byte
	for len(payload) < size {
		piece, err := d.r.Peek(min(size-len(payload), d.r.Buffered()))
		if len(piece) == 0 && err == nil {
			piece, err = d.r.Peek(1)
		}
		if i := bytes.IndexByte(piece, resetByte); i >= 0 {
			_, _ = d.r.Discard(i)
			return nil, d.skipReset()
		}
		payload = append(payload, piece...)
		_, _ = d.r.Discard(len(piece))
		if err != nil {
			return nil, unexpected(err)
		}
	}
	return payload, nil
}

// skipReset drops the bytes of a reset that have arrived. Those that have not are dropped by the next call of Next,
// which reports one more reset; a reset more or less changes nothing.
func (d *Decoder) skipReset() error {
	for d.r.Buffered() > 0 {
		b, _ := d.r.ReadByte()
		if b != resetByte {
			_ = d.r.UnreadByte()
			break
		}
	}
	return ErrReset
}

func (d *Decoder) hunt() error {
	for {
		b, err := d.r.ReadByte()
		if err != nil {
			return err
		}
		if b == resetByte {
			d.lost = false
			return d.skipReset()
		}
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
