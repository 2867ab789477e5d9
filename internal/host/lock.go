package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Locked says that another process holds a lock.
type Locked struct {
	Path string
	PID  int // 0 when it has just let go
}

// Error names the process.
func (l *Locked) Error() string { return fmt.Sprintf("%s is held by process %d", l.Path, l.PID) }

// Lock takes the lock of a file for this process, until the file is closed or the process ends, or fails with *Locked.
// The file is made when missing. The lock is not inherited by children, unlike flock's, so a process that was killed while
// it started another one holds nothing any more. It does not keep two parts of one process apart, and no other part of it
// may open the file: closing that would give the lock back (fcntl(2)).
func (k *Kernel) Lock(path string) (*os.File, error) {
	k.Step("file lock " + filepath.Base(path))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	whole := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &whole)
	if err == nil {
		return f, nil
	}
	defer f.Close()
	if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	holder := whole
	if unix.FcntlFlock(f.Fd(), unix.F_GETLK, &holder) != nil || holder.Type == unix.F_UNLCK {
		holder.Pid = 0
	}
	return nil, &Locked{Path: path, PID: int(holder.Pid)}
}
