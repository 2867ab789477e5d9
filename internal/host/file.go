package host

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// tempPrefix starts the names of files that are being written; SweepTemp knows them by it.
const tempPrefix = ".taproom-tmp-"

// mostOfName is how much of a file's name is in the name that it has while it is written: with what is added, NAME_MAX (255)
// holds it.
const mostOfName = 200

// newTemp is a name for a file that is being written.
func newTemp(base string) string {
	return tempPrefix + base[:min(len(base), mostOfName)] + "." + rand.Text()
}

// WriteFile replaces path by data in one step: a reader, or a crash of ours, finds the old file or the new one and nothing
// between. With durable the same holds for a power cut, and the new file survives one once WriteFile has returned;
// without, a power cut may leave an empty file, and nothing waits for a disk. When it fails (disk full, no permission) the
// old file is untouched and the temporary one removed.
func (k *Kernel) WriteFile(path string, data []byte, mode fs.FileMode, durable bool) error {
	dir, base := filepath.Split(path)
	temp := filepath.Join(dir, newTemp(base))
	err := k.writeTemp(temp, data, mode, durable)
	if err == nil {
		k.Step("file rename " + base)
		err = os.Rename(temp, path)
	}
	if err != nil {
		k.Step("file remove " + base)
		_ = os.Remove(temp) // it may not exist; what failed is said below
		return fmt.Errorf("write %s: %w", path, withoutPath(err))
	}
	if durable {
		if err := k.SyncDir(filepath.Dir(path)); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	return nil
}

// withoutPath drops the name of a temporary file, which nobody asked for.
func withoutPath(err error) error {
	var path *os.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

func (k *Kernel) writeTemp(temp string, data []byte, mode fs.FileMode, durable bool) error {
	base := filepath.Base(temp)
	base = strings.TrimPrefix(base[:strings.LastIndexByte(base, '.')], tempPrefix)
	k.Step("file create " + base)
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Chmod(mode); err != nil { // the umask must not decide who may read it
		return err
	}
	k.Step("file write " + base)
	if _, err := f.Write(data); err != nil {
		return err
	}
	if durable {
		k.Step("file sync " + base)
		if err := f.Sync(); err != nil {
			return err
		}
	}
	return f.Close()
}

// SyncDir makes names in dir survive a power cut.
func (k *Kernel) SyncDir(dir string) error {
	k.Step("directory sync")
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: a file system that has nothing to sync
		return err
	}
	return nil
}

// SweepTemp removes what an interrupted WriteFile left in dir and says how many there were. Nobody may be writing there
// meanwhile. A directory that does not exist has none.
func (k *Kernel) SweepTemp(dir string) (int, error) {
	entries, err := k.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n := 0
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) || !e.Type().IsRegular() {
			continue
		}
		if err := k.Remove(filepath.Join(dir, e.Name())); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// ReadFile reads a whole file.
func (k *Kernel) ReadFile(path string) ([]byte, error) {
	k.Step("file read " + filepath.Base(path))
	return os.ReadFile(path)
}

// ReadFileLimit reads a whole file and refuses one larger than limit bytes.
func (k *Kernel) ReadFileLimit(path string, limit int64) ([]byte, error) {
	k.Step("file read " + filepath.Base(path))
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readLimit(f, path, limit)
}

// Remove removes a file or an empty directory. One that does not exist is not an error.
func (k *Kernel) Remove(path string) error {
	k.Step("file remove " + filepath.Base(path))
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RemoveAll removes a directory with what is in it. It does not follow symbolic links.
func (k *Kernel) RemoveAll(path string) error {
	k.Step("directory remove " + filepath.Base(path))
	return os.RemoveAll(path)
}

// Mkdir makes a directory and those above it. The mode is that of path itself, whatever the umask; a directory that
// exists keeps its mode.
func (k *Kernel) Mkdir(path string, mode fs.FileMode) error {
	k.Step("directory create " + filepath.Base(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	switch err := os.Mkdir(path, mode); {
	case err == nil:
		return os.Chmod(path, mode)
	case errors.Is(err, fs.ErrExist):
		if st, serr := os.Stat(path); serr == nil && st.IsDir() {
			return nil
		}
		return fmt.Errorf("make the directory %s: something else is there; move it away: %w", path, unix.ENOTDIR)
	default:
		return err
	}
}

// ReadDir lists a directory, sorted by name.
func (k *Kernel) ReadDir(dir string) ([]fs.DirEntry, error) {
	k.Step("directory read " + filepath.Base(dir))
	return os.ReadDir(dir)
}

// OpenFile opens a file as os.OpenFile does. The descriptor is closed on exec.
func (k *Kernel) OpenFile(path string, flags int, mode fs.FileMode) (*os.File, error) {
	k.Step("file open " + filepath.Base(path))
	return os.OpenFile(path, flags, mode)
}

// SetDirect makes an open file bypass the page cache (O_DIRECT). A filesystem that cannot is EINVAL.
func (k *Kernel) SetDirect(f *os.File) error {
	k.Step("file set direct " + filepath.Base(f.Name()))
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		var flags int
		if flags, failed = unix.FcntlInt(fd, unix.F_GETFL, 0); failed == nil {
			_, failed = unix.FcntlInt(fd, unix.F_SETFL, flags|unix.O_DIRECT)
		}
	}); err != nil {
		return err
	}
	return failed
}

// Chown gives a file to a user and a group.
func (k *Kernel) Chown(path string, uid, gid int) error {
	k.Step("file chown " + filepath.Base(path))
	return os.Lchown(path, uid, gid)
}

// Chmod changes a file's mode.
func (k *Kernel) Chmod(path string, mode fs.FileMode) error {
	k.Step("file chmod " + filepath.Base(path))
	return os.Chmod(path, mode)
}
