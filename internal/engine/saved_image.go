package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/guest/saveimage"
	"taproom/internal/host"
	"taproom/internal/spec"
)

// savedImage is an open image of a guest's state.
type savedImage struct {
	path   string
	file   *os.File
	header *saveimage.Header
	bypass bool // its stream is read past the page cache
}

func (s *savedImage) close() { _ = s.file.Close() }

// openSaved opens an image and reads what it says of its guest. What is no whole image is refused by name.
func (e *Engine) openSaved(path string, flags int) (*savedImage, error) {
	f, err := e.k.OpenFile(path, flags|unix.O_NONBLOCK, 0) // a FIFO would keep us waiting
	if err != nil {
		return nil, savedError(path, err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() && (st.Mode()&os.ModeDevice == 0 || st.Mode()&os.ModeCharDevice != 0) {
		err = errOddFile
	}
	s := &savedImage{path: path, file: f}
	if err == nil {
		s.header, err = saveimage.Read(f)
	}
	if err != nil {
		s.close()
		return nil, savedError(path, err)
	}
	return s, nil
}

// savedError says which image cannot be used.
func savedError(path string, err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return virterr.New(virterr.SystemError, "saved image %w", fileError(path, err))
	}
	return virterr.New(virterr.OperationFailed, "saved image %s %w", path, err)
}

// savedDocument is the domain's document in an image, complete: libvirt may leave out values that it fills in itself.
func (e *Engine) savedDocument(ctx context.Context, s *savedImage) (*spec.Domain, error) {
	doc, err := e.completeSaved(ctx, s.header.XML)
	if err != nil {
		return nil, virterr.New(virterr.CodeOf(err), "saved image %s: its document cannot be used: %w", s.path, err)
	}
	return doc, nil
}

// completeSaved reads the document of a saved guest. It is completed as a running guest's is: decisions from the guest's
// boot hold, and devices keep their names, some of which QEMU's state contains.
func (e *Engine) completeSaved(ctx context.Context, xml []byte) (*spec.Domain, error) {
	doc, err := e.readDomain(ctx, xml, guest.CompleteRunning)
	if err != nil {
		return nil, err
	}
	return doc, documentError(guest.Name(doc))
}

// SavedImageXML implements server.DomainStates.
func (e *Engine) SavedImageXML(ctx context.Context, path string, flags uint32) (string, error) {
	s, err := e.openSaved(path, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer s.close()
	doc, err := e.savedDocument(ctx, s)
	if err != nil {
		return "", err
	}
	return string(guest.Inactive(doc, flags&server.SavedXMLSecure != 0).Format()), nil
}

// DefineSavedImage implements server.DomainStates. The document may be as long as the image has room for.
func (e *Engine) DefineSavedImage(ctx context.Context, path, xml string, flags uint32) error {
	if flags&server.SaveRunning != 0 && flags&server.SavePaused != 0 {
		return virterr.New(virterr.InvalidArg, "a guest cannot be both running and paused when it is restored")
	}
	s, err := e.openSaved(path, os.O_RDWR)
	if err != nil {
		return err
	}
	defer s.close()
	doc, err := e.savedDocument(ctx, s)
	if err != nil {
		return err
	}
	wanted, err := e.otherDocument(ctx, doc, xml)
	if err != nil {
		return err
	}
	s.header.XML = wanted.Format()
	switch {
	case flags&server.SaveRunning != 0:
		s.header.Running = true
	case flags&server.SavePaused != 0:
		s.header.Running = false
	}
	head, err := s.header.Bytes(true)
	if err != nil {
		return virterr.New(virterr.OperationFailed, "saved image %s: %w", path, err)
	}
	if err := e.rewriteSaved(ctx, s, head); err != nil {
		return savedError(path, err)
	}
	return nil
}

// rewriteSaved has an image begin otherwise. A header that was half written would take the guest's state with it, so a copy of the
// image takes its place, which costs nothing where files can share their storage. What no copy can take the place of is written
// where it is: a device, a file of several names, which would part from the others, and what there is no room or no right for.
func (e *Engine) rewriteSaved(ctx context.Context, s *savedImage, head []byte) error {
	st, err := s.file.Stat()
	if err != nil {
		return err
	}
	is, ok := st.Sys().(*syscall.Stat_t)
	if ok && st.Mode().IsRegular() && is.Nlink <= 1 {
		err := e.exchangeSaved(ctx, s, head, is, st.Mode().Perm())
		if errors.Is(err, host.ErrReplaced) || !notPossible(err) {
			return err
		}
	}
	return errors.Join(e.k.WriteAt(s.file, head, 0), e.k.Sync(s.file))
}

// notPossible tells that a copy cannot be made or take the place of a file: there is no room, the folder or what the file has is
// not ours to write, the file is a mount, or the filesystem exchanges no names.
func notPossible(err error) bool {
	for _, no := range []error{
		unix.ENOSPC, unix.EDQUOT, unix.EACCES, unix.EPERM, unix.EROFS, unix.EBUSY, unix.EINVAL, unix.ENOSYS, unix.EOPNOTSUPP,
	} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// exchangeSaved puts a copy of the image that begins otherwise in its place, unless another file is there by then: a guest may have
// been restored from this one and saved again.
func (e *Engine) exchangeSaved(ctx context.Context, s *savedImage, head []byte, is *syscall.Stat_t, mode fs.FileMode) error {
	path, err := filepath.EvalSymlinks(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return host.ErrReplaced
	}
	if err != nil {
		return err
	}
	n := host.NewFile{Path: path, Mode: mode, Owner: int(is.Uid), Group: int(is.Gid)}
	return e.k.ExchangeFile(n, s.file, func(to *os.File) error {
		if err := e.k.CopyContent(ctx, to, s.file, false); err != nil {
			return err
		}
		if err := e.k.CopyAttributes(to, s.file); err != nil {
			return err
		}
		return e.k.WriteAt(to, head, 0)
	})
}
