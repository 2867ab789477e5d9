package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/guest/tune"
	"taproom/internal/host"
)

// errNotAFile is what an image is that is a directory, a device without type='block', or another oddity.
var errNotAFile = errors.New("is not a regular file; name an image file, or a block device with type='block'")

// errOddFile is what a kernel or a log is that is a directory, a FIFO or the like.
var errOddFile = errors.New("is not a regular file; name one")

// open opens everything that QEMU inherits. What is opened here needs no permission of the guest's user.
func (s *starting) open(ctx context.Context) error {
	s.files = map[string]*os.File{}
	dir := s.e.places(s.d).dir
	// Its user walks through; only root sees what is in it.
	if err := s.e.k.Mkdir(dir, 0o711); err != nil {
		return err
	}
	if cgroup := s.running.rec().Cgroup; cgroup != "" {
		if err := s.e.k.MakeCgroup(cgroup); err != nil {
			return err
		}
	}
	if err := s.prepareMemory(); err != nil {
		return err
	}
	if tune.Any(s.doc) {
		if err := s.e.tuned(s.running.rec()).Limit(s.doc); err != nil {
			return tuneError(s.d, virterr.ConfigUnsupported, err)
		}
	}
	return s.openNeeds(ctx, s.compiled.Needs)
}

// openNeeds opens some of it.
func (s *starting) openNeeds(ctx context.Context, needs []guest.Need) error {
	for _, n := range needs {
		f, err := s.openNeed(ctx, n)
		if err != nil {
			return &guest.NeedError{Need: n, Err: s.explain(n, err)}
		}
		if f != nil {
			s.files[n.Name] = f
		}
	}
	return nil
}

// sockets are the names that a start makes outside of the guest's directory.
func (s *starting) sockets() []string {
	var paths []string
	for _, n := range s.compiled.Needs {
		if n.Access == guest.Listen && !strings.HasPrefix(n.Path, s.e.places(s.d).dir+"/") {
			paths = append(paths, n.Path)
		}
	}
	return paths
}

// explain drops the operation and the path that errors of the host repeat, and says of a link where it leads.
func (s *starting) explain(n guest.Need, err error) error {
	var path *os.PathError
	var errno unix.Errno
	var denied *host.NotAllowed
	switch {
	case errors.As(err, &denied):
		return fmt.Errorf("QEMU's %w", denied)
	case errors.As(err, &path) && errors.Is(err, fs.ErrNotExist):
		if to, lerr := os.Readlink(n.Path); lerr == nil {
			return fmt.Errorf("is a link to %s: %w", to, path.Err)
		}
		return path.Err
	case errors.As(err, &path) && errors.Is(err, unix.EACCES) && s.e.cfg.Session != nil:
		return s.denied(path)
	case errors.As(err, &path):
		return path.Err
	case n.Access == guest.Dial && errors.As(err, &errno):
		return errno
	}
	return err
}

// denied says which part of the path keeps the user of a session from a file.
func (s *starting) denied(failed *os.PathError) error {
	own := s.e.cfg.Session // it is QEMU's user as well
	f, cause := s.e.k.OpenAs(failed.Path, own.UID, own.GID)
	if cause == nil { // to read it
		_ = f.Close()
		return fmt.Errorf("user %d may read it and not write it: %w; chown or chmod it, or let qemu:///system run the guest", own.UID, failed.Err)
	}
	return fmt.Errorf("%w, or let qemu:///system run the guest", cause)
}

