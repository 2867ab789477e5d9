package chain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/image/qcow2"
)

// Formats that are opened. QEMU knows more; each is code that a stranger's bytes reach.
const (
	Raw   = "raw"
	QCOW2 = "qcow2"
)

// mostLayers bounds how long a chain is, and with it what is read of one that was made to keep us busy.
const mostLayers = 64

// Image is what a caller wants opened.
type Image struct {
	Path   string
	Format string // "raw" or "qcow2"; "": looked for, which only an image that is not written to allows
	Write  bool
	// Within names the files and folders that the image may lead to: backing files, and files that hold an image's data.
	// None: it must stand alone.
	Within []string
	// Copy is opened instead of Path, of which it is a copy: the path of a file that may have no name in any folder. What the image leads to is found
	// from Path. "": Path is opened.
	Copy string
}

// Layer is one open image of a chain.
type Layer struct {
	Path     string // as it was found, without links
	Format   string
	Device   bool     // a block device
	Size     int64    // of the file, bytes
	Capacity uint64   // what a guest sees, bytes
	File     *os.File // for reading
	Writable *os.File // for reading and writing; nil below the first layer and where nothing is written
	Data     *os.File // holds what the layer holds, for reading; nil where that is the layer's own file
	DataSize int64
	// DataDevice says that Data is a block device.
	DataDevice bool
	// DataWritable is Data for reading and writing.
	DataWritable *os.File
}

// Chain is an image and what lies below it, the image first. Close it.
type Chain []Layer

// Close closes all files.
func (c Chain) Close() error {
	var errs []error
	for _, l := range c {
		for _, f := range []*os.File{l.File, l.Writable, l.Data, l.DataWritable} {
			if f != nil {
				errs = append(errs, f.Close())
			}
		}
	}
	return errors.Join(errs...)
}

// Stat returns the state of all files of the chain, the image's own first.
func (c Chain) Stat() ([]os.FileInfo, error) {
	var out []os.FileInfo
	for _, l := range c {
		for _, f := range []*os.File{l.File, l.Data} {
			if f == nil {
				continue
			}
			info, err := f.Stat()
			if err != nil {
				return nil, err
			}
			out = append(out, info)
		}
	}
	return out, nil
}

// Error says why an image was not opened, with the way that led there.
type Error struct {
	Chain []string // the image, what it names, …; the last is what was refused
	Err   error
}

