package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrReplaced is returned when another file has a name than the one that is to be replaced.
var ErrReplaced = errors.New("was replaced by another one meanwhile, which stays as it is")

// ExchangeFile is CreateFile for a file that is put in the place of one that is open: whatever happens, that one is there or the
// new one is, whole. Where another one has its name by then that one stays, and it is ErrReplaced. The name is looked up in the
// folder that its path led to at first, wherever that leads later. A filesystem that cannot exchange two names is unix.EINVAL.
func (k *Kernel) ExchangeFile(n NewFile, old *os.File, fill func(*os.File) error) error {
	base := filepath.Base(n.Path)
	dir, err := k.OpenFile(filepath.Dir(n.Path), unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	x := exchange{k: k, dir: dir, base: base, temp: newTemp(base)}
	if err := x.is(base, old); err != nil {
		return err
	}
	at := fmt.Sprintf("/proc/self/fd/%d/%s", rawFD(dir), x.temp)
	var made os.FileInfo
	err = k.fillTemp(at, n, func(f *os.File) error {
		var err error
		if made, err = f.Stat(); err != nil {
			return err
		}
		return fill(f)
	})
	if err == nil {
		err = x.swap(old, made)
	} else {
		x.remove()
	}
	if err != nil {
		if errors.Is(err, ErrReplaced) {
			return err
		}
		return fmt.Errorf("make %s: %w", n.Path, withoutPath(err))
	}
	if err := k.Sync(dir); err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: a file system that has nothing to sync
		return err
	}
	return nil
}

// exchange is one file that takes another's place in a folder.
type exchange struct {
	k          *Kernel
	dir        *os.File
	base, temp string
}

// is tells whether a name is that of a file.
func (x exchange) is(name string, f *os.File) error {
	want, err := f.Stat()
	if err != nil {
		return err
	}
	return x.names(name, want)
}

func (x exchange) names(name string, want os.FileInfo) error {
	got, err := os.Lstat(fmt.Sprintf("/proc/self/fd/%d/%s", rawFD(x.dir), name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err != nil || !os.SameFile(got, want) {
		return ErrReplaced
	}
	return nil
}

// swap gives the new file its name, and takes that back where another one than the old file had it.
func (x exchange) swap(old *os.File, made os.FileInfo) error {
	err := x.rename()
	if errors.Is(err, unix.ENOENT) { // the old one has no name any more
		err = ErrReplaced
	}
	if err != nil {
		x.remove()
		return err
	}
	if err := x.is(x.temp, old); err == nil {
		x.remove()
		return nil
	}
	if err := x.rename(); err != nil {
		return fmt.Errorf("it %w, under the name %s: %w", ErrReplaced, x.temp, err)
	}
	if err := x.names(x.temp, made); err != nil { // and once more
		return fmt.Errorf("it %w, and one of them has the name %s", ErrReplaced, x.temp)
	}
	x.remove()
	return ErrReplaced
}

func (x exchange) rename() error {
	x.k.Step("file exchange " + x.base)
	return control(x.dir, func(dir int) error { return unix.Renameat2(dir, x.temp, dir, x.base, unix.RENAME_EXCHANGE) })
}

// remove removes what has the temporary name, if anything has. What it leaves is for SweepTemp.
func (x exchange) remove() {
	x.k.Step("file remove " + x.base)
	_ = control(x.dir, func(dir int) error { return unix.Unlinkat(dir, x.temp, 0) })
}
