package host

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setGuestCID is VHOST_VSOCK_SET_GUEST_CID of linux/vhost.h: _IOW(VHOST_VIRTIO, 0x60, __u64).
const setGuestCID = 0x4008af60

// ClaimCID gives a descriptor of /dev/vhost-vsock a number that no other has, for as long as one of its copies is open.
// unix.EADDRINUSE when another guest of this host has it.
func (k *Kernel) ClaimCID(f *os.File, cid uint32) error {
	k.Step("vsock claim")
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	arg := uint64(cid)
	var errno unix.Errno
	err = raw.Control(func(fd uintptr) {
		_, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, setGuestCID, uintptr(unsafe.Pointer(&arg)))
	})
	if err == nil && errno != 0 {
		err = fmt.Errorf("claim CID %d: %w", cid, errno)
	}
	return err
}
