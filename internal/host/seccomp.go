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
// with EPERM.
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
)

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
	for _, n := range numbers {
		p = append(p, unix.SockFilter{Code: same, K: n, Jf: 1}, unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW})
	}
	return append(p, unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}), nil
}
