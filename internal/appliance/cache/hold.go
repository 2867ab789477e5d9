package cache

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ErrHeld is returned for what a process that runs still needs.
var ErrHeld = errors.New("a process that runs needs it")

// Hold keeps files from being removed by Remove and Sweep until release, or until this process ends. What has a path only, as
// programs that launch appliances over and over have, would be gone one day.
func Hold(paths ...string) (release func(), err error) {
	var held []*os.File
	release = func() {
		for _, f := range held {
			_ = f.Close()
		}
	}
	for _, path := range paths {
		f, err := lockFile(path, os.O_RDONLY, unix.LOCK_SH)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, f)
	}
	return release, nil
}

// lockFile opens a file and locks it, or says ErrHeld. A filesystem without locks has none.
func lockFile(path string, flags, how int) (*os.File, error) {
	f, err := os.OpenFile(path, flags, 0)
	if errors.Is(err, unix.ETXTBSY) { // a kernel of User-Mode Linux that runs
		return nil, fmt.Errorf("%s: %w", path, ErrHeld)
	}
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", path, ErrHeld)
	}
	is, err := f.Stat()
	if err == nil {
		var at os.FileInfo
		if at, err = os.Stat(path); err == nil && !os.SameFile(is, at) {
			err = &os.PathError{Op: "open", Path: path, Err: unix.ENOENT} // removed between
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Remove removes path, which is a file or the folder of one, unless somebody holds that: then it is ErrHeld.
func Remove(path, file string) error {
	f, err := lockFile(file, os.O_RDWR, unix.LOCK_EX) // NFS wants what is locked so to be open for writing
	if errors.Is(err, os.ErrNotExist) {
		return os.RemoveAll(path)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return os.RemoveAll(path)
}
