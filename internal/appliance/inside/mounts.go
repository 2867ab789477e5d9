package inside

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// treeRoot is where images are mounted.
const treeRoot = "/sysroot"

// mountKernel mounts the kernel's own file systems, and an empty tree.
func mountKernel() error {
	for _, m := range []struct {
		kind, at, data string
		flags          uintptr
	}{
		{"devtmpfs", "/dev", "mode=0755", unix.MS_NOSUID},
		{"proc", "/proc", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"sysfs", "/sys", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"tmpfs", "/run", "mode=0755", unix.MS_NOSUID | unix.MS_NODEV},
		{"tmpfs", treeRoot, "mode=0755,size=16m", unix.MS_NOSUID | unix.MS_NODEV},
	} {
		if err := os.MkdirAll(m.at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, m.at, m.kind, m.flags, m.data); err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mount %s at %s: %w", m.kind, m.at, err)
		}
	}
	// What is mounted in the tree later shows up wherever the tree is bound to, and so does a boot ID over the kernel's.
	for _, at := range []string{treeRoot, "/proc"} {
		if err := unix.Mount("", at, "", unix.MS_SHARED, ""); err != nil {
			return fmt.Errorf("share %s: %w", at, err)
		}
	}
	return nil
}
