package vnetd

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Confinement is what the process gives up before it serves.
type Confinement struct {
	UID, GID int
	Root     string // an empty directory that becomes the root
	Files    uint64 // how many descriptors it may have
	Connects bool   // by TCP to any port, not to name servers alone
}

// Confined says what holds the process beside its user and its empty root: "enforced", or why this kernel has it not.
type Confined struct {
	Landlock string
	Seccomp  string
}

// Enter gives everything up, on every thread. Anything that cannot be given up, but for a Landlock or seccomp that the
// kernel lacks, is an error, and the caller must not go on.
func (c Confinement) Enter() (Confined, error) {
	var is Confined
	if c.UID <= 0 || c.GID <= 0 {
		return is, fmt.Errorf("user %d, group %d: taproom-vnet needs an unprivileged user of its own", c.UID, c.GID)
	}
	steps := []struct {
		what string
		do   func() error
	}{
		{"limit descriptors", func() error { return limitFiles(c.Files) }},
		{"forbid core dumps", func() error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }},
		{"change root to " + c.Root, func() error { return unix.Chroot(c.Root) }},
		{"change directory", func() error { return unix.Chdir("/") }},
		{"drop groups", func() error { return syscall.Setgroups(nil) }},
		{"change group", func() error { return syscall.Setresgid(c.GID, c.GID, c.GID) }},
		{"change user", func() error { return syscall.Setresuid(c.UID, c.UID, c.UID) }}, // takes all capabilities with it
		{"forbid new privileges", func() error { return allThreads(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0) }},
		{"forbid attaching", func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }},
		{"limit processes", func() error { return unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: 128, Max: 128}) }},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return is, fmt.Errorf("confine taproom-vnet: %s: %w", s.what, err)
		}
	}
	var err error
	if is.Landlock, err = landlock(c.Connects); err == nil {
		is.Seccomp, err = seccomp()
	}
	return is, err
}

// limitFiles sets how many descriptors the process may have. Where root may not raise that (a container) it is as many
// as there may be.
func limitFiles(n uint64) error {
	err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n})
	if !errors.Is(err, unix.EPERM) {
		return err
	}
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err != nil {
		return err
	}
	n = min(n, now.Max)
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n})
}

// landlock forbids every access to files but reading, every TCP port but that of name servers (unless it connects), every
// abstract socket and every signal to others. Reading has to stay: the folders that TFTP serves come later, as mounts of their own, and rules
// cannot be added then. The root is empty, so there is nothing else to read.
func landlock(connects bool) (string, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return fmt.Sprintf("this kernel has no Landlock (%v); the empty root and the user still hold", errno), nil
	}
	attr := handled(int(abi))
	if connects {
		attr.Handled_access_net &^= unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return "", fmt.Errorf("confine taproom-vnet: make a Landlock ruleset: %w", errno)
	}
	defer unix.Close(int(fd))
	if attr.Handled_access_net&unix.LANDLOCK_ACCESS_NET_CONNECT_TCP != 0 {
		rule := netPort{access: unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, port: 53}
		if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, fd, ruleNetPort, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
			return "", fmt.Errorf("confine taproom-vnet: allow TCP to name servers: %w", errno)
		}
	}
	if err := allThreads(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); err != nil {
		return "", fmt.Errorf("confine taproom-vnet: enforce Landlock: %w", err)
	}
	return "enforced", nil
}

// ruleNetPort is LANDLOCK_RULE_NET_PORT, netPort struct landlock_net_port_attr (include/uapi/linux/landlock.h).
const ruleNetPort = 2

type netPort struct{ access, port uint64 }

// handled names everything that a version of Landlock can forbid (landlock(7)).
func handled(abi int) unix.LandlockRulesetAttr {
	a := unix.LandlockRulesetAttr{Handled_access_fs: (1<<13 - 1) &^ unix.LANDLOCK_ACCESS_FS_READ_FILE}
	for _, more := range []struct {
		abi int
		bit uint64
	}{{2, unix.LANDLOCK_ACCESS_FS_REFER}, {3, unix.LANDLOCK_ACCESS_FS_TRUNCATE}, {5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV}} {
		if abi >= more.abi {
			a.Handled_access_fs |= more.bit
		}
	}
	if abi >= 4 {
		a.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 6 {
		a.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return a
}

// allThreads makes a system call on every thread: these settings belong to a thread, and Go has several.
func allThreads(call, a, b, c uintptr) error {
	_, _, errno := syscall.AllThreadsSyscall6(call, a, b, c, 0, 0, 0)
	if errors.Is(errno, syscall.ENOTSUP) {
		return errors.New("a program linked with C code cannot; build it with CGO_ENABLED=0")
	}
	if errno != 0 {
		return errno
	}
	return nil
}
