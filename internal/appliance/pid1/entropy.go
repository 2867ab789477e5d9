package pid1

import (
	"encoding/binary"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxSeed bounds what is mixed in at a time, in bytes.
const maxSeed = 512

// AddEntropy mixes a seed into the kernel's random numbers, and has them used at once.
func AddEntropy(seed []byte) error {
	if len(seed) > maxSeed {
		return fmt.Errorf("seed of %d bytes: at most %d", len(seed), maxSeed)
	}
	f, err := os.OpenFile("/dev/urandom", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info := entropyInfo(seed)
	for _, call := range []struct {
		name string
		cmd  uintptr
		arg  unsafe.Pointer
	}{
		{"RNDADDENTROPY", unix.RNDADDENTROPY, unsafe.Pointer(&info[0])},
		{"RNDRESEEDCRNG", unix.RNDRESEEDCRNG, nil},
	} {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), call.cmd, uintptr(call.arg)); errno != 0 {
			return fmt.Errorf("mix in a seed (%s): %w", call.name, errno)
		}
	}
	return nil
}

// entropyInfo is struct rand_pool_info: bits of entropy, bytes, and the bytes.
func entropyInfo(seed []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(len(seed)*8))
	b = binary.NativeEndian.AppendUint32(b, uint32(len(seed)))
	return append(b, seed...)
}
