package vnetd

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// allowedHere are calls that other architectures do not have.
func allowedHere() []uint32 {
	return []uint32{unix.SYS_ARCH_PRCTL, unix.SYS_EPOLL_WAIT, unix.SYS_POLL, unix.SYS_NEWFSTATAT}
}
