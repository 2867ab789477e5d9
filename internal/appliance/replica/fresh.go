package replica

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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

// Create makes an empty file that gets the path by Commit, unless another file has that path by then.
func Create(path string) (_ *Fresh, err error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("make %s: %w; remove it, or take another name", path, fs.ErrExist)
	}
	f := &Fresh{k: host.New(host.Options{}), path: path}
	if f.made, err = f.k.OpenFile(filepath.Dir(path), os.O_RDWR|unix.O_TMPFILE, 0o644); err != nil {
		f.k.Close()
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	return f, nil
}

// Replace makes an empty file with the owner, permissions and attributes of an image, whose place it takes by Commit.
func Replace(path string) (*Fresh, error) {
	old, err := begin(nil, path)
	if err != nil {
		return nil, err
	}
	return &Fresh{k: old.k, path: old.path, made: old.made, old: old}, nil
}

// File is the new file, which is open for reading and writing.
func (f *Fresh) File() *os.File { return f.made }

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
