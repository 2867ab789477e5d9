package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// ErrChanged says that the image is not any more what the copy was made of.
var ErrChanged = errors.New("the image was changed by somebody else meanwhile")

// ErrReplaced says that another image has its name.
var ErrReplaced = host.ErrReplaced

// Copy is a private copy of an image. Close it.
type Copy struct {
	k        *host.Kernel
	own      *host.Kernel // that k is, where the caller has none
	path     string       // of the image, without links
	original *os.File
	made     *os.File
	was      fs.FileInfo
}

// Open makes a copy of a regular file, with its owner, permissions and attributes. k makes the calls to the kernel; nil: one of the copy's own.
// progress is told of bytes; it may be nil.
func Open(ctx context.Context, k *host.Kernel, path string, progress func(done, total int64)) (*Copy, error) {
	c, err := begin(k, path)
	if err != nil {
		return nil, err
	}
	if err = clone(ctx, c.made, c.original, c.was.Size(), progress); err == nil {
		err = c.unchanged()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a private copy of %s: %w", path, err), c.Close())
	}
	return c, nil
}

// begin opens an image and makes an empty file that has its owner, permissions and attributes.
func begin(k *host.Kernel, path string) (_ *Copy, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("make a private copy of %s: %w", path, err)
		}
	}()
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, err
	}
	c := &Copy{k: k, path: real}
	if k == nil {
		c.own = host.New(host.Options{})
		c.k = c.own
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	// Without waiting for whoever is at the other end of a pipe.
	if c.original, err = c.k.OpenFile(real, os.O_RDONLY|unix.O_NONBLOCK, 0); err != nil {
		return nil, err
	}
	if c.was, err = c.original.Stat(); err != nil {
		return nil, err
	}
	if !c.was.Mode().IsRegular() {
		return nil, errors.New("only a file can be exchanged for another one; write to a block device without that, or to a copy of it")
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(c.original.Fd()), &st); err != nil {
		return nil, err
	}
	if st.Nlink > 1 {
		return nil, fmt.Errorf("it has %d names, of which the others would keep the old image; remove them, or write to it without that", st.Nlink)
	}
	if c.made, err = c.k.OpenFile(filepath.Dir(real), os.O_RDWR|unix.O_TMPFILE, 0o600); err != nil {
		return nil, fmt.Errorf("make a file without a name in %s: %w", filepath.Dir(real), err)
	}
	return c, dress(c.made, c.original, &st)
}

// Path leads to the copy, for as long as it is open, from this process alone.
func (c *Copy) Path() string { return fmt.Sprintf("/proc/self/fd/%d", c.made.Fd()) }

// unchanged checks that nobody has written to the image since it was looked at.
func (c *Copy) unchanged() error {
	now, err := c.original.Stat()
	if err != nil {
		return err
	}
	if now.Size() != c.was.Size() || !now.ModTime().Equal(c.was.ModTime()) {
		return fmt.Errorf("%s: %w, and stays as it is", c.path, ErrChanged)
	}
	return nil
}

// Commit puts the copy in the image's place, which is one call of the kernel's, when all of it is on the disk. Nobody may write to the copy
// any more. An error leaves the image as it was.
func (c *Copy) Commit() error {
	if err := c.unchanged(); err != nil {
		return err
	}
	if err := c.k.ExchangeOpen(c.path, c.made, c.original); err != nil {
		return fmt.Errorf("put what was written in the place of the image: %w", err)
	}
	return nil
}

// Close lets go of both files. A copy that was not committed is gone then.
func (c *Copy) Close() error {
	var errs []error
	for _, f := range []*os.File{c.original, c.made} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	if c.own != nil {
		c.own.Close()
	}
	return errors.Join(errs...)
}

// clone has one file hold what another one does.
func clone(ctx context.Context, to, from *os.File, size int64, progress func(done, total int64)) error {
	if err := unix.IoctlFileClone(int(to.Fd()), int(from.Fd())); err == nil {
		return nil
	}
	if err := to.Truncate(size); err != nil {
		return err
	}
	const atOnce = 16 << 20
	for at := int64(0); at < size; {
		data, err := unix.Seek(int(from.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil // a hole up to the end
		}
		hole := size
		if err == nil {
			hole, err = unix.Seek(int(from.Fd()), data, unix.SEEK_HOLE)
		}
		if err != nil {
			return err
		}
		for at = data; at < hole; {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			n := min(hole-at, atOnce)
			copied, err := io.Copy(io.NewOffsetWriter(to, at), io.NewSectionReader(from, at, n))
			if err != nil {
				return err
			}
			if copied < n {
				return fmt.Errorf("it ended at %d of %d bytes: %w", at+copied, size, ErrChanged)
			}
			at += n
			if progress != nil {
				progress(at, size)
			}
		}
	}
	return nil
}

// dress gives one file the owner, permissions and attributes of another one, as far as the caller may read and set them.
func dress(to, from *os.File, st *unix.Stat_t) error {
	if err := unix.Fchown(int(to.Fd()), int(st.Uid), int(st.Gid)); err != nil {
		var own unix.Stat_t
		if statErr := unix.Fstat(int(to.Fd()), &own); statErr != nil || own.Uid != st.Uid || own.Gid != st.Gid {
			return fmt.Errorf("give it the owner of the image: %w", err)
		}
	}
	if err := unix.Fchmod(int(to.Fd()), st.Mode&0o7777); err != nil {
		return err
	}
	list := make([]byte, 64<<10)
	n, err := unix.Flistxattr(int(from.Fd()), list)
	if err != nil || n == 0 {
		return nil //nolint:nilerr // a file system without attributes
	}
	value := make([]byte, 64<<10)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list[:n]), "\x00"), "\x00") {
		n, err := unix.Fgetxattr(int(from.Fd()), name, value)
		if err == nil {
			err = unix.Fsetxattr(int(to.Fd()), name, value[:n], 0)
		}
		if err != nil && strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "system.") && err != nil {
			return fmt.Errorf("give it the attribute %s of the image: %w", name, err)
		}
	}
	return nil
}
