package uml

import (
	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// syscalls are all that the guest's kernel may call. The guest's programs are not meant: the kernel takes their calls from them before
// the filter is asked. There is no socket to the outside among them, no namespace, no module, no other user. What cannot be left out:
// clone, by which programs run, but for namespaces, which the filter denies; ptrace and kill, which Landlock holds to processes that it
// made itself; open, which Landlock leaves a handful of files; and execve, by which it is itself executed, and which Landlock leaves nothing else. What must be left out is rseq: the C library would register memory that the guest's programs inherit and do
// not have, and the host's kernel would kill them for that.
func syscalls() host.Syscalls {
	return host.Syscalls{
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_READV, unix.SYS_WRITEV,
		unix.SYS_OPEN, unix.SYS_OPENAT, unix.SYS_CLOSE, unix.SYS_STAT, unix.SYS_FSTAT, unix.SYS_LSTAT, unix.SYS_NEWFSTATAT,
		unix.SYS_LSEEK, unix.SYS_POLL, unix.SYS_FCNTL, unix.SYS_IOCTL, unix.SYS_ACCESS, unix.SYS_READLINK, unix.SYS_READLINKAT,
		unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE, unix.SYS_FCHMOD, unix.SYS_GETCWD, unix.SYS_MKDIR,
		unix.SYS_PIPE, unix.SYS_PIPE2, unix.SYS_DUP, unix.SYS_DUP3, unix.SYS_SOCKETPAIR, unix.SYS_RECVMSG, unix.SYS_MEMFD_CREATE,
		unix.SYS_EPOLL_CREATE, unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT,
		unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_BRK, unix.SYS_MSYNC,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGSUSPEND, unix.SYS_RT_SIGTIMEDWAIT,
		unix.SYS_SIGALTSTACK, unix.SYS_PAUSE, unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL,
		unix.SYS_CLONE, unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_EXECVE, unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_WAIT4,
		unix.SYS_PTRACE, unix.SYS_PRCTL, unix.SYS_ARCH_PRCTL, unix.SYS_SET_TID_ADDRESS, unix.SYS_SET_ROBUST_LIST, unix.SYS_FUTEX,
		unix.SYS_GETPID, unix.SYS_GETPPID, unix.SYS_GETTID, unix.SYS_SETSID, unix.SYS_GETSID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID,
		unix.SYS_UNAME, unix.SYS_GETRLIMIT, unix.SYS_PRLIMIT64, unix.SYS_GETRANDOM, unix.SYS_SCHED_YIELD,
		unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_NANOSLEEP, unix.SYS_GETTIMEOFDAY,
		unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_GETTIME, unix.SYS_TIMER_GETOVERRUN, unix.SYS_TIMER_DELETE,
		unix.SYS_SETITIMER, unix.SYS_RESTART_SYSCALL,
	}
}
