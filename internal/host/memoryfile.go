package host

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// SealableMemory returns a file without a name that has size bytes, all zero, and can be sealed. It is gone with its last
// descriptor and the last mapping.
func (k *Kernel) SealableMemory(name string, size int64) (*os.File, error) {
	k.Step("memory file " + name)
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if err := f.Truncate(size); err != nil {
		_ = f.Close() // nobody has it yet
		return nil, fmt.Errorf("make a file of %d bytes in memory: %w", size, err)
	}
	return f, nil
}

// Seal keeps everybody from changing what a file in memory holds or how long it is, whoever opens it and however. It is
// unix.EBUSY while somebody has it mapped shared and writable.
func (k *Kernel) Seal(f *os.File) error {
	k.Step("memory file seal")
	return control(f, func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
		return err
	})
}
