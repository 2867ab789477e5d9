package proto

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// PortName is the virtio-serial port on which an appliance answers.
const PortName = "org.taproom.appliance.0"

// Version is that of the protocol. Both sides must have the same.
const Version = 2

const (
	mark = 0x7a
	// HeaderSize is the length of a frame's header, in bytes.
	HeaderSize = 12
	// MaxPayload bounds what follows a header, in bytes.
	MaxPayload = 128 << 10
	// MaxData bounds the payload of one data frame, in bytes: what the prototype's figures are best at.
	MaxData = 64 << 10
	// Window is how many bytes of a stream may be on their way before they are asked for.
	Window = 256 << 10
	// MaxInFlight is how many requests may wait for their end at a time.
	MaxInFlight = 64
)

// Kind says what a frame is.
type Kind uint8

// The kinds of frames. Request and Cancel come from the host alone; Answer, Failure and Progress from the guest.
const (
	KindRequest  Kind = iota + 1 // Sub is the operation
	KindAnswer                   // the request is done
	KindFailure                  // the request failed, was cancelled, or was not understood
	KindData                     // Sub is the stream; no payload: the stream has ended
	KindCredit                   // Sub is the stream; so many more bytes may be sent
	KindCancel                   // nobody waits for the request any more
	KindProgress                 // how far the request is
	kindEnd
)

var (
	// ErrVersion says that the other side speaks another version of the protocol.
	ErrVersion = errors.New("another version of the protocol")
	// ErrFrame says that what came is no frame.
	ErrFrame = errors.New("not a frame of this protocol")
)

// Frame is one message.
type Frame struct {
	Kind    Kind
	Sub     uint8 // the operation of a request, or the stream of data
	ID      uint32
	Payload []byte
}

// Append appends the frame's bytes to b. The payload must not exceed MaxPayload.
func (f Frame) Append(b []byte) []byte {
	b = append(b, mark, Version, byte(f.Kind), f.Sub)
	b = binary.LittleEndian.AppendUint32(b, f.ID)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.Payload)))
	return append(b, f.Payload...)
}

// FrameReader takes frames out of a byte stream.
type FrameReader struct {
	r   *bufio.Reader
	buf []byte
}

// NewFrameReader returns a FrameReader on r.
func NewFrameReader(r io.Reader) *FrameReader {
	return &FrameReader{r: bufio.NewReaderSize(r, MaxData+HeaderSize)}
}

// Next returns the next frame. Its payload is good until Next is called again. The error is io.EOF between frames and
// io.ErrUnexpectedEOF within one; after ErrFrame and ErrVersion the stream is lost.
func (r *FrameReader) Next() (Frame, error) {
	var h [HeaderSize]byte
	if _, err := io.ReadFull(r.r, h[:]); err != nil {
		return Frame{}, err
	}
	f := Frame{Kind: Kind(h[2]), Sub: h[3], ID: binary.LittleEndian.Uint32(h[4:])}
	size := binary.LittleEndian.Uint32(h[8:])
	switch {
	case h[0] != mark:
		return Frame{}, fmt.Errorf("header % x: %w", h, ErrFrame)
	case h[1] != Version:
		return Frame{ID: f.ID}, fmt.Errorf("the other side speaks version %d, this one %d: %w", h[1], Version, ErrVersion)
	case f.Kind == 0 || f.Kind >= kindEnd:
		return Frame{}, fmt.Errorf("kind %d: %w", f.Kind, ErrFrame)
	case size > MaxPayload:
		return Frame{}, fmt.Errorf("payload of %d bytes announced, at most %d: %w", size, MaxPayload, ErrFrame)
	}
	if uint32(cap(r.buf)) < size {
		r.buf = make([]byte, max(size, 4<<10))
	}
	f.Payload = r.buf[:size]
	if _, err := io.ReadFull(r.r, f.Payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	return f, nil
}
