package launch

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dropPrivileges gives up users, groups and capabilities of the calling thread for good, and keeps of groups those named.
// Raw system calls, because those of package syscall change every thread of the process, and only this one will be left.
func dropPrivileges(uid, gid uint32, groups []uint32) error {
	if unix.Geteuid() == 0 {
		if err := dropBounding(); err != nil {
			return err
		}
		if err := setGroups(groups); err != nil {
			return err
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)); errno != 0 {
			return fmt.Errorf("become group %d: %w", gid, errno)
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
			return fmt.Errorf("become user %d: %w", uid, errno)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	return verify(uid, gid)
}

// setGroups sets the supplementary groups and looks at the result.
func setGroups(groups []uint32) error {
	want := slices.Sorted(slices.Values(groups))  // as the kernel keeps them
	list := append(want[:len(want):len(want)], 0) // never empty, so that it has an address
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&list[0])), 0); errno != 0 {
		return fmt.Errorf("set the supplementary groups to %d: %w", groups, errno)
	}
	got, err := unix.Getgroups()
	if err != nil {
		return fmt.Errorf("read the supplementary groups: %w", err)
	}
	if !slices.EqualFunc(got, want, func(a int, b uint32) bool { return uint32(a) == b }) {
		return fmt.Errorf("has the supplementary groups %d, not %d", got, groups)
	}
	return nil
}

// dropBounding empties the bounding set. The kernel answers EINVAL behind its last capability.
func dropBounding() error {
	for c := uintptr(0); c < 64; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && c > 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("drop capability %d from the bounding set: %w", c, err)
		}
	}
	return nil
}

// verify looks at the result: a step that was left out above must not go unnoticed.
func verify(uid, gid uint32) error {
	// x/sys reads the kernel's unsigned numbers as signed ones, so those from 2^31 on come out negative.
	ruid, euid, suid := unix.Getresuid()
	rgid, egid, sgid := unix.Getresgid()
	users, groups := [3]uint32{uint32(ruid), uint32(euid), uint32(suid)}, [3]uint32{uint32(rgid), uint32(egid), uint32(sgid)}
	if users != [3]uint32{uid, uid, uid} || groups != [3]uint32{gid, gid, gid} {
		return fmt.Errorf("is user %d and group %d (real, effective, saved), not user %d and group %d: run taproomd as root or as that user",
			users, groups, uid, gid)
	}
	return nil
}
