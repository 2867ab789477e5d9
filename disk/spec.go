package disk

import (
	"taproom/internal/appliance/chain"
	"taproom/internal/appliance/launch"
)

// Access is what an appliance may do to an image.
type Access = launch.Access

// Kinds of access. Discard is the default.
const (
	// Discard lets the appliance write, to a private file in TMPDIR that is gone with it. The image stays as it is.
	Discard = launch.Discard
	// ReadOnly gives it a disk that refuses writes. A file system that was not cleanly unmounted may refuse to be mounted so.
	ReadOnly = launch.ReadOnly
	// Write changes the image. What Sync and Close have returned from is on the host's disk.
	Write = launch.Write
	// Scratch changes the image too, and nothing waits for the host's disk: for images that are thrown away when anything goes
	// wrong.
	Scratch = launch.Scratch
)

// Image is a disk image, or a block device of the host.
type Image struct {
	Path string
	// Format is "raw" or "qcow2". An image that is written to needs it said: whoever wrote to a raw disk decides what it looks
	// like. For others it is looked for when it is empty.
	Format string
	Access Access
	// Within names files and folders that the image may lead to: its backing file, and the one below that, and so on. Without, an
	// image that leads anywhere is refused.
	Within []string
	// made is the path of a file without a name that is opened instead of Path, which is the folder that it lies in.
	made string
}

// Way is how an appliance comes to be.
type Way string

// The ways. Auto, the default, is the fastest that works here.
const (
	Auto     Way = ""
	Cold     Way = "cold"     // it boots
	Template Way = "template" // it goes on where a machine stopped that was booted once, and is kept in the user's cache
	// Pool takes one that the user's pool process has ready, which is started where there is none (taproom appliance pool).
	Pool Way = "pool"
	// Libvirt has a libvirt daemon on this host run it, such as taproomd, as a domain that ends with this process. The daemon opens
	// the images by their paths.
	Libvirt Way = "libvirt"
	// UML makes it a process of User-Mode Linux, without QEMU: for raw files alone, and where taproom appliance build --uml has made its
	// kernel. It starts later than Template.
	UML Way = "uml"
)

// Spec says which appliance is wanted.
type Spec struct {
	Images []Image
	Way    Way
	// Network is what it is connected to; nil: it has no NIC.
	Network *Network
	Memory  uint64 // MiB; 0 is enough to look at file systems
	QEMU    string // path of the emulator; "": qemu-system-x86_64 of the search path
	// Programs is the folder with taproom-launch and taproom-init; "": beside the running program, or of the search path.
	Programs string
	// Cgroup is the directory of a cgroup v2 that QEMU is born in; "" leaves it in the cgroup of the process that starts it.
	Cgroup string
	// Connect is the URI of the daemon that Libvirt asks: qemu:///system or qemu:///session, with ?socket=PATH for one at a place of its
	// own; "": the machine's for root, the session's for others.
	Connect string
	// CacheDir is a folder of this user's alone where Template and Auto keep the machine that was booted once; "":
	// /var/cache/taproom/templates for root, taproom/templates in the user's cache for others.
	CacheDir string
	// Progress is told what takes long, such as fetching a kernel, in a few words; nil tells nobody.
	Progress func(string)
}

// Error says why an image was refused, and shows the images that led there. The reasons below are found in it with errors.Is.
type Error = chain.Error

// Reasons to refuse an image.
var (
	ErrOutside = chain.ErrOutside // it leads to a file that the caller did not name
	ErrFormat  = chain.ErrFormat  // its format must be said, is not what was said, or is not opened
	ErrCorrupt = chain.ErrCorrupt // it is cut off or damaged
)
