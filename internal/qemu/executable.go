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
		return fmt.Errorf("it is no file: %w", unix.EACCES)
	case errors.Is(cause, fs.ErrNotExist):
		return fmt.Errorf("the interpreter that it names is missing: %w", unix.ENOENT)
	case !errors.Is(cause, fs.ErrPermission):
		return cause
	case st.Mode()&0o111 == 0:
		return fmt.Errorf("it is not executable (chmod +x): %w", unix.EACCES)
	}
	f, err := k.OpenAs(binary, uid, gid)
	var denied *host.NotAllowed
	if errors.As(err, &denied) {
		return denied
	}
	if err == nil {
		f.Close()
	}
	return cause
}
