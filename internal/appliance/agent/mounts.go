package agent

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mountAll mounts the kernel's own file systems. What cannot be mounted is reported and does not stop the boot.
func mountAll() error {
	var errs []error
	for _, m := range []struct {
		kind, at, data string
		flags          uintptr
	}{
		{"devtmpfs", "/dev", "mode=0755", unix.MS_NOSUID},
		{"proc", "/proc", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"sysfs", "/sys", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"devpts", "/dev/pts", "mode=0620,ptmxmode=0666", unix.MS_NOSUID | unix.MS_NOEXEC},
		{"tmpfs", "/tmp", "mode=1777", unix.MS_NOSUID | unix.MS_NODEV},
	} {
		if err := os.MkdirAll(m.at, 0o755); err != nil {
			errs = append(errs, err)
			continue
		}
		if err := unix.Mount(m.kind, m.at, m.kind, m.flags, m.data); err != nil && !errors.Is(err, unix.EBUSY) {
			errs = append(errs, fmt.Errorf("mount %s at %s: %w", m.kind, m.at, err))
		}
	}
	return errors.Join(append(errs, os.MkdirAll("/etc", 0o755))...)
}
