package inside

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// idFile is a file with an ID on its only line. It stays mapped, so that to put another ID of the same length there takes no system
// call, and whoever has mounted or opened the file reads that.
type idFile struct {
	path string
	id   string
	line []byte // the file's content; nil: there is none yet
}

// set writes an ID, which must not be empty.
func (f *idFile) set(id string) error {
	if len(f.line) != len(id)+1 {
		if err := f.make(len(id) + 1); err != nil {
			return fmt.Errorf("make %s: %w", f.path, err)
		}
		f.line[len(id)] = '\n'
	}
	copy(f.line, id)
	f.id = id
	return nil
}

// make gives the file a length and maps it.
func (f *idFile) make(size int) error {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_RDWR, 0o444)
	if err != nil {
		return err
	}
	defer file.Close()
	if f.line != nil {
		err, f.line = unix.Munmap(f.line), nil
	}
	if err = errors.Join(err, file.Truncate(int64(size))); err != nil {
		return err
	}
	f.line, err = unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return err
}
