package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// LockByte takes the lock of one byte of a file, or fails with *Locked where somebody has it. The file is made when missing. The
// lock belongs to the descriptor and its copies, those that a child inherits included, until the last one is closed; two parts
// of one process are kept apart.
func (k *Kernel) LockByte(path string, at int64) (*os.File, error) {
	k.Step("file lock " + filepath.Base(path))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: unix.SEEK_SET, Start: at, Len: 1}
	err = control(f, func(fd int) error { return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &lock) })
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return nil, &Locked{Path: path}
	}
	return nil, fmt.Errorf("lock byte %d of %s: %w", at, path, err)
}
