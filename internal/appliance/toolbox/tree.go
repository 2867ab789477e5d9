package toolbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"taproom/internal/appliance/cache"
)

// merge moves what packages have in the root into usr, as the distribution's machines have it, and leaves links.
func merge(root string) error {
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		from, to := filepath.Join(root, name), filepath.Join(root, "usr", name)
		if err := cache.MkdirAll(to); err != nil {
			return err
		}
		if err := moveInto(from, to); err != nil {
			return fmt.Errorf("move %s: %w", from, err)
		}
		if err := os.Symlink("usr/"+name, from); err != nil {
			return err
		}
	}
	return nil
}

// moveInto moves what is in a folder into another, and removes it. A folder that is not there is empty.
func moveInto(from, to string) error {
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		old, fresh := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		info, err := os.Lstat(fresh)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = os.Rename(old, fresh)
		case err == nil && info.IsDir() && e.IsDir():
			err = moveInto(old, fresh)
		case err == nil && e.Type() == fs.ModeSymlink: // to where it was moved, such as /bin/x to /usr/bin/x
			err = os.Remove(old)
		case err == nil:
			err = fmt.Errorf("%s is there already", fresh)
		}
		if err != nil {
			return err
		}
	}
	return os.Remove(from)
}

// drop removes what matches patterns of paths.
func drop(root string, patterns []string) error {
	for _, p := range patterns {
		list, err := filepath.Glob(filepath.Join(root, p))
		if err != nil {
			return fmt.Errorf("pattern %s: %w", p, err)
		}
		for _, path := range list {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// lvmConf has lvm find devices itself, since there is no udev, and write nothing, since all is read-only.
const lvmConf = `devices {
	dir = "/dev"
	scan = [ "/dev" ]
	use_devicesfile = 0
	obtain_device_list_from_udev = 0
	external_device_info_source = "none"
}
activation {
	udev_sync = 0
	udev_rules = 0
	monitoring = 0
}
backup {
	backup = 0
	archive = 0
}
global {
	use_lvmpolld = 0
	locking_dir = "/run/lock/lvm"
}
`

// furnish adds what an installation would make: folders to mount on, names of users, settings.
func furnish(root string, list []item) error {
	for _, name := range []string{"dev", "proc", "sys", "run", "tmp", "sysroot", "root", "etc/lvm", "var"} {
		if err := cache.MkdirAll(filepath.Join(root, name)); err != nil {
			return err
		}
	}
	versions := ""
	for _, i := range list {
		versions += i.Name + " " + i.Version + "\n"
	}
	for name, text := range map[string]string{
		"etc/machine-id": "", "etc/taproom-tools": versions, "etc/lvm/lvm.conf": lvmConf,
		"etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n", "etc/nsswitch.conf": "passwd: files\ngroup: files\n",
	} {
		path := filepath.Join(root, name)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := cache.WriteFile(path, []byte(text)); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{
		"etc/mtab": "/proc/self/mounts", "etc/resolv.conf": "/run/resolv.conf", "var/run": "/run", "var/lock": "/run/lock", "var/tmp": "/tmp", "usr/bin/awk": "mawk",
	} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
