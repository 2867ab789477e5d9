package saveimage

import (
	"bufio"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// Format is how the stream is kept. The numbers are libvirt's.
type Format uint32

// The formats of libvirt 11.3.
const (
	Raw Format = iota
	Gzip
	Bzip2
	XZ
	LZOP
	Zstd
	Sparse
)

var names = [...]string{"raw", "gzip", "bzip2", "xz", "lzop", "zstd", "sparse"}

// String is the name in libvirt's settings.
func (f Format) String() string {
	if f.known() {
		return names[f]
	}
	return fmt.Sprintf("format %d", uint32(f))
}

func (f Format) known() bool { return int64(f) < int64(len(names)) }

// written are those that NewWriter can make.
func written() []Format { return []Format{Raw, Gzip, XZ, Zstd} }

// ParseFormat reads the name of a format that images can be made in.
func ParseFormat(name string) (Format, error) {
	if i := slices.Index(names[:], name); i >= 0 && slices.Contains(written(), Format(i)) {
		return Format(i), nil
	}
	var can []string
	for _, f := range written() {
		can = append(can, f.String())
	}
	return 0, fmt.Errorf("images cannot be made in the format '%s'; there are %s", name, strings.Join(can, ", "))
}

// buffer is how much of a stream is handed on at once.
const buffer = 1 << 20

// NewWriter returns what turns a stream into one of the format. Close ends the stream, and does not close w.
func NewWriter(w io.Writer, f Format) (io.WriteCloser, error) {
	switch f {
	case Raw:
		return nopCloser{w}, nil
	case Gzip:
		return gzip.NewWriterLevel(w, gzip.BestSpeed)
	case XZ:
		return xz.NewWriter(w)
	case Zstd:
		return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest))
	}
	return nil, &UnsupportedError{Reason: fmt.Sprintf("streams cannot be made in the format %s", f)}
}

// NewReader returns the stream behind a header. What it says of a stream that ends too early or does not fit its own
// checksums is a DamagedError; a raw stream has none, and QEMU says so.
func NewReader(r io.Reader, f Format) (io.ReadCloser, error) {
	r = bufio.NewReaderSize(r, buffer)
	switch f {
	case Raw:
		return io.NopCloser(r), nil
	case Gzip:
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, beginError(f, err)
		}
		return &checked{ReadCloser: z, format: f}, nil
	case Bzip2:
		return &checked{ReadCloser: io.NopCloser(bzip2.NewReader(r)), format: f}, nil
	case XZ:
		z, err := xz.NewReader(newBoundedXZ(r))
		if err != nil {
			return nil, beginError(f, err)
		}
		return &checked{ReadCloser: io.NopCloser(z), format: f}, nil
	case Zstd:
		z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(2*mostWindow))
		if err != nil {
			return nil, beginError(f, err)
		}
		return &checked{ReadCloser: z.IOReadCloser(), format: f}, nil
	}
	return nil, &UnsupportedError{Reason: fmt.Sprintf("its stream is in the format %s, which is not implemented; restore it with libvirt", f)}
}

// checked gives the errors of a decoder their kind.
type checked struct {
	io.ReadCloser
	format Format
	some   bool // bytes have come out of it
}

// Read implements io.Reader.
func (c *checked) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.some = c.some || n > 0
	if !c.some {
		return n, beginError(c.format, err)
	}
	return n, streamError(c.format, err)
}

// streamError sorts what a decoder says: the end of the stream, an error of the file below, or damage.
func streamError(f Format, err error) error {
	var path interface{ Timeout() bool } // errors of files and descriptors
	if no := (*UnsupportedError)(nil); err == nil || errors.Is(err, io.EOF) || errors.As(err, &path) || errors.As(err, &no) {
		return err
	}
	return damaged("its %s stream: %v", f, err)
}

// beginError is streamError for the beginning of a stream: an end there is too early.
func beginError(f Format, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return streamError(f, err)
}

type nopCloser struct{ io.Writer }

// Close implements io.Closer.
func (nopCloser) Close() error { return nil }
