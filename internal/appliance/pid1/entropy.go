package pid1

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxSeed bounds what is mixed in at a time, in bytes.
const maxSeed = 512

// Entropy is where a seed is mixed into the kernel's random numbers.
type Entropy struct{ fd int }

// OpenEntropy opens it.
func OpenEntropy() (*Entropy, error) {
	const device = "/dev/urandom"
	fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", device, err)
	}
	return &Entropy{fd}, nil
}

// Close closes it.
func (e *Entropy) Close() error { return unix.Close(e.fd) }

// Add mixes a seed into the kernel's random numbers, and has them used at once.
func (e *Entropy) Add(seed []byte) error {
	if len(seed) > maxSeed {
		return fmt.Errorf("seed of %d bytes: at most %d", len(seed), maxSeed)
	}
	info := entropyInfo(seed)
	if _, err := Quick(unix.SYS_IOCTL, uintptr(e.fd), unix.RNDADDENTROPY, uintptr(unsafe.Pointer(&info[0]))); err != nil {
		return fmt.Errorf("mix in a seed (RNDADDENTROPY): %w", err)
	}
	if _, err := Quick(unix.SYS_IOCTL, uintptr(e.fd), unix.RNDRESEEDCRNG, 0); err != nil {
		return fmt.Errorf("mix in a seed (RNDRESEEDCRNG): %w", err)
	}
	return nil
}

// entropyInfo is struct rand_pool_info: bits of entropy, bytes, and the bytes.
func entropyInfo(seed []byte) []byte {
	b := make([]byte, 0, 8+maxSeed)
	b = binary.NativeEndian.AppendUint32(b, uint32(len(seed)*8))
	b = binary.NativeEndian.AppendUint32(b, uint32(len(seed)))
	return append(b, seed...)
}
