package host

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// Offload sets a tap up as QEMU does for a virtio-net guest that takes all it can get: the kernel may hand out frames without
// checksums, and TCP in segments of up to 64 KiB; and what is written waits in the device's queue and is dropped when that is
// full, rather than in the writer. The tap was made with a virtio-net header.
func (k *Kernel) Offload(t *Tap) error {
	k.Step("tap offload")
	for _, f := range t.Files {
		raw, err := f.SyscallConn() // the descriptor stays one that does not block
		if err == nil {
			var set error
			err = raw.Control(func(fd uintptr) { set = offload(int(fd)) })
			err = errors.Join(err, set)
		}
		if err != nil {
			return fmt.Errorf("have tap %s hand out large segments: %w", t.Name, err)
		}
	}
	return nil
}

func offload(fd int) error {
	return errors.Join(
		unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, unix.TUN_F_CSUM|unix.TUN_F_TSO4|unix.TUN_F_TSO6),
		unix.IoctlSetPointerInt(fd, unix.TUNSETSNDBUF, math.MaxInt32),
	)
}
