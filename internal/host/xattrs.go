package host

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// CopyAttributes gives a file all extended attributes of another one that can be seen: access lists, labels, what users noted. Sums
// of its content (IMA's and EVM's) are the kernel's to make.
func (k *Kernel) CopyAttributes(to, from *os.File) error {
	k.Step("file attributes " + filepath.Base(from.Name()))
	names, err := attribute(func(b []byte) (int, error) { return flistxattr(from, b) })
	if errors.Is(err, unix.EOPNOTSUPP) { // a filesystem without them
		return nil
	}
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		if name == "" || name == "security.ima" || name == "security.evm" {
			continue
		}
		value, err := attribute(func(b []byte) (int, error) { return fgetxattr(from, name, b) })
		if err != nil {
			return err
		}
		has, err := attribute(func(b []byte) (int, error) { return fgetxattr(to, name, b) })
		if err == nil && bytes.Equal(has, value) { // what only a policy may set
			continue
		}
		if err := control(to, func(fd int) error { return unix.Fsetxattr(fd, name, value, 0) }); err != nil {
			return err
		}
	}
	return nil
}

// attribute reads what has no length that is known before: XATTR_SIZE_MAX and XATTR_LIST_MAX are 64 KiB.
func attribute(read func([]byte) (int, error)) ([]byte, error) {
	b := make([]byte, 64<<10)
	n, err := read(b)
	return b[:max(n, 0)], err
}

func flistxattr(f *os.File, b []byte) (n int, err error) {
	err = control(f, func(fd int) error { n, err = unix.Flistxattr(fd, b); return err })
	return n, err
}

func fgetxattr(f *os.File, name string, b []byte) (n int, err error) {
	err = control(f, func(fd int) error { n, err = unix.Fgetxattr(fd, name, b); return err })
	return n, err
}
