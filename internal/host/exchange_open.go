package host

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ExchangeOpen puts made, a file without a name (O_TMPFILE) in the folder of a path, in the place of old, which has that path: whatever happens, old
// is there or made is, whole. What was written to made is on the disk first. Where another file has the name by then that one stays, and it is
// ErrReplaced.
func (k *Kernel) ExchangeOpen(path string, made, old *os.File) error {
	if err := k.Sync(made); err != nil {
		return err
	}
	info, err := made.Stat()
	if err != nil {
		return err
	}
	base := filepath.Base(path)
	dir, err := k.OpenFile(filepath.Dir(path), unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	x := exchange{k: k, dir: dir, base: base, temp: newTemp(base)}
	if err := x.is(base, old); err != nil {
		return err
	}
	k.Step("file link " + base)
	err = control(dir, func(fd int) error {
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", rawFD(made)), fd, x.temp, unix.AT_SYMLINK_FOLLOW)
	})
	if err != nil {
		return fmt.Errorf("give the new %s a name: %w", path, err)
	}
	if err := x.swap(old, info); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	return k.Sync(dir)
}

// NameOpen gives made, a file without a name (O_TMPFILE) in the folder of a path, that path, when its content is on the disk. A file that has the path
// already stays, and is os.ErrExist.
func (k *Kernel) NameOpen(path string, made *os.File) error {
	if err := k.Sync(made); err != nil {
		return err
	}
	dir, err := k.OpenFile(filepath.Dir(path), unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	base := filepath.Base(path)
	k.Step("file link " + base)
	err = control(dir, func(fd int) error {
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", rawFD(made)), fd, base, unix.AT_SYMLINK_FOLLOW)
	})
	if err != nil {
		return &os.PathError{Op: "make", Path: path, Err: err}
	}
	return k.Sync(dir)
}
