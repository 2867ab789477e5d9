package vnetd

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// allowed are the system calls that the process makes from now on: those of Go's runtime and network poller, of moving
// messages through sockets it has, of writing lease files and reading files of TFTP. None makes another process, changes
// who it is, mounts, traces, or gives a file a name.
func allowed() []uint32 {
	return append([]uint32{
		unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_SCHED_YIELD,
		unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_TGKILL, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
		unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_MPROTECT, unix.SYS_MINCORE, unix.SYS_GETRANDOM, unix.SYS_RSEQ,
		unix.SYS_SET_ROBUST_LIST, unix.SYS_PRLIMIT64, unix.SYS_UNAME, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID,
		unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE, unix.SYS_SETITIMER,

		unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PIPE2, unix.SYS_PPOLL,
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_LSEEK, unix.SYS_CLOSE,
		unix.SYS_FCNTL, unix.SYS_DUP3, unix.SYS_FSTAT, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FTRUNCATE, unix.SYS_OPENAT2, unix.SYS_STATX, unix.SYS_FSTATFS,

		unix.SYS_RECVMSG, unix.SYS_SENDMSG, unix.SYS_RECVFROM, unix.SYS_SENDTO, unix.SYS_RECVMMSG, unix.SYS_SENDMMSG, unix.SYS_ACCEPT4,
		unix.SYS_CONNECT, unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME, unix.SYS_GETSOCKOPT, unix.SYS_SETSOCKOPT, unix.SYS_SHUTDOWN,
	}, allowedHere()...)
}

const (
	dataNumber = 0 // offsets of struct seccomp_data (include/uapi/linux/seccomp.h)
	dataArch   = 4
	dataArgs   = 16

	x32 = 0x40000000 // set in the numbers of another ABI that this architecture has

	actAllow = uint32(unix.SECCOMP_RET_ALLOW)
	actKill  = uint32(unix.SECCOMP_RET_KILL_PROCESS)
	actDeny  = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPERM)
)

// policy is the filter. A call that is not allowed fails with EPERM; one of another architecture's ABI, whose numbers mean
// other things, ends the process. Threads may be made and processes not; sockets of UDP and TCP may be made, for asking
// name servers and for what Confinement.Connects allows, and no others.
func policy() []bpf.Instruction {
	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: dataArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: actKill},
		bpf.LoadAbsolute{Off: dataNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1},
		bpf.RetConstant{Val: actKill},
	}
	for _, number := range allowed() {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: 1}, bpf.RetConstant{Val: actAllow})
	}
	arg := func(i int) bpf.Instruction { return bpf.LoadAbsolute{Off: uint32(dataArgs + 8*i), Size: 4} }
	return append(p,
		// clone3 hides its flags behind a pointer; the runtime does without where it is missing.
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE3, SkipTrue: 1},
		bpf.RetConstant{Val: uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.ENOSYS)},

		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE, SkipTrue: 4},
		arg(0),
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: unix.CLONE_THREAD, SkipTrue: 1},
		bpf.RetConstant{Val: actAllow},
		bpf.RetConstant{Val: actDeny},

		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_SOCKET, SkipTrue: 8},
		arg(0),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_INET6, SkipTrue: 5},
		arg(1),
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf}, // without SOCK_CLOEXEC and SOCK_NONBLOCK
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_DGRAM, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SOCK_STREAM, SkipTrue: 1},
		bpf.RetConstant{Val: actAllow},
		bpf.RetConstant{Val: actDeny},
	)
}

// seccomp sets the filter on every thread. It returns "enforced" or why this kernel has none.
func seccomp() (string, error) {
	raw, err := bpf.Assemble(policy())
	if err != nil {
		return "", fmt.Errorf("confine taproom-vnet: assemble its filter of system calls: %w", err)
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	switch {
	case errors.Is(errno, unix.ENOSYS), errors.Is(errno, unix.EINVAL):
		return fmt.Sprintf("this kernel filters no system calls (%v); the user and the empty root still hold", errno), nil
	case errno != 0:
		return "", fmt.Errorf("confine taproom-vnet: filter its system calls: %w", errno)
	case thread != 0:
		return "", fmt.Errorf("confine taproom-vnet: thread %d has another filter of system calls", thread)
	}
	return "enforced", nil
}
