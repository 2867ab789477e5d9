package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// FileID is a file, whatever its name. The numbers of one that is gone are given to others, so it says when it was made too,
// in ns, where the filesystem knows.
type FileID struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	Born   int64  `json:"born,omitempty"`
}

// IdentifyFile says which file is open.
func (k *Kernel) IdentifyFile(f *os.File) (id FileID, err error) {
	k.Step("file stat " + filepath.Base(f.Name()))
	err = control(f, func(fd int) (err error) {
		id, err = identify(fd, "", unix.AT_EMPTY_PATH)
		return err
	})
	return id, err
}

// FileIs reports whether a name is that file's; it is not followed where it is a link.
func (k *Kernel) FileIs(path string, id FileID) (bool, error) {
	k.Step("file stat " + filepath.Base(path))
	is, err := identify(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return is == id, nil
}

func identify(fd int, path string, flags int) (FileID, error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, path, flags, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return FileID{}, err
	}
	id := FileID{Device: unix.Mkdev(st.Dev_major, st.Dev_minor), Inode: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		id.Born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return id, nil
}
