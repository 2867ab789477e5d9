package qemu

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// whyNot explains why a binary could not be executed by a user, where the kernel's word for it leaves that open. It
// returns cause where it finds nothing to add.
func whyNot(k *host.Kernel, binary string, uid, gid uint32, cause error) error {
	k.Step("file stat of an emulator")
	st, err := os.Stat(binary)
	switch {
	case err != nil:
		return cause
	case !st.Mode().IsRegular():
		return &reason{"it is no file", unix.EACCES}
	case errors.Is(cause, fs.ErrNotExist):
		return &reason{"the interpreter that it names is missing", unix.ENOENT}
	case !errors.Is(cause, fs.ErrPermission):
		return cause
	case st.Mode()&0o111 == 0:
		return &reason{"it is not executable: chmod +x " + binary, unix.EACCES}
	}
	f, err := k.OpenAs(binary, uid, gid)
	var denied *host.NotAllowed
	if errors.As(err, &denied) {
		return fmt.Errorf("QEMU's %w", denied)
	}
	if err == nil {
		f.Close()
	}
	return cause
}

// reason says in words what an errno leaves open.
type reason struct {
	text  string
	errno unix.Errno
}

// Error implements error.
func (r *reason) Error() string { return r.text }

// Unwrap returns the errno.
func (r *reason) Unwrap() error { return r.errno }
