package qemu

// Config is one QEMU command line as data. It prints the same for the same guest and names files instead of holding
// them.
type Config struct {
	Binary string // absolute path of the emulator
	Name   string // of the guest; shown by ps
	UUID   string // "" leaves it out

	Machine  Option // "pc-i440fx-7.2" and its properties
	Accel    Option // "tcg" or "kvm" and its properties
	CPU      Option // "qemu64"; an empty Option leaves QEMU's default
	SMP      Option // "2" and sockets, cores, threads
	MemoryMB uint64 // "-m"; 0 leaves QEMU's default
	Memory   Option // in place of MemoryMB: size, slots, maxmem

	Firmware []string // directories searched for firmware before QEMU's own (-L)
	Kernel   string   // path of a kernel to boot; QEMU opens it, so it is in ReadOnly too
	Initrd   string
	Append   string

	Objects   []Props // -object
	FDSets    []FDSet
	Chardevs  []Chardev
	QMP       string // name of the monitor's listening socket; "" for no monitor
	Blockdevs []Props
	Netdevs   []Props
	Devices   []Props
	VNC       *Option // "127.0.0.1:0" and its properties; nil for no display
	Flags     []Flag  // options that need no structure: -rtc, -boot, -global, …
	Extra     []string
	Env       []string // added to the small environment QEMU gets
	Incoming  bool     // the machine's state comes from elsewhere: over the monitor it is said from where
	// Disposable runs at once and ends with its guest; a Config without it waits to be told to run, and when its guest is
	// over to be read.
	Disposable bool
	NoSandbox  bool // for a binary that was built without seccomp (Capabilities.Sandbox) and nothing else

	// What QEMU opens by name beyond its own libraries and firmware. Landlock denies everything else.
	ReadOnly   []string
	ReadWrite  []string
	BindTCP    []uint16 // ports that QEMU listens on itself (VNC)
	ConnectTCP []uint16 // ports that QEMU connects to itself
	Resolves   bool     // it looks up names, and verifies certificates
	AnyTCP     bool     // user-mode networking: no limit to TCP ports
}

// Flag is one option of QEMU's old form, such as {"-rtc", Option{Props: …}}.
type Flag struct {
	Name  string
	Value Option
}

// FDSet is a set of descriptors that QEMU opens as /dev/fdset/ID. Either name may be empty. A disk has both, because QEMU
// opens it read-only and read-write at different times and a ruleset cannot grow at hot-plug.
type FDSet struct {
	ID                  int
	ReadOnly, ReadWrite string
}

// Path is how QEMU opens the set.
func (s FDSet) Path() string { return "/dev/fdset/" + itoa(s.ID) }

// Chardev is a character device.
type Chardev struct {
	ID      string
	Backend string // "socket", "pty", "null", "file", …
	Props   Props
}

// ListenChardev is a socket that already listens, passed by descriptor: clients may come and go.
func ListenChardev(id, file string) Chardev {
	return Chardev{ID: id, Backend: "socket", Props: Props{{"fd", FD(file)}, {"server", true}, {"wait", false}}}
}

// monitorChardev is the monitor's socket. QEMU takes the connection that waits there before it sets the monitor up: one
// that comes while it does so is read by its main loop and by the monitor's thread at once, which garbles commands
// (chardev/char-socket.c and monitor_init_qmp; seen with QEMU 7.2, once in some thousands of starts). Later ones may come
// and go.
func monitorChardev(file string) Chardev {
	return Chardev{ID: "qmp", Backend: "socket", Props: Props{{"fd", FD(file)}, {"server", true}, {"wait", true}}}
}

// waits is what QEMU tells of that, which is of interest to nobody.
const waits = "info: QEMU waiting for connection on: "

// sandbox is what QEMU denies itself: system calls of the past, gaining privileges, starting programs, changing limits.
const sandbox = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"
