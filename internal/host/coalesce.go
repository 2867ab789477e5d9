package host

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ethtoolCoalesce is struct ethtool_coalesce (linux/ethtool.h): the command, and 22 numbers of which taps have one.
type ethtoolCoalesce struct {
	cmd         uint32
	rxUsecs     uint32
	rxMaxFrames uint32
	others      [20]uint32
}

const (
	ethtoolGetCoalesce = 0x0e
	ethtoolSetCoalesce = 0x0f
)

// SetCoalesce lets a tap gather up to so many frames before it hands them to the host's stack. The kernel takes 64 for more
// (NAPI_POLL_WEIGHT).
func (k *Kernel) SetCoalesce(name string, frames uint32) error {
	k.Step("link coalesce")
	if err := k.coalesce(name, &ethtoolCoalesce{cmd: ethtoolSetCoalesce, rxMaxFrames: frames}); err != nil {
		return fmt.Errorf("coalesce %d frames on %s: %w", frames, name, err)
	}
	return nil
}

// Coalesce is how many frames a link gathers.
func (k *Kernel) Coalesce(name string) (uint32, error) {
	k.Step("link coalesce get")
	c := ethtoolCoalesce{cmd: ethtoolGetCoalesce}
	if err := k.coalesce(name, &c); err != nil {
		return 0, fmt.Errorf("coalescing of %s: %w", name, err)
	}
	return c.rxMaxFrames, nil
}

func (k *Kernel) coalesce(name string, c *ethtoolCoalesce) error {
	var r struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	if len(name) >= len(r.name) {
		return unix.EINVAL
	}
	copy(r.name[:], name)
	r.data = unsafe.Pointer(c)
	var err error
	k.InNetNS(func() { // the name is looked up in the socket's namespace
		var fd int
		if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return
		}
		defer unix.Close(fd)
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&r))); errno != 0 {
			err = errno
		}
	})
	return err
}
