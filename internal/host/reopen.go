package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// PathOf is where an open file is: without links, whatever path it was opened by. One that was removed meanwhile is fs.ErrNotExist.
func (k *Kernel) PathOf(f *os.File) (string, error) {
	k.Step("file path")
	path, err := os.Readlink("/proc/self/fd/" + strconv.FormatUint(uint64(rawFD(f)), 10))
	if err != nil {
		return "", fmt.Errorf("find the path of %s: %w", f.Name(), err)
	}
	at, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if is, err := f.Stat(); err != nil || !os.SameFile(at, is) {
		return "", errors.Join(fmt.Errorf("%s was replaced while it was opened: %w", path, fs.ErrNotExist), err)
	}
	return path, nil
}

// Reopen opens the file that is open once more, with other flags and a position of its own. It is the same file whatever its
// path is by now.
func (k *Kernel) Reopen(f *os.File, flags int) (*os.File, error) {
	k.Step("file open " + filepath.Base(f.Name()))
	n, err := os.OpenFile("/proc/self/fd/"+strconv.FormatUint(uint64(rawFD(f)), 10), flags, 0)
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return nil, &fs.PathError{Op: "open", Path: f.Name(), Err: pe.Err}
	}
	return n, err
}
