package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// NewFile says what CreateFile makes. An owner or group of -1 is the caller's.
type NewFile struct {
	Path         string
	Mode         fs.FileMode
	Owner, Group int
}

// CreateFile makes a file that was not there: fill writes it, and then it gets its name, synced to disk. Where the name is
// taken it is fs.ErrExist. What a crash leaves on the way is for SweepTemp.
func (k *Kernel) CreateFile(n NewFile, fill func(*os.File) error) error {
	dir, base := filepath.Split(n.Path)
	temp := filepath.Join(dir, newTemp(base))
	err := k.fillTemp(temp, n, fill)
	if err == nil {
		k.Step("file rename " + base)
		err = renameNew(temp, n.Path)
	}
	if err != nil {
		k.Step("file remove " + base)
		_ = os.Remove(temp) // it may not exist; what failed is said below
		return fmt.Errorf("make %s: %w", n.Path, withoutPath(err))
	}
	return k.SyncDir(filepath.Dir(n.Path))
}

func (k *Kernel) fillTemp(temp string, n NewFile, fill func(*os.File) error) error {
	base := filepath.Base(n.Path)
	k.Step("file create " + base)
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	k.Step("file write " + base)
	if err := fill(f); err != nil {
		return err
	}
	if n.Owner >= 0 || n.Group >= 0 {
		if err := f.Chown(n.Owner, n.Group); err != nil {
			return err
		}
	}
	if err := f.Chmod(n.Mode); err != nil { // after chown, which drops set-user-ID, and whatever the umask
		return err
	}
	k.Step("file sync " + base)
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// renameNew is rename(2) that replaces nothing.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // a filesystem that cannot
		if err = os.Link(from, to); err == nil {
			err = os.Remove(from)
		}
	}
	return err
}

// IsTemp reports whether a file of this name is one that is being written, or was when something crashed.
func IsTemp(name string) bool {
	return len(name) > len(tempPrefix) && name[:len(tempPrefix)] == tempPrefix
}

// Allocate takes storage for the first n bytes of a file, which has that length then at least. A filesystem that cannot is
// unix.EOPNOTSUPP.
func (k *Kernel) Allocate(f *os.File, n int64) error {
	k.Step("file allocate " + filepath.Base(f.Name()))
	return control(f, func(fd int) error { return unix.Fallocate(fd, 0, 0, n) })
}

// Resize sets the length of an open file; what is new is a hole.
func (k *Kernel) Resize(f *os.File, n int64) error {
	k.Step("file resize " + filepath.Base(f.Name()))
	return f.Truncate(n)
}

// Sync makes what was written to an open file survive a power cut.
func (k *Kernel) Sync(f *os.File) error {
	k.Step("file sync " + filepath.Base(f.Name()))
	return f.Sync()
}

// copyPiece is how much is copied or overwritten between two looks at the context.
const copyPiece = 64 << 20

// CopyContent copies all of from to to, which is empty. Holes stay holes; where the filesystem can, the two share their
// storage. With share they must, or it is the error of a filesystem that cannot.
func (k *Kernel) CopyContent(ctx context.Context, to, from *os.File, share bool) error {
	k.Step("file copy " + filepath.Base(from.Name()))
	size, err := from.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	err = control(from, func(src int) error {
		return control(to, func(dst int) error { return unix.IoctlFileClone(dst, src) })
	})
	if err == nil || share {
		return err
	}
	if err := to.Truncate(size); err != nil {
		return err
	}
	return extents(ctx, from, size, func(at, n int64) error {
		if _, err := from.Seek(at, io.SeekStart); err != nil {
			return err
		}
		if _, err := to.Seek(at, io.SeekStart); err != nil {
			return err
		}
		_, err := io.CopyN(to, from, n)
		return err
	})
}

// Zero overwrites all that a file holds with zeroes, and waits for the disk. Holes stay holes.
func (k *Kernel) Zero(ctx context.Context, f *os.File) error {
	k.Step("file zero " + filepath.Base(f.Name()))
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	zeroes := make([]byte, 1<<20)
	err = extents(ctx, f, size, func(at, n int64) error {
		for ; n > 0; n -= int64(len(zeroes)) {
			if _, err := f.WriteAt(zeroes[:min(n, int64(len(zeroes)))], at); err != nil {
				return err
			}
			at += int64(len(zeroes))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return k.Sync(f)
}

// extents calls do for each piece of what is no hole.
func extents(ctx context.Context, f *os.File, size int64, do func(at, n int64) error) error {
	for at := int64(0); at < size; {
		data, err := f.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil // only a hole is left
		}
		if err != nil {
			return err
		}
		hole, err := f.Seek(data, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		for at = data; at < hole; {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			n := min(copyPiece, hole-at)
			if err := do(at, n); err != nil {
				return err
			}
			at += n
		}
	}
	return nil
}

// Extents calls do for each piece of a file that is no hole, in their order, with at most 64 MiB at a time.
func (k *Kernel) Extents(ctx context.Context, f *os.File, do func(at, n int64) error) error {
	k.Step("file extents")
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	return extents(ctx, f, size, do)
}

// control runs a system call on a file's descriptor.
func control(f *os.File, call func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = call(int(fd)) }); err != nil {
		return err
	}
	return failed
}

// FilesystemUse is how much a filesystem has room for, in bytes.
type FilesystemUse struct{ Capacity, Available uint64 }

// FilesystemUse measures the filesystem that a folder is on; what is no folder is unix.ENOTDIR.
func (k *Kernel) FilesystemUse(dir string) (FilesystemUse, error) {
	k.Step("filesystem stat " + filepath.Base(dir))
	info, err := os.Stat(dir)
	if err != nil {
		return FilesystemUse{}, err
	}
	if !info.IsDir() {
		return FilesystemUse{}, &os.PathError{Op: "open", Path: dir, Err: unix.ENOTDIR}
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return FilesystemUse{}, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	unit := uint64(st.Frsize)
	return FilesystemUse{Capacity: st.Blocks * unit, Available: st.Bavail * unit}, nil
}

// FileFacts is what stat(2) says of a file or folder. A symbolic link is followed.
func (k *Kernel) FileFacts(path string) (unix.Stat_t, error) {
	k.Step("file stat " + filepath.Base(path))
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return st, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return st, nil
}
