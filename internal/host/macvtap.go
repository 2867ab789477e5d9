package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// OpenMacvtap opens the character device behind a macvtap, once for each queue (0 is 1). Frames carry a virtio-net header.
// Unlike a tap, a macvtap stays when its descriptors are closed.
func (k *Kernel) OpenMacvtap(name string, index, queues int) (*Tap, error) {
	k.Step("macvtap open")
	t := &Tap{Name: name, Index: index}
	var err error
	k.InNetNS(func() { err = t.openQueues(max(queues, 1)) }) // /sys shows a network namespace
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open macvtap %s: %w", name, err), t.Close())
	}
	return t, nil
}

func (t *Tap) openQueues(queues int) error {
	dev, err := macvtapNumber(t.Name, t.Index)
	if err != nil {
		return err
	}
	node, err := findMacvtapNode(t.Index, dev)
	if err != nil {
		return err
	}
	defer node.close()
	flags := uint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if queues > 1 {
		flags |= unix.IFF_MULTI_QUEUE
	}
	for range queues {
		f, err := node.open(t.Name, flags)
		if err != nil {
			return err
		}
		t.Files = append(t.Files, f)
	}
	return nil
}

// macvtapNumber is the device number behind a macvtap. The kernel has made it by the time that the link's creation is
// acknowledged.
func macvtapNumber(name string, index int) (uint64, error) {
	path := filepath.Join("/sys/class/net", name, "tap"+strconv.Itoa(index), "dev")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%w; is /sys mounted, and for this network namespace?", err)
	}
	if err != nil {
		return 0, err
	}
	major, minor, _ := strings.Cut(strings.TrimSpace(string(b)), ":")
	ma, err := strconv.ParseUint(major, 10, 32)
	mi, merr := strconv.ParseUint(minor, 10, 32)
	if err = errors.Join(err, merr); err != nil {
		return 0, fmt.Errorf("%s is %q: %w", path, b, err)
	}
	return unix.Mkdev(uint32(ma), uint32(mi)), nil
}

// macvtapNode is a device node: a name in a directory.
type macvtapNode struct {
	dir  int // -1 for one with an absolute name
	name string
	dev  uint64
}

// findMacvtapNode looks at /dev/tapN first. Its name is of the link's index, and two namespaces may both have a link of that
// index: the second gets no node. Where there is none, or it is another device's, one is made on a file system that nobody
// else sees and that goes when its descriptor is closed, so that none is ever left.
func findMacvtapNode(index int, dev uint64) (*macvtapNode, error) {
	n := &macvtapNode{dir: -1, name: "/dev/tap" + strconv.Itoa(index), dev: dev}
	var st unix.Stat_t
	if err := unix.Stat(n.name, &st); err == nil && n.is(&st) {
		return n, nil
	}
	config, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err == nil {
		defer unix.Close(config)
		err = unix.FsconfigCreate(config)
	}
	if err == nil {
		n.dir, err = unix.Fsmount(config, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_NOSUID)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not there, and no file system can be made for a node of its own: %w", n.name, err)
	}
	n.name = "tap"
	if err := unix.Mknodat(n.dir, n.name, unix.S_IFCHR|0o600, int(dev)); err != nil {
		n.close()
		return nil, fmt.Errorf("make a node for device %d:%d: %w", unix.Major(dev), unix.Minor(dev), err)
	}
	return n, nil
}

func (n *macvtapNode) is(st *unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == n.dev
}

func (n *macvtapNode) close() {
	if n.dir >= 0 {
		unix.Close(n.dir)
	}
}

// open opens a queue, and looks whether it is of the right device.
func (n *macvtapNode) open(link string, flags uint16) (*os.File, error) {
	fd, err := unix.Openat(n.dir, n.name, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: n.name, Err: err}
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && !n.is(&st) {
		err = fmt.Errorf("%s became another device", n.name)
	}
	if err == nil {
		var ifr *unix.Ifreq
		if ifr, err = unix.NewIfreq(link); err == nil {
			ifr.SetUint16(flags)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr)
		}
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "macvtap "+link), nil
}
