package guest

import (
	"cmp"
	"errors"
	"fmt"
	"syscall"
	"time"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// Runtime is what was prepared for one run of a guest.
type Runtime struct {
	Accel string // "tcg" or "kvm"
	// Dir is the guest's run directory. Host sides of channels without a path are made below Dir/channel.
	Dir string
	// QMP names the listening monitor socket among the files given to QEMU.
	QMP string
	// NICs has one entry per interface of the document, in order.
	NICs []NICRuntime
	// Displays has one entry per graphics element of the document, in order.
	Displays []DisplayRuntime
	// CID is the number that the guest's vsock got, where the document leaves it open.
	CID uint32
	// Adjustment is how far from UTC the guest has set its clock since, in seconds; "" when it has not.
	Adjustment string
	// Pins are those of the configuration that the guest was started with, or last changed to; none at a start.
	Pins Pins
	// Now is the time of the start: clock offset='variable' counts from it.
	Now time.Time
	// HostSysinfo is the host's own SMBIOS, for <smbios mode='host'/>; nil where it has none.
	HostSysinfo *spec.Sysinfo
	// MemoryDir is where the file of a guest lies whose memory has source type='file'.
	MemoryDir string
	// Nodes are the host's NUMA nodes; nil where nobody looked.
	Nodes []int
	// HugePageKiB is the host's default size of huge pages, and PageKiB that of usual ones; 0 means 2048 and 4.
	HugePageKiB, PageKiB uint64
}

func (rt *Runtime) hugePageKiB() uint64 { return cmp.Or(rt.HugePageKiB, 2048) }
func (rt *Runtime) pageKiB() uint64     { return cmp.Or(rt.PageKiB, 4) }

// HugePageNeed is how many huge pages have to be free on the host.
type HugePageNeed struct{ PageKiB, Pages uint64 }

// DisplayRuntime is what was prepared for one display: what the document leaves open.
type DisplayRuntime struct {
	Port, WebSocket int
	Address         string // of the network that it listens on
}

// display is what was prepared for a display.
func (rt Runtime) display(i int) DisplayRuntime {
	if i < len(rt.Displays) {
		return rt.Displays[i]
	}
	return DisplayRuntime{}
}

// NICRuntime is what was prepared for one NIC. A NIC of type user needs nothing.
type NICRuntime struct {
	Tap   string // the host's link
	VHost bool   // its packets go through the kernel's vhost-net
}

// Access is how a file is opened for QEMU.
type Access int

// The ways to open a file.
const (
	Check      Access = iota // QEMU opens it by name; it has to exist and be readable for the guest's user
	ReadOnly                 // O_RDONLY
	ReadWrite                // O_RDWR
	WriteOnly                // O_WRONLY|O_CREAT|O_TRUNC
	Append                   // O_WRONLY|O_CREAT|O_APPEND
	Listen                   // a listening unix socket
	Dial                     // a connected unix socket
	TapQueue                 // a queue of the tap named by Path
	GivenTap                 // the tap named by Path, which somebody else made
	VHostNet                 // /dev/vhost-net
	VHostVsock               // /dev/vhost-vsock, with the guest's number claimed
	Folder                   // a directory that belongs to the guest's user: QEMU makes sockets in it
)

// Need is a file that has to be there for QEMU to start.
type Need struct {
	Name   string // among the files of the qemu.Config; empty for Check
	Path   string
	Access Access
	Device string // as in messages: "disk vda"
	Direct bool   // past the page cache: QEMU takes only a descriptor with O_DIRECT then
	Block  bool   // has to be a block device; otherwise an image has to be a regular file
	Image  bool   // a disk image: neither a directory nor a device unless Block
	File   bool   // has to be a regular file though it is no image: a kernel
	Copy   bool   // a copy serves as well, where the guest's user may not read the file itself
	Format string // of an image, as declared: CheckImage compares it with the content
	// Backing says that the document declares a backing image. An image that names one is otherwise refused.
	Backing bool
	// Template is what the file is a copy of when it is not there yet, or is to begin afresh; "" for none.
	Template string
	NVRAM    bool // holds the variables of firmware
}

// NeedError says that a file QEMU needs cannot be had. The cause is kept for errors.Is.
type NeedError struct {
	Need Need
	Err  error
}

// Error implements error: disk vda: /path: no such file or directory; create it, or correct the path in the document.
func (e *NeedError) Error() string {
	s := fmt.Sprintf("%s: %s: %v", e.Need.Device, e.Need.Path, e.Err)
	if r := e.remedy(); r != "" {
		s += "; " + r
	}
	return s
}

// remedy is what an administrator can do about the causes that say only what the kernel said.
func (e *NeedError) remedy() string {
	for _, r := range []struct {
		errno  syscall.Errno
		remedy string
	}{
		{syscall.ENOENT, "create it, or correct the path in the document"},
		{syscall.ENOTDIR, "correct the path in the document"},
		{syscall.ELOOP, "correct the path in the document, or the links"},
		{syscall.EISDIR, "name a file"},
		{syscall.EROFS, "mount its file system writable" + e.orReadOnly()},
		{syscall.ENOSPC, "make room on its file system"},
		{syscall.ECONNREFUSED, "start the program that listens there"},
		{syscall.EMFILE, "raise the limit of open files of taproomd (LimitNOFILE)"},
	} {
		if errors.Is(e.Err, r.errno) {
			return r.remedy
		}
	}
	return ""
}

func (e *NeedError) orReadOnly() string {
	if e.Need.Image {
		return ", or add <readonly/> to the disk"
	}
	return ""
}

// Unwrap implements errors.Unwrap's interface.
func (e *NeedError) Unwrap() error { return e.Err }

// Compiled is a guest ready to be started.
type Compiled struct {
	Config *qemu.Config
	Needs  []Need
	// Companions are the programs that serve devices and run beside QEMU.
	Companions []Companion
	// Taints are libvirt's names for what makes a guest unusual: custom-argv, host-cpu.
	Taints []string
	// Startup is what has to be done over QMP before the guest runs for the first time.
	Startup Startup
	// LockMemory says that QEMU must be able to lock all its memory, HugePages what the host has to have free for it, and
	// MemoryDir that Runtime.MemoryDir has to be there, for the guest's user to make files in.
	LockMemory bool
	HugePages  []HugePageNeed
	MemoryDir  bool

	Pins Pins // for the next Compile of the same run
}

// Startup is what QEMU's command line cannot say.
type Startup struct {
	LinksDown     []string // ids for set_link
	LinksUp       []string // those that the document says are up: they may have been down
	BalloonPath   string   // QOM path of the balloon whose statistics are polled
	BalloonPeriod int      // in seconds; 0: not polled
	BalloonBytes  uint64   // currentMemory, where it is less than memory; 0: leave it
	Passwords     []DisplayPassword
	Throttles     []Throttle
}
