package host

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock is all that a thread may still do with files, TCP and other processes. What is not named is denied as far as
// the kernel can: each version of Landlock knows more, and what it does not know stays allowed.
type Landlock struct {
	ReadExec   []string // read, list and execute; a directory means what is below it
	ReadOnly   []string // read and list
	ReadWrite  []string // read, write, create, remove and ioctl; not execute
	BindTCP    []uint16 // ports that may be bound (ABI 4)
	ConnectTCP []uint16 // ports that may be connected to (ABI 4)
	AnyTCP     bool     // no limit to TCP at all, for what must reach ports nobody can name
	// ScopeAbstract cuts off abstract Unix sockets of processes outside (ABI 6). Sockets on a path stay reachable: file
	// modes guard those.
	ScopeAbstract bool
	ScopeSignals  bool // no signals to processes outside (ABI 6)
}

// What a path may be used for: the kernel's bits.
const (
	llFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	llRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	llExec  = llRead | unix.LANDLOCK_ACCESS_FS_EXECUTE
	llWrite = llRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_REFER
)

// llNetPort is LANDLOCK_RULE_NET_PORT.
const llNetPort = 2

// landlockRuleset is struct landlock_ruleset_attr.
type landlockRuleset struct{ fs, net, scoped uint64 }

// landlockKnown says what an ABI version can handle, and how much of landlock_ruleset_attr it reads.
func landlockKnown(abi int) (landlockRuleset, uintptr) {
	known, size := landlockRuleset{fs: 1<<13 - 1}, uintptr(8)
	if abi >= 2 {
		known.fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		known.fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 4 {
		known.net, size = unix.LANDLOCK_ACCESS_NET_BIND_TCP|unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, 16
	}
	if abi >= 5 {
		known.fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		known.scoped, size = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET|unix.LANDLOCK_SCOPE_SIGNAL, 24
	}
	return known, size
}

// LandlockABI returns the kernel's Landlock version; *Missing when it has none, or was not booted with it.
func LandlockABI() (int, error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch errno {
	case 0:
		return int(v), nil
	case unix.ENOSYS:
		return 0, &Missing{What: "Landlock", Config: "CONFIG_SECURITY_LANDLOCK=y (Linux 5.13)", Err: errno}
	case unix.EOPNOTSUPP:
		return 0, &Missing{What: "active Landlock", Config: "landlock in the boot parameter lsm=", Err: errno}
	}
	return 0, fmt.Errorf("ask for the Landlock version: %w", errno)
}

// RestrictThread takes everything else away from the calling thread, what it will execute and fork included, for good,
// and returns the version that was used. The caller has locked the goroutine to the thread. On a kernel without Landlock
// it changes nothing and returns *Missing, which the caller may accept.
func (l Landlock) RestrictThread() (int, error) {
	abi, err := LandlockABI()
	if err != nil {
		return 0, err
	}
	known, size := landlockKnown(abi)
	rules := known
	rules.scoped = 0
	if l.AnyTCP {
		rules.net = 0
	}
	if l.ScopeAbstract {
		rules.scoped |= unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET & known.scoped
	}
	if l.ScopeSignals {
		rules.scoped |= unix.LANDLOCK_SCOPE_SIGNAL & known.scoped
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), size, 0)
	if errno != 0 {
		return 0, fmt.Errorf("make a Landlock ruleset: %w", errno)
	}
	defer unix.Close(int(fd))
	if err := l.addRules(int(fd), rules); err != nil {
		return 0, err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("set no_new_privs: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return 0, fmt.Errorf("apply the Landlock ruleset: %w", errno)
	}
	return abi, nil
}

func (l Landlock) addRules(fd int, rules landlockRuleset) error {
	for _, set := range []struct {
		paths  []string
		access uint64
	}{{l.ReadExec, llExec}, {l.ReadOnly, llRead}, {l.ReadWrite, llWrite}} {
		for _, p := range set.paths {
			if err := addPath(fd, p, set.access&rules.fs); err != nil {
				return fmt.Errorf("allow %s: %w", p, err)
			}
		}
	}
	if rules.net == 0 {
		return nil
	}
	return errors.Join(addPorts(fd, l.BindTCP, unix.LANDLOCK_ACCESS_NET_BIND_TCP), addPorts(fd, l.ConnectTCP, unix.LANDLOCK_ACCESS_NET_CONNECT_TCP))
}

func addPath(ruleset int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= llFile // rights of directories on a file are EINVAL
	}
	// struct landlock_path_beneath_attr is packed: 12 bytes, not 16.
	attr := struct {
		access uint64
		fd     int32
	}{access, int32(fd)}
	return addRule(ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, unsafe.Pointer(&attr))
}

func addPorts(ruleset int, ports []uint16, access uint64) error {
	for _, p := range ports {
		attr := struct{ access, port uint64 }{access, uint64(p)}
		if err := addRule(ruleset, llNetPort, unsafe.Pointer(&attr)); err != nil {
			return fmt.Errorf("allow TCP port %d: %w", p, err)
		}
	}
	return nil
}

func addRule(ruleset int, kind uintptr, attr unsafe.Pointer) error {
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), kind, uintptr(attr), 0, 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_add_rule", errno)
	}
	return nil
}