// Error shows the whole chain: an image that leads to somebody else's file is news to who named it.
func (e *Error) Error() string {
	return fmt.Sprintf("image %s: %v", strings.Join(e.Chain, " → "), e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Reasons to refuse an image.
var (
	// ErrOutside means that an image leads to a file that the caller did not name.
	ErrOutside = errors.New("leads outside of what was named")
	// ErrFormat means that an image's format was not said and must be, or is not what was said.
	ErrFormat = errors.New("wrong or unknown format")
	// ErrCorrupt means that an image is cut off or damaged.
	ErrCorrupt = errors.New("the image is broken")
)

// Open opens an image and all below it. An error is an *Error, or says that ctx is done: a large chain takes seconds to look at.
func Open(ctx context.Context, k *host.Kernel, i Image) (Chain, error) {
	o := opening{ctx: ctx, k: k, within: i.Within, copied: i.Copy}
	path, format := i.Path, i.Format
	for {
		o.names = append(o.names, path)
		below, err := o.layer(path, format, i.Write && len(o.chain) == 0)
		if err == nil && below.path != "" && len(o.chain) == mostLayers {
			err = fmt.Errorf("%w: more than %d images, one below the other", ErrCorrupt, mostLayers)
		}
		if ctx.Err() != nil {
			return nil, errors.Join(fmt.Errorf("look at image %s: %w", i.Path, context.Cause(ctx)), o.chain.Close())
		}
		if err != nil {
			return nil, errors.Join(&Error{Chain: o.names, Err: err}, o.chain.Close())
		}
		if below.path == "" {
			return o.chain, nil
		}
		path, format = below.path, below.format
	}
}

// opening is a chain as far as it is open.
type opening struct {
	ctx    context.Context
	k      *host.Kernel
	within []string
	copied string // opened instead of the first image
	names  []string
	chain  Chain
	seen   []os.FileInfo // of all files of the chain
}

// patient reads for as long as somebody waits for it.
type patient struct {
	ctx context.Context
	r   io.ReaderAt
}

// ReadAt is io.ReaderAt's.
func (p patient) ReadAt(b []byte, at int64) (int, error) {
	if err := context.Cause(p.ctx); err != nil {
		return 0, err
	}
	return p.r.ReadAt(b, at)
}

// reference is what an image says of the one below it.
type reference struct{ path, format string }

// layer opens one more image and returns what it says is below.
func (o *opening) layer(path, format string, write bool) (below reference, err error) {
	l, err := o.open(path, write, len(o.chain) > 0)
	if err != nil {
		return below, err
	}
	o.chain = append(o.chain, l)
	here := &o.chain[len(o.chain)-1]
	if here.Format, err = decide(here.File, format, write); err != nil {
		return below, err
	}
	if here.Size == 0 && here.Format == Raw {
		return below, fmt.Errorf("%w: the file is empty", ErrCorrupt)
	}
	if here.Format == Raw {
		here.Capacity = uint64(here.Size)
		return below, nil
	}
	h, err := qcow2.Read(here.File)
	if err != nil {
		return below, fmt.Errorf("%w: %w; it was said to be qcow2", ErrFormat, err)
	}
	here.Capacity = h.Capacity
	if h.Corrupt {
		return below, fmt.Errorf("%w: QEMU has marked it so: qemu-img check -r all %s", ErrCorrupt, path)
	}
	if err := qcow2.Check(patient{o.ctx, here.File}, here.Size); err != nil {
		return below, fmt.Errorf("%w: %w; take another copy, or see what qemu-img check says", ErrCorrupt, err)
	}
	if h.External {
		if err := o.data(here, h.DataFile, write); err != nil {
			return below, err
		}
	}
	if h.Backing == "" {
		return below, nil
	}
	below.path, err = beside(here.Path, h.Backing)
	below.format = h.BackingFormat
	if err != nil {
		o.names = append(o.names, h.Backing)
	}
	return below, err
}

// data opens the file that holds an image's data.
func (o *opening) data(l *Layer, name string, write bool) error {
	o.names = append(o.names, name)
	if name == "" {
		return fmt.Errorf("%w: its data is in another file, and it does not say in which", ErrCorrupt)
	}
	path, err := beside(l.Path, name)
	if err != nil {
		return err
	}
	d, err := o.open(path, write, true)
	if err != nil {
		return err
	}
	l.Data, l.DataSize, l.DataDevice, l.DataWritable = d.File, d.Size, d.Device, d.Writable
	o.names = o.names[:len(o.names)-1]
	return nil
}

// beside is the path of a file that an image names. QEMU would also take addresses of servers, and descriptions in JSON.
func beside(image, name string) (string, error) {
	colon, slash := strings.IndexByte(name, ':'), strings.IndexByte(name, '/')
	if colon >= 0 && (slash < 0 || colon < slash) {
		protocol := name[:colon]
		if protocol != "file" {
			return "", fmt.Errorf("%w: only files are followed, nothing by %s:", ErrOutside, protocol)
		}
		name = name[colon+1:]
	}
	if strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("%w: no file has such a name", ErrOutside)
	}
	if filepath.IsAbs(name) {
		return name, nil
	}
	return filepath.Join(filepath.Dir(image), name), nil
}

// open opens a file or block device, and where it was named by an image checks that the caller allows it: the file that is
// open, whatever its path becomes. Nothing else is opened, not even to be looked at: of a terminal, a watchdog or a tape that
// would do something, and a stranger's image can name any.
func (o *opening) open(path string, write, named bool) (Layer, error) {
	if named && len(o.within) == 0 {
		return Layer{}, fmt.Errorf("%w: no file beside the image was named; name it, or a folder that holds it, where you trust it", ErrOutside)
	}
	at, err := o.k.OpenFile(path, unix.O_PATH, 0)
	if err != nil {
		return Layer{}, err
	}
	defer func() { _ = at.Close() }()
	var l Layer
	if l.Path, err = o.k.PathOf(at); err == nil && named {
		err = o.allowed(l.Path)
	}
	if err == nil && o.copied != "" && !named {
		_ = at.Close()
		if at, err = o.k.OpenFile(o.copied, unix.O_PATH, 0); err != nil {
			return Layer{}, err
		}
	}
	if err == nil {
		l.Device, err = o.isDisk(at)
	}
	if err != nil {
		return Layer{}, err
	}
	// Without waiting for the medium of a drive.
	if l.File, err = o.k.Reopen(at, os.O_RDONLY|unix.O_NONBLOCK); err != nil {
		return Layer{}, err
	}
	l.Size, err = l.File.Seek(0, io.SeekEnd)
	if err == nil && write {
		l.Writable, err = o.k.Reopen(l.File, os.O_RDWR)
		if errors.Is(err, os.ErrPermission) {
			err = fmt.Errorf("it may not be written to: %w; open it read-only, or with changes that are thrown away", err)
		}
	}
	if err != nil {
		return Layer{}, errors.Join(err, l.File.Close())
	}
	return l, nil
}

// allowed checks that a path is one of those that the caller named, or below one.
func (o *opening) allowed(path string) error {
	var missing []error
	for _, w := range o.within {
		real, err := filepath.EvalSymlinks(w)
		if err == nil {
			real, err = filepath.Abs(real)
		}
		if err != nil {
			missing = append(missing, fmt.Errorf("find what an image may lead to: %w", err))
			continue
		}
		rel, err := filepath.Rel(real, path)
		if err == nil && filepath.IsLocal(rel) {
			return nil
		}
	}
	err := fmt.Errorf("%w: that is %s, and only %s may be followed", ErrOutside, path, strings.Join(o.within, ", "))
	return errors.Join(append([]error{err}, missing...)...)
}

// isDisk reports whether a file that is only found yet is a block device. What is neither that nor a file is refused, and what the
// chain has already: it would go round in a circle.
func (o *opening) isDisk(at *os.File) (device bool, err error) {
	st, err := at.Stat()
	if err != nil {
		return false, err
	}
	device = st.Mode().Type() == os.ModeDevice
	if !device && !st.Mode().IsRegular() {
		return false, fmt.Errorf("%w: it is neither a file nor a block device", ErrFormat)
	}
	for _, other := range o.seen {
		if os.SameFile(st, other) {
			return false, fmt.Errorf("%w: it leads back to itself", ErrCorrupt)
		}
	}
	o.seen = append(o.seen, st)
	return device, nil
}
