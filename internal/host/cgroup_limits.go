package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ReadCgroup reads a file of a cgroup. One whose controller is not enabled is fs.ErrNotExist.
func (k *Kernel) ReadCgroup(path, file string) (string, error) {
	k.Step("cgroup read " + filepath.Base(path))
	b, err := os.ReadFile(filepath.Join(path, file))
	return strings.TrimSpace(string(b)), err
}

// WriteCgroup writes a file of a cgroup, which the kernel has made.
func (k *Kernel) WriteCgroup(path, file, value string) error {
	k.Step("cgroup write " + filepath.Base(path) + " " + file)
	f, err := os.OpenFile(filepath.Join(path, file), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %q to %s: %w", value, file, err)
	}
	return nil
}

// EnableController makes a controller available in path, by enabling it in everything above it, from root down. That the
// host does not have it there is a *Missing.
func (k *Kernel) EnableController(root, path, controller string) error {
	rel, err := filepath.Rel(root, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return fmt.Errorf("cgroup %s is not below %s", path, root)
	}
	at := root
	for _, name := range strings.Split(rel, "/") {
		has, err := k.ReadCgroup(at, "cgroup.controllers")
		if err != nil {
			return err
		}
		if !slices.Contains(strings.Fields(has), controller) {
			return &Missing{
				What:   fmt.Sprintf("%s controller of cgroup v2 in %s (it has: %s)", controller, at, orNothing(has)),
				Config: "mount -t cgroup2 without hierarchies of version 1 (systemd.unified_cgroup_hierarchy=1), and Delegate=yes where the daemon is below a slice", Err: unix.ENODEV,
			}
		}
		on, err := k.ReadCgroup(at, "cgroup.subtree_control")
		if err != nil {
			return err
		}
		if !slices.Contains(strings.Fields(on), controller) {
			if err := k.WriteCgroup(at, "cgroup.subtree_control", "+"+controller); err != nil {
				return fmt.Errorf("enable the %s controller below %s: %w", controller, at, err)
			}
		}
		at = filepath.Join(at, name)
	}
	return nil
}

func orNothing(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// MakeThreadGroup makes a cgroup for some of the threads of the processes of parent. One that exists is fine.
func (k *Kernel) MakeThreadGroup(parent, name string) error {
	path := filepath.Join(parent, name)
	if err := k.MakeCgroup(path); err != nil {
		return err
	}
	if kind, err := k.ReadCgroup(path, "cgroup.type"); err != nil || kind == "threaded" {
		return err
	}
	return k.WriteCgroup(path, "cgroup.type", "threaded")
}

// MoveThread puts a thread into a thread group. One that has just ended is fine.
func (k *Kernel) MoveThread(path string, tid int) error {
	err := k.WriteCgroup(path, "cgroup.threads", strconv.Itoa(tid))
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// CgroupChildren are the names of the cgroups directly below path.
func (k *Kernel) CgroupChildren(path string) ([]string, error) {
	k.Step("cgroup read " + filepath.Base(path))
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out, err
}

// DeviceNumber is the number of a block device as cgroups write it: "8:0".
func (k *Kernel) DeviceNumber(path string) (string, error) {
	k.Step("device number " + filepath.Base(path))
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return "", fmt.Errorf("%s is no block device", path)
	}
	return fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev)), nil
}
