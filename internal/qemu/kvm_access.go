package qemu

import (
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// kvmPath is the device that QEMU opens by name for KVM (7.2 takes no descriptor for it).
const kvmPath = "/dev/kvm"

// deviceGroups returns the groups that the user of a guest needs besides its own to open a device: none where everybody
// may, and the device's where that may. Debian's /dev/kvm is root's and group kvm's, mode 0660. Root's group is given to
// nobody.
func deviceGroups(k *host.Kernel, path string) ([]uint32, error) {
	k.Step("file stat of a device")
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	const everybody, group = 0o006, 0o060
	switch {
	case st.Mode&everybody == everybody:
		return nil, nil
	case st.Mode&group == group && st.Gid != 0:
		return []uint32{st.Gid}, nil
	}
	return nil, fmt.Errorf("only root may open %s, and guests never run as root: chgrp kvm %s && chmod 0660 %s", path, path, path)
}
