package saveimage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The two magics, as long as each other.
const (
	magicWhole   = "LibvirtQemudSave"
	magicPartial = "LibvirtQemudPart"
)

const (
	version    = 2
	headerSize = 16 + 5*4 + 14*4
	// room is what is left behind a new document, so that an edited one may be longer. libvirt leaves as much.
	room = 64 << 10
	// MaxData bounds the document and the cookie: a document that can be defined has at most 16 MiB.
	MaxData = 32 << 20
)

// ErrNotAnImage is a file that begins as no saved image does.
var ErrNotAnImage = errors.New("is not a saved image of a guest")

// ErrIncomplete is an image whose making was interrupted.
var ErrIncomplete = errors.New("is incomplete: saving it was interrupted")

// DamagedError is an image that contradicts itself, or that ends too early.
type DamagedError struct{ Reason string }

// Error implements error.
func (e *DamagedError) Error() string { return "is damaged: " + e.Reason }

// UnsupportedError is an image of a kind that is known and cannot be read.
type UnsupportedError struct{ Reason string }

// Error implements error.
func (e *UnsupportedError) Error() string { return "cannot be read: " + e.Reason }

func damaged(format string, args ...any) error {
	return &DamagedError{Reason: fmt.Sprintf(format, args...)}
}

// Header is what an image says of the guest.
type Header struct {
	XML     []byte // the domain's document
	Cookie  []byte // libvirt's, kept as it is; nil when there is none
	Running bool   // the guest is to run when it is restored
	Format  Format // of the stream behind it
	// Data is how many bytes document and cookie may take; 0 for a new image.
	Data uint32
	// order is the byte order of the host that made it; nil is this host's.
	order binary.ByteOrder
}

// Size is the number of bytes before the stream.
func (h *Header) Size() int64 { return headerSize + int64(h.data()) }

func (h *Header) data() uint32 {
	if h.Data != 0 {
		return h.Data
	}
	return uint32(h.used()) + room
}

// used is what document and cookie take, each with its NUL.
func (h *Header) used() int {
	n := len(h.XML) + 1
	if h.Cookie != nil {
		n += len(h.Cookie) + 1
	}
	return n
}

// Bytes is the header as it stands in a file; whole says whether the stream behind it is complete. A document that does
// not fit is refused.
func (h *Header) Bytes(whole bool) ([]byte, error) {
	data := h.data()
	if h.used() > MaxData || h.Data != 0 && h.used() > int(h.Data) {
		return nil, fmt.Errorf("the document is too long for the image: it and what belongs to it take %d bytes, and there is room for %d", h.used(), min(int(data), MaxData))
	}
	order := h.order
	if order == nil {
		order = binary.NativeEndian
	}
	b := make([]byte, headerSize+int(data))
	copy(b, Magic(whole))
	put := func(i int, v uint32) { order.PutUint32(b[16+4*i:], v) }
	put(0, version)
	put(1, data)
	if h.Running {
		put(2, 1)
	}
	put(3, uint32(h.Format))
	n := headerSize + copy(b[headerSize:], h.XML) + 1
	if h.Cookie != nil {
		put(4, uint32(n-headerSize))
		copy(b[n:], h.Cookie)
	}
	return b, nil
}

// Magic is what a file begins with: written last, at its beginning, it makes an image whole.
func Magic(whole bool) []byte {
	if whole {
		return []byte(magicWhole)
	}
	return []byte(magicPartial)
}

// Read reads the header of a whole image and leaves r at the beginning of the stream.
func Read(r io.Reader) (*Header, error) {
	b := make([]byte, headerSize)
	n, err := io.ReadFull(r, b)
	switch {
	case err != nil && !short(err):
		return nil, err
	case n >= len(magicPartial) && string(b[:len(magicPartial)]) == magicPartial:
		return nil, ErrIncomplete
	case n < len(magicWhole) || string(b[:len(magicWhole)]) != magicWhole:
		return nil, ErrNotAnImage
	case n < headerSize:
		return nil, damaged("it ends after %d bytes, within the header", n)
	}
	order := byteOrder(b)
	if order == nil {
		return nil, &UnsupportedError{Reason: fmt.Sprintf("its version is %d, and %d is the newest that is known", binary.NativeEndian.Uint32(b[16:]), version)}
	}
	number := func(i int) uint32 { return order.Uint32(b[16+4*i:]) }
	h := &Header{Data: number(1), Running: number(2) != 0, Format: Format(number(3)), order: order}
	if number(0) < version { // before there was compression
		h.Format = Raw
	}
	if !h.Format.known() {
		return nil, &UnsupportedError{Reason: fmt.Sprintf("its stream is in format %d, which is not known", number(3))}
	}
	return h, h.readData(r, number(4))
}

// byteOrder is the one in which a header has a version that can be.
func byteOrder(b []byte) binary.ByteOrder {
	for _, o := range []binary.ByteOrder{binary.NativeEndian, binary.LittleEndian, binary.BigEndian} {
		if o.Uint32(b[16:]) <= version {
			return o
		}
	}
	return nil
}

// readData reads document and cookie. Memory grows with what is there, not with what is announced.
func (h *Header) readData(r io.Reader, cookie uint32) error {
	switch {
	case h.Data == 0 || h.Data > MaxData:
		return damaged("the header says that the document takes %d bytes", h.Data)
	case cookie > h.Data:
		return damaged("the header says that the cookie begins at %d of %d bytes", cookie, h.Data)
	}
	var b bytes.Buffer
	n, err := io.CopyN(&b, r, int64(h.Data))
	if short(err) {
		return damaged("it ends after %d bytes, within the document", headerSize+n)
	}
	if err != nil {
		return err
	}
	xml := b.Bytes()
	if cookie != 0 {
		rest := xml[cookie:]
		xml = xml[:cookie]
		end := bytes.IndexByte(rest, 0)
		if end < 0 {
			return damaged("the cookie has no end")
		}
		h.Cookie = rest[:end:end]
	}
	end := bytes.IndexByte(xml, 0)
	if end < 0 {
		return damaged("the document has no end")
	}
	h.XML = xml[:end:end]
	return nil
}

func short(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
