package host

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Unwritten is how many bytes of a file are changed in the page cache and not yet on its disk, those on their way included.
// *Missing on kernels without cachestat(2).
func (k *Kernel) Unwritten(f *os.File) (int64, error) {
	what := struct{ at, size uint64 }{}
	var said struct{ cached, dirty, writeback, evicted, recent uint64 }
	_, _, errno := unix.Syscall6(unix.SYS_CACHESTAT, rawFD(f), uintptr(unsafe.Pointer(&what)), uintptr(unsafe.Pointer(&said)), 0, 0, 0)
	if errors.Is(errno, unix.ENOSYS) {
		return 0, &Missing{What: "cachestat", Config: "Linux 6.5", Err: errno}
	}
	if errno != 0 {
		return 0, fmt.Errorf("ask what of %s is not on its disk: %w", f.Name(), errno)
	}
	return int64(said.dirty+said.writeback) * int64(os.Getpagesize()), nil
}
