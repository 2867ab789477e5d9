package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/guest/saveimage"
	"taproom/internal/host"
)

// imageFile is a file that a guest's state is written to. It has a name of its own until it is whole, unless it is a
// device, which is written in place.
type imageFile struct {
	k      *host.Kernel
	f      *os.File
	path   string
	temp   string // "" when it is written in place
	bypass bool
	magic  bool // begins with a magic that says whether it is whole
}

// rawFormat is that of images when nobody says otherwise.
const rawFormat = "raw"

// CheckImageFormat says what is wrong with the name of a format of images; nil when they can be made in it.
func CheckImageFormat(name string) error {
	_, err := saveimage.ParseFormat(name)
	return err
}

// tempName is where an image is written until it is whole. One guest is saved once at a time.
func tempName(path, owner string) string {
	return filepath.Join(filepath.Dir(path), ".taproom-saving-"+owner)
}

// inPlace says whether what is at a path cannot be replaced by another file: a device.
func inPlace(path string) (bool, error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case st.Mode().IsRegular():
		return false, nil
	case st.Mode()&os.ModeDevice != 0 && st.Mode()&os.ModeCharDevice == 0:
		return true, nil
	}
	return false, &os.PathError{Op: "write", Path: path, Err: errOddFile}
}

// createImage opens the file that an image is written to.
func (e *Engine) createImage(s saving, bypass, magic bool) (*imageFile, error) {
	i := &imageFile{k: e.k, path: s.Path, temp: s.Temp, bypass: bypass, magic: magic}
	name, flags := s.Path, os.O_RDWR
	if s.Temp != "" {
		// Its name can be guessed, and the folder may be everybody's: what lies there is neither followed nor kept.
		if err := e.k.Remove(s.Temp); err != nil {
			return nil, err
		}
		name, flags = s.Temp, os.O_RDWR|os.O_CREATE|os.O_EXCL
	}
	var err error
	i.f, err = e.k.OpenFile(name, flags, 0o600)
	return i, err
}

// complete has the image under its name, on the disk.
func (i *imageFile) complete() error {
	if i.magic {
		if err := i.k.WriteAt(i.f, saveimage.Magic(true), 0); err != nil {
			return err
		}
	}
	return i.k.Sync(i.f)
}

// identify notes which file a whole image is.
func (s *saving) identify(k *host.Kernel, i *imageFile) error {
	if s.Temp == "" {
		return nil
	}
	id, err := k.IdentifyFile(i.f)
	s.File = &id
	return err
}

// errImageGone is an image that somebody took away, or put something in the place of, before it got its name.
var errImageGone = errors.New("what was written there is gone: somebody else removed or replaced it; write to a folder that is the daemon's alone")

// publishImage gives a whole image its name. It may be called again.
func publishImage(k *host.Kernel, s saving) error {
	if s.Temp == "" {
		return nil
	}
	if err := k.Rename(s.Temp, s.Path); err != nil && !errors.Is(err, fs.ErrNotExist) { // it has its name already, or is gone
		return err
	}
	if s.File != nil { // a record of an older daemon does not say
		is, err := k.FileIs(s.Path, *s.File)
		if err != nil {
			return err
		}
		if !is {
			return errImageGone
		}
	}
	return k.SyncDir(filepath.Dir(s.Path))
}

// transfer is a stream under way between a pipe and a file. It ends with the pipe.
type transfer struct {
	pipe  *os.File
	bytes atomic.Int64 // that went through the pipe
	done  chan struct{}
	err   error
}

// copyStream is how much of a stream is moved at a time.
const copyStream = 1 << 20

// store writes what comes out of a pipe to an image in the given format. The transfer closes the pipe.
func (e *Engine) store(pipe *os.File, to *imageFile, at int64, f saveimage.Format) *transfer {
	t := &transfer{pipe: pipe, done: make(chan struct{})}
	e.work.Go(func() {
		defer close(t.done)
		defer pipe.Close()
		bulk := to.k.Bulk(to.f, at, to.bypass)
		w, err := saveimage.NewWriter(bulk, f)
		if err == nil {
			_, err = io.CopyBuffer(struct{ io.Writer }{w}, t.counted(pipe), make([]byte, copyStream))
		}
		if err == nil {
			err = errors.Join(w.Close(), bulk.Flush())
		}
		t.err = err
	})
	return t
}

// feed writes the stream of an image into a pipe. The transfer closes pipe and image.
func (e *Engine) feed(s *savedImage, pipe *os.File) *transfer {
	t := &transfer{pipe: pipe, done: make(chan struct{})}
	e.work.Go(func() {
		defer close(t.done)
		defer pipe.Close()
		defer s.close()
		r, err := saveimage.NewReader(e.k.Bulk(s.file, s.header.Size(), s.bypass), s.header.Format)
		if err == nil {
			_, err = io.CopyBuffer(struct{ io.Writer }{pipe}, t.counted(r), make([]byte, copyStream))
			if errors.Is(err, unix.EPIPE) { // QEMU has all it wants: what is left has checksums
				_, err = io.Copy(io.Discard, r)
			}
			if cerr := r.Close(); err == nil {
				err = cerr
			}
		}
		t.err = err
	})
	return t
}

// counted is a reader whose bytes are counted.
func (t *transfer) counted(r io.Reader) io.Reader { return &counter{r, &t.bytes} }

type counter struct {
	io.Reader
	n *atomic.Int64
}

// Read implements io.Reader.
func (c *counter) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// end waits for the end of the stream; when ctx ends before, the stream is cut off.
func (t *transfer) end(ctx context.Context) error {
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		t.cut()
		return context.Cause(ctx)
	}
}

// cut ends the stream from our side. A disk that hangs keeps it until the disk answers.
func (t *transfer) cut() { _ = t.pipe.SetDeadline(time.Unix(1, 0)) }

// fileError says of an error of a file what can be done about it; the name of the temporary file is nobody's business.
func fileError(path string, err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w%s", path, err, remedy(err))
}
