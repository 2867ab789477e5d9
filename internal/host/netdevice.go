package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// NetDevice is what sysfs says of a link's device.
type NetDevice struct {
	Ethernet bool // its frames are Ethernet's
	Wireless bool // Wi-Fi
	Device   bool // there is hardware, or what passes for it, behind it
}

// NetDevice looks a link up in sysfs; ErrNoLink when there is none of that name.
func (k *Kernel) NetDevice(name string) (NetDevice, error) {
	k.Step("netdevice get")
	var d NetDevice
	var err error
	k.InNetNS(func() { d, err = netDevice(filepath.Join("/sys/class/net", name)) })
	if errors.Is(err, fs.ErrNotExist) {
		return d, fmt.Errorf("link %s: %w", name, ErrNoLink)
	}
	return d, err
}

func netDevice(dir string) (NetDevice, error) {
	kind, err := os.ReadFile(filepath.Join(dir, "type"))
	if err != nil {
		return NetDevice{}, err
	}
	const ethernet = "1" // ARPHRD_ETHER
	is := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	return NetDevice{
		Ethernet: strings.TrimSpace(string(kind)) == ethernet, Wireless: is("wireless") || is("phy80211"), Device: is("device"),
	}, nil
}

// Uptime is how long ago the machine booted, in nanoseconds, also while it slept.
func (k *Kernel) Uptime() (int64, error) {
	k.Step("uptime")
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0, fmt.Errorf("read the time since boot: %w", err)
	}
	return t.Nano(), nil
}

// BootID tells one boot of the machine from the next.
func (k *Kernel) BootID() (string, error) {
	b, err := k.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b)), err
}

// Tree is the files below a folder, read by the Kernel.
func (k *Kernel) Tree(root string) fs.FS { return fileTree{k, os.DirFS(root)} }

type fileTree struct {
	k *Kernel
	fs.FS
}

// Open implements fs.FS.
func (t fileTree) Open(name string) (fs.File, error) {
	t.k.Step("file open " + filepath.Base(name))
	return t.FS.Open(name)
}
