package host

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Syscalls is a filter of system calls (seccomp(2)): those that are named, by the numbers of this processor; every other one fails
// with EPERM. Where clone(2) is named, it makes no namespaces: that fails with EPERM, too.
type Syscalls []uint32

// mostSyscalls bounds a filter: the kernel takes 4096 instructions.
const mostSyscalls = 1000

// Restrict takes all other system calls away from the calling thread, what it will execute and fork included, for good. The caller has
// locked the goroutine to the thread and set no_new_privs. The filter must name what exec needs.
func (s Syscalls) Restrict() error {
	program, err := s.program()
	if err != nil {
		return fmt.Errorf("make a filter of system calls: %w", err)
	}
	f := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&f)))
	runtime.KeepAlive(program)
	if errno == unix.ENOSYS || errno == unix.EINVAL {
		return &Missing{What: "filters of system calls", Config: "CONFIG_SECCOMP_FILTER=y", Err: errno}
	}
	if errno != 0 {
		return fmt.Errorf("apply a filter of system calls: %w", errno)
	}
	return nil
}

// Offsets in struct seccomp_data.
const (
	seccompNumber = 0
	seccompArch   = 4
	seccompFlags  = 16 // the first argument's lower half: all that clone(2) looks at
)

// cloneNew are the flags of clone(2) that make namespaces. That for time is a signal's number there, and no namespace.
const cloneNew = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// program compiles the filter.
func (s Syscalls) program() ([]unix.SockFilter, error) {
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	switch {
	case !ok:
		return nil, fmt.Errorf("no filter is known for %s", runtime.GOARCH)
	case len(s) == 0 || len(s) > mostSyscalls:
		return nil, errors.New("it would name none, or too many")
	}
	const (
		load = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		same = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		set  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		end  = unix.BPF_RET | unix.BPF_K
	)
	// Another architecture's calls, such as those of 32 bits, have other numbers.
	p := []unix.SockFilter{
		{Code: load, K: seccompArch},
		{Code: same, K: arch, Jt: 1},
		{Code: end, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: seccompNumber},
	}
	numbers := slices.Compact(slices.Sorted(slices.Values(s)))
	allow, deny := unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW}, unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	for _, n := range numbers {
		if n == unix.SYS_CLONE {
			p = append(p, unix.SockFilter{Code: same, K: n, Jf: 4}, unix.SockFilter{Code: load, K: seccompFlags}, unix.SockFilter{Code: set, K: cloneNew, Jt: 1}, allow, deny)
			continue
		}
		p = append(p, unix.SockFilter{Code: same, K: n, Jf: 1}, allow)
	}
	return append(p, deny), nil
}
