package vnetd

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// allowedHere are calls that other architectures do not have.
func allowedHere() []uint32 { return []uint32{unix.SYS_FSTATAT} }
