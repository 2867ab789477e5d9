package inside

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// insiders counts the programs of the tree that run, for whom the kernel's file systems are mounted there.
type insiders struct {
	mu sync.Mutex
	n  int
	at []string // paths of what was mounted
}

// kernelFolders mounts the kernel's own file systems in the tree, where it has folders for them, until every caller is done.
func (s *system) kernelFolders() (done func(), err error) {
	i := &s.insiders
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.n == 0 {
		if err := i.mount(s.tree); err != nil {
			return nil, errors.Join(err, i.unmount(s.tree))
		}
	}
	i.n++
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.n--; i.n == 0 {
			_ = i.unmount(s.tree) // what stays is unmounted with the rest
		}
	}, nil
}

func (i *insiders) mount(t tree) error {
	for _, m := range []struct {
		kind, at, data string
		flags          uintptr
	}{
		{"proc", "/proc", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"sysfs", "/sys", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"devtmpfs", "/dev", "", unix.MS_NOSUID},
		{"tmpfs", "/run", "mode=0755", unix.MS_NOSUID | unix.MS_NODEV},
	} {
		f, err := t.open(m.at, unix.O_PATH|unix.O_DIRECTORY, 0)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			continue
		}
		if err != nil {
			return err
		}
		err = unix.Mount(m.kind, procPath(f), m.kind, m.flags, m.data)
		_ = f.Close()
		if err != nil {
			return fmt.Errorf("mount %s at %s: %w", m.kind, m.at, err)
		}
		i.at = append(i.at, m.at)
	}
	return nil
}

// unmount takes them away, the last first, also where a program that was left behind has something of them open.
func (i *insiders) unmount(t tree) error {
	var errs []error
	for len(i.at) > 0 {
		last := len(i.at) - 1
		f, err := t.open(i.at[last], unix.O_PATH|unix.O_DIRECTORY, 0)
		if err == nil {
			var path string
			if path, err = os.Readlink(procPath(f)); err == nil {
				_ = f.Close()
				err = unix.Unmount(path, unix.UMOUNT_NOFOLLOW|unix.MNT_DETACH)
			}
		}
		errs = append(errs, err)
		i.at = i.at[:last]
	}
	return errors.Join(errs...)
}