// openNeed opens one file. It opens first and looks afterwards, at what it holds.
func (s *starting) openNeed(ctx context.Context, n guest.Need) (*os.File, error) {
	k := s.e.k
	switch n.Access {
	case guest.Check:
		f, err := k.OpenAs(n.Path, s.running.rec().UID, s.running.rec().UID)
		if errors.Is(err, unix.EACCES) && n.Copy {
			if lent := s.lend(ctx, n); !errors.Is(lent, unix.EACCES) { // which the daemon may not read either: err says more
				return nil, lent
			}
		}
		if err != nil {
			return nil, err
		}
		return nil, errors.Join(s.regular(n, f), f.Close())
	case guest.ReadOnly, guest.ReadWrite:
		flags := os.O_RDONLY
		if n.Access == guest.ReadWrite {
			flags = os.O_RDWR
		}
		if n.NVRAM {
			if err := s.makeNVRAM(n); err != nil {
				return nil, err
			}
		}
		return s.openImage(n, flags)
	case guest.WriteOnly:
		return s.openOutput(n, os.O_TRUNC)
	case guest.Append:
		return s.openOutput(n, os.O_APPEND)
	case guest.Listen:
		if err := k.Mkdir(filepath.Dir(n.Path), 0o711); err != nil {
			return nil, err
		}
		return k.ListenUnix(n.Path, 0o600)
	case guest.Dial:
		return s.dial(ctx, n.Path)
	case guest.Folder:
		if err := k.Mkdir(n.Path, 0o711); err != nil {
			return nil, err
		}
		uid := s.running.rec().UID
		return nil, s.e.give(n.Path, uid, uid)
	case guest.TapQueue:
		return s.tapQueue(n)
	case guest.GivenTap:
		return k.AttachTap(n.Path)
	case guest.VHostNet:
		return k.OpenFile("/dev/vhost-net", os.O_RDWR, 0)
	case guest.VHostVsock:
		return s.handVsock()
	}
	return nil, fmt.Errorf("access %d is not known", n.Access)
}

// openImage opens a disk without waiting for what is behind it (a FIFO), and refuses what is no disk.
func (s *starting) openImage(n guest.Need, flags int) (*os.File, error) {
	f, err := s.e.k.OpenFile(n.Path, flags|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EISDIR) { // a socket; a directory that is to be written
		return nil, errNotAFile
	}
	if err != nil {
		return nil, err
	}
	if err := s.regular(n, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if n.Image && n.Format != "" {
		if err := guest.CheckImage(f, n); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	if n.Direct { // now that its header was read, which needs no aligned memory that way
		if err := s.e.k.SetDirect(f); err != nil {
			return nil, errors.Join(fmt.Errorf("cannot be used past the page cache: %w; use another cache than 'none' and 'directsync'", err), f.Close())
		}
	}
	return f, nil
}

// openOutput opens what a serial port writes to. A FIFO that nobody reads would keep the start waiting for ever.
func (s *starting) openOutput(n guest.Need, flag int) (*os.File, error) {
	f, err := s.e.k.OpenFile(n.Path, os.O_WRONLY|os.O_CREATE|unix.O_NONBLOCK|flag, 0o600)
	if errors.Is(err, unix.ENXIO) {
		return nil, errOddFile
	}
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() && st.Mode()&os.ModeCharDevice == 0 {
		err = errOddFile
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (s *starting) regular(n guest.Need, f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	mode := st.Mode()
	switch {
	case n.Block && mode&os.ModeDevice != 0 && mode&os.ModeCharDevice == 0:
		return nil
	case n.Block:
		return errors.New("is not a block device; use type='file' for an image file")
	case !mode.IsRegular() && n.Image:
		return errNotAFile
	case !mode.IsRegular() && (n.File || mode.IsDir()):
		return errOddFile
	}
	return nil
}

// dial connects to a socket that somebody else serves.
func (s *starting) dial(ctx context.Context, path string) (*os.File, error) {
	c, err := s.e.k.DialUnix(ctx, path)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	filer, ok := c.(interface{ File() (*os.File, error) })
	if !ok {
		return nil, fmt.Errorf("connection to %s has no descriptor", path)
	}
	return filer.File()
}

// tapQueue takes a queue of a tap that was just made.
func (s *starting) tapQueue(n guest.Need) (*os.File, error) {
	tap := s.env.Taps[n.Path]
	if tap == nil || len(tap.Files) == 0 {
		return nil, fmt.Errorf("tap %s has no queue left", n.Path)
	}
	f := tap.Files[0]
	tap.Files = tap.Files[1:]
	return f, nil
}
