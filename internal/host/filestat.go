package host

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// FileUse is what a file or block device holds and takes.
type FileUse struct {
	Capacity   uint64 // bytes it appears to have
	Allocation uint64 // bytes of storage it takes
	Block      bool   // a block device
}

// FileUse measures the file or block device at path.
func (k *Kernel) FileUse(path string) (FileUse, error) {
	k.Step("file stat " + filepath.Base(path))
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return FileUse{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return FileUse{Capacity: uint64(st.Size), Allocation: uint64(st.Blocks) * 512}, nil
	case unix.S_IFBLK:
		size, err := blockSize(path)
		return FileUse{Capacity: size, Allocation: size, Block: true}, err
	}
	return FileUse{}, fmt.Errorf("measure %s: neither a file nor a block device", path)
}

// Owner says whose a directory is, and what others may do with it. A symbolic link is not followed.
func (k *Kernel) Owner(dir string) (uid int, mode fs.FileMode, err error) {
	k.Step("directory stat " + filepath.Base(dir))
	st, err := os.Lstat(dir)
	if err != nil {
		return 0, 0, err
	}
	return int(st.Sys().(*syscall.Stat_t).Uid), st.Mode(), nil
}

func blockSize(path string) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	return uint64(end), err
}

// readLimit reads f, which may lie about its size, up to limit bytes.
func readLimit(f io.Reader, path string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, withoutPath(err))
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read %s: %w (%d bytes)", path, ErrTooLarge, limit)
	}
	return data, nil
}
