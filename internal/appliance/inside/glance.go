package inside

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
)

// glance says how full the file system of a device is, and of btrfs which subvolumes it has. It is mounted for that where nobody sees it,
// unless it is mounted in the tree already.
func (s *system) glance(ctx context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.Glance
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	device, err := openMountable(ctx, m.Device, &m.Type)
	if err != nil {
		return nil, err
	}
	defer device.Close()
	root, err := s.rootOf(device, m)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(root.Fd()), &st); err != nil {
		return nil, err
	}
	g := &proto.Glanced{Statfs: statfs(&st)}
	if m.Subvolumes && m.Type == "btrfs" {
		g.Subvolumes, err = subvolumes(int(root.Fd()))
	}
	return g, err
}

// rootOf opens the first folder of a device's file system.
func (s *system) rootOf(device *os.File, m proto.Glance) (*os.File, error) {
	if list, err := s.tree.mounted(); err == nil {
		var st unix.Stat_t
		if err := unix.Fstat(int(device.Fd()), &st); err != nil {
			return nil, err
		}
		for _, mounted := range list {
			if at, err := s.tree.open(mounted.At, unix.O_RDONLY|unix.O_DIRECTORY, 0); err == nil {
				var other unix.Stat_t
				if unix.Fstat(int(at.Fd()), &other) == nil && other.Dev == st.Rdev {
					return at, nil
				}
				_ = at.Close()
			}
		}
	}
	options := mountOptions(proto.Mount{Type: m.Type, ReadOnly: true})
	if m.Type == "btrfs" {
		options += ",subvolid=5" // the top level
	}
	root, err := mountUnseen(device.Name(), m.Type, options)
	if err != nil {
		return nil, fmt.Errorf("mount it as %s, options %q: %w", m.Type, options, err)
	}
	return root, nil
}

// mountUnseen mounts a file system read-only, at no place: it is unmounted when what is returned is closed.
func mountUnseen(device, kind, options string) (*os.File, error) {
	ctx, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(ctx) }()
	errs := []error{unix.FsconfigSetString(ctx, "source", device), unix.FsconfigSetFlag(ctx, "ro")}
	for option := range strings.SplitSeq(options, ",") {
		switch key, value, has := strings.Cut(option, "="); {
		case option == "":
		case has:
			errs = append(errs, unix.FsconfigSetString(ctx, key, value))
		default:
			errs = append(errs, unix.FsconfigSetFlag(ctx, key))
		}
	}
	if err := errors.Join(append(errs, unix.FsconfigCreate(ctx))...); err != nil {
		return nil, err
	}
	at, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOSUID)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(at) }()
	root, err := unix.Openat(at, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(root), device), nil
}

// trim tells a disk which blocks of a file system are not in use (FITRIM of linux/fs.h).
func (t tree) trim(_ context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.Path
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	at, err := t.open(m.Path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	n, err := fitrim(int(at.Fd()))
	return &proto.Count{Bytes: int64(n)}, err
}

// reread has the kernel read a disk's partitions again (BLKRRPART).
func (s *system) reread(ctx context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.Text
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	device, err := hostDisks().open(ctx, m.Text)
	if err != nil {
		return nil, err
	}
	defer device.Close()
	return nil, unix.IoctlSetInt(int(device.Fd()), unix.BLKRRPART, 0)
}
