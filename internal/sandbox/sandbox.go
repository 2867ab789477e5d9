// Package sandbox runs a program, and a daemon for it, where it can hurt nobody: in network and mount namespaces of its
// own and below a folder that goes away. The demonstration and the benchmarks live in it.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// marker tells a program that it is the one inside.
const marker = "TAPROOM_SANDBOX"

// Inside reports whether this process runs inside a sandbox.
func Inside() bool { return os.Getenv(marker) != "" }

// Allowed says why this process may not make a sandbox, if so.
func Allowed() error {
	if os.Geteuid() != 0 {
		return errors.New("a network namespace of its own needs root; run this as root")
	}
	return nil
}

// Enter runs this program again with the same arguments, inside, and returns its exit code. It needs root.
func Enter(ctx context.Context) (int, error) {
	if err := Allowed(); err != nil {
		return 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	c := exec.CommandContext(ctx, self, os.Args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Env = append(os.Environ(), marker+"=1")
	// A group of its own: ^C reaches this process alone, which passes it on once. A second signal would cut the cleaning
	// up short, and the daemon inside must not hear the first.
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS, Setpgid: true}
	c.Cancel = func() error { return c.Process.Signal(unix.SIGTERM) } // it cleans up
	if err = StartTied(c, unix.SIGTERM); err == nil {
		err = c.Wait()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("enter namespaces: %w", err)
	}
	return 0, nil
}

// Prepare is the first thing to do inside: mounts become private, /sys shows this network namespace, lo is up.
func Prepare(ctx context.Context) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	cgroups, err := bindCgroups()
	if err != nil {
		return err
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return fmt.Errorf("mount a sysfs of the namespace: %w", err)
	}
	if err := cgroups(); err != nil {
		return err
	}
	return IP(ctx, "link", "set", "lo", "up")
}

// bindCgroups remembers the tree of cgroups, which the new sysfs hides, and returns what puts it back.
func bindCgroups() (func() error, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, "/sys/fs/cgroup", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return nil, fmt.Errorf("keep the cgroup mounts: %w", err)
	}
	return func() error {
		defer unix.Close(fd)
		if err := unix.MoveMount(fd, "", unix.AT_FDCWD, "/sys/fs/cgroup", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("put the cgroup mounts back: %w", err)
		}
		return nil
	}, nil
}

// IP runs ip(8).
func IP(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %q: %w: %s", args, err, out)
	}
	return nil
}
