package host

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// TapSpec is a tap device that should exist.
type TapSpec struct {
	Name    string
	Queues  int  // 0 is 1
	VNetHdr bool // frames carry a virtio-net header, so checksums and segmentation can be left to the other side
}

// Tap is a tap device that was made. It is down and lives as long as a descriptor of it is open, in this process or in
// the one it was handed to. Close drops ours. Of a macvtap these are the queues alone, and the link stays.
type Tap struct {
	Name  string
	Index int
	Files []*os.File // one per queue
}

// Close closes the descriptors. A process that is being started elsewhere may hold copies for a moment longer, since
// exec resumes the parent before it closes them; who needs the link gone when it returns calls DeleteLink first.
func (t *Tap) Close() error {
	var err error
	for _, f := range t.Files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// CreateTap makes a tap with exactly that name; ErrTaken when there is a link of that name. Multi-queue is asked for only
// with more than one queue: it makes each creation cost more the more there are (0.4 ms or 10 ms at 1000).
func (k *Kernel) CreateTap(s TapSpec) (*Tap, error) {
	k.Step("tap create")
	if s.Name == "" || len(s.Name) >= unix.IFNAMSIZ {
		return nil, fmt.Errorf("create tap %q: a name has 1 to %d bytes", s.Name, unix.IFNAMSIZ-1)
	}
	flags := uint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if s.VNetHdr {
		flags |= unix.IFF_VNET_HDR
	}
	queues := max(s.Queues, 1)
	if queues > 1 {
		flags |= unix.IFF_MULTI_QUEUE
	}
	t := &Tap{Name: s.Name}
	c, err := k.lease()
	if err != nil {
		return nil, fmt.Errorf("create tap %s: %w", s.Name, err)
	}
	defer k.giveBack(c)
	k.InNetNS(func() { // the descriptor belongs to the namespace it was opened in
		for q := range queues {
			exclusive := uint16(0)
			if q == 0 {
				exclusive = unix.IFF_TUN_EXCL
			}
			var f *os.File
			if f, err = openTap(s.Name, flags|exclusive); err != nil {
				return
			}
			t.Files = append(t.Files, f)
		}
	})
	if err == nil {
		t.Index, err = c.linkIndex(s.Name)
	}
	if err != nil {
		_ = t.Close()
		if errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EEXIST) || errors.Is(err, unix.EINVAL) && k.exists(s.Name) {
			return nil, fmt.Errorf("create tap %s: %w: %w", s.Name, ErrTaken, err)
		}
		return nil, fmt.Errorf("create tap %s: %w", s.Name, err)
	}
	return t, nil
}

// exists looks at a name again: for a link that is no tap at all TUNSETIFF says EINVAL rather than EBUSY.
func (k *Kernel) exists(name string) bool {
	_, err := k.LinkByName(name)
	return err == nil
}

func openTap(name string, flags uint16) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/dev/net/tun", Err: err}
	}
	ifr, err := unix.NewIfreq(name)
	if err == nil {
		ifr.SetUint16(flags)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	// Only now: the runtime's poller must not watch the descriptor before it has a device behind it.
	return os.NewFile(uintptr(fd), "tap "+name), nil
}

// linkIndex asks for the index of a link in the socket's namespace. It is ours, so the name cannot have changed hands.
func (c *rtnl) linkIndex(name string) (int, error) {
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	err = unix.IoctlIfreq(c.handle.Socket.GetFd(), unix.SIOCGIFINDEX, ifr)
	return int(ifr.Uint32()), err
}
