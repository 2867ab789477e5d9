package replica

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// Fresh is a new image without a name, in the folder where it will be named. Close it: without Commit nothing is left of it.
type Fresh struct {
	k    *host.Kernel
	path string
	made *os.File
	old  *Copy // the image that it replaces; nil where the name has to be free
}

// Create makes an empty file that gets the path by Commit, unless another file has that path by then. Its permissions are those that all files of its content
// have in common, without the caller's umask; without files they are 0600.
func Create(path string, of ...fs.FileInfo) (_ *Fresh, err error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("make %s: %w; remove it, or take another name", path, fs.ErrExist)
	}
	f := &Fresh{k: host.New(host.Options{}), path: path}
	if f.made, err = f.k.OpenFile(filepath.Dir(path), os.O_RDWR|unix.O_TMPFILE, readers(of)); err != nil {
		f.k.Close()
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	if err := f.narrow(of); err != nil {
		return nil, errors.Join(fmt.Errorf("make %s: %w", path, err), f.Close())
	}
	return f, nil
}

// readers are the permissions of a copy of files.
func readers(of []fs.FileInfo) fs.FileMode {
	mode := fs.FileMode(0o066)
	for _, info := range of {
		mode &= info.Mode().Perm()
		if !info.Mode().IsRegular() { // permissions of a device are for other users than those of a file
			mode = 0
		}
	}
	if len(of) == 0 {
		mode = 0
	}
	return mode | 0o600
}

// narrow gives the new file's group the permissions of others, where it is not the group of the original files.
func (f *Fresh) narrow(of []fs.FileInfo) error {
	info, err := f.made.Stat()
	if err != nil {
		return err
	}
	mode := info.Mode().Perm()
	for _, other := range of {
		if group(other) != group(info) {
			mode &^= 0o070 &^ (mode & 0o007 << 3)
		}
	}
	if mode == info.Mode().Perm() {
		return nil
	}
	return unix.Fchmod(int(f.made.Fd()), uint32(mode))
}

// group is the number of a file's group.
func group(info fs.FileInfo) uint32 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Gid
	}
	return 0
}

// Replace makes an empty file with the owner, permissions and attributes of an image, whose place it takes by Commit. seen is the state of the image when
// its content was first read: another file by now, or another size or time of modification, is ErrReplaced or ErrChanged. nil: its state now.
func Replace(path string, seen fs.FileInfo) (*Fresh, error) {
	old, err := begin(nil, path)
	if err != nil {
		return nil, err
	}
	if seen != nil {
		if !os.SameFile(seen, old.was) {
			return nil, errors.Join(fmt.Errorf("%s: %w, and stays as it is", old.path, ErrReplaced), old.Close())
		}
		old.was = seen
		if err := old.unchanged(); err != nil {
			return nil, errors.Join(err, old.Close())
		}
	}
	return &Fresh{k: old.k, path: old.path, made: old.made, old: old}, nil
}

// File is the new file, which is open for reading and writing.
func (f *Fresh) File() *os.File { return f.made }

// Old is the image that is replaced, open for reading; nil where there is none.
func (f *Fresh) Old() *os.File {
	if f.old == nil {
		return nil
	}
	return f.old.original
}

// Path leads to the new file, for as long as it is open, from this process alone.
func (f *Fresh) Path() string { return fmt.Sprintf("/proc/self/fd/%d", f.made.Fd()) }

// Commit gives the file its name by a single call, when its content is on the disk.
func (f *Fresh) Commit() error {
	if f.old != nil {
		return f.old.Commit()
	}
	return f.k.NameOpen(f.path, f.made)
}

// Close closes the file.
func (f *Fresh) Close() error {
	if f.old != nil {
		return f.old.Close()
	}
	defer f.k.Close()
	return f.made.Close()
}
