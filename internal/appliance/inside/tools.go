package inside

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const (
	toolsRoot = "/tools"
	// toolsSerial is the serial number of the disk with the tools.
	toolsSerial = "taproom-tools"
)

// mountTools mounts the disk with the tools, once, and in it what programs expect to find.
func (s *system) mountTools() error {
	s.toolsLock.Lock()
	defer s.toolsLock.Unlock()
	if s.toolsMounted {
		return nil
	}
	err := mountTools()
	s.toolsMounted = err == nil
	return err
}

func mountTools() error {
	name := hostDisks().bySerial(toolsSerial)
	if name == "" {
		return fmt.Errorf("the appliance was started without its disk of tools: %w", unix.ENODEV)
	}
	if err := os.MkdirAll(toolsRoot, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("/dev/"+name, toolsRoot, "squashfs", unix.MS_RDONLY|unix.MS_NODEV|unix.MS_NOSUID, ""); err != nil {
		return fmt.Errorf("mount the tools: %w", err)
	}
	if f, err := os.OpenFile(machineIDFile, os.O_CREATE|os.O_RDONLY, 0o444); err == nil {
		_ = f.Close() // empty, when the greeting said none: a host without one
	}
	var errs []error
	for _, m := range []struct{ from, to string }{
		{"/dev", "/dev"}, {"/proc", "/proc"}, {"/sys", "/sys"}, {"/run", "/run"}, {treeRoot, treeRoot}, {machineIDFile, "/etc/machine-id"},
	} {
		// The tree is shared: what is mounted in it later is seen here as well.
		if err := unix.Mount(m.from, toolsRoot+m.to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			errs = append(errs, fmt.Errorf("show %s to the tools: %w", m.from, err))
		}
	}
	if err := unix.Mount("tmpfs", toolsRoot+"/tmp", "tmpfs", unix.MS_NODEV|unix.MS_NOSUID, "mode=1777"); err != nil {
		errs = append(errs, fmt.Errorf("give the tools a /tmp: %w", err))
	}
	if len(errs) > 0 {
		errs = append(errs, unix.Unmount(toolsRoot, unix.MNT_DETACH))
	}
	return errors.Join(errs...)
}
