package host

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Duplicate returns another descriptor of an open file, to be closed on its own. Both have one position.
func (k *Kernel) Duplicate(f *os.File) (*os.File, error) {
	k.Step("file duplicate")
	n := -1
	err := control(f, func(fd int) (err error) {
		n, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("duplicate the descriptor of %s: %w", f.Name(), err)
	}
	return os.NewFile(uintptr(n), f.Name()), nil
}
