package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Volume is something in an image that may hold a file system.
type Volume struct {
	Name      string `json:"name"`           // what Mount takes: "sda1", "mapper/vg-root"
	Type      string `json:"type,omitempty"` // for mount(2), such as "ext4", or blkid's name for something else
	Size      int64  `json:"size"`           // bytes
	UUID      string `json:"uuid,omitempty"`
	Label     string `json:"label,omitempty"`
	PartUUID  string `json:"partuuid,omitempty"`
	PartLabel string `json:"partlabel,omitempty"`
}

// Usage is how full a file system is. Sizes are in bytes.
type Usage struct {
	Device    string `json:"device"`
	At        string `json:"at"`
	Size      int64  `json:"size"`
	Used      int64  `json:"used"`
	Available int64  `json:"available"` // to who is not root
}

// Machine is what mounts an image's file systems in a tree, such as a disposable appliance.
type Machine interface {
	// Volumes are what the image holds, in a stable order.
	Volumes(ctx context.Context) ([]Volume, error)
	// Mount mounts a volume; options are its file system's own, such as subvol=root.
	Mount(ctx context.Context, volume, at, options string) error
	Unmount(ctx context.Context, at string) error
	Usage(ctx context.Context, at string) (Usage, error)
	// FS is the tree.
	FS(ctx context.Context) fs.FS
	// Alive returns an error where the machine does not answer any more: a file system that cannot be mounted is none.
	Alive(ctx context.Context) error
}

// Root is where a system's root file system is.
type Root struct {
	Volume  string `json:"root"`
	Options string `json:"root_options,omitempty"` // it is mounted with: subvol= of btrfs
}

// Found is a system in an image, with how full the file systems are that it mounts.
type Found struct {
	Root
	System
	Usage []Usage `json:"usage,omitempty"`
}

// Report is what an image holds.
type Report struct {
	Volumes []Volume `json:"volumes"`
	Systems []Found  `json:"systems"`
}

// btrfsRoots are the subvolumes that distributions put their root in, where it is not the one that is mounted by default.
var btrfsRoots = []string{"root", "@", "@rootfs", "@root"}

// Roots finds the systems in an image. Nothing is mounted afterwards.
func Roots(ctx context.Context, m Machine, volumes []Volume) ([]Root, error) {
	var out []Root
	for _, v := range volumes {
		if !v.MayMount() {
			continue
		}
		if err := m.Mount(ctx, v.Name, "/", ""); err != nil {
			if err := errors.Join(ctx.Err(), m.Alive(ctx)); err != nil {
				return nil, err
			}
			continue // it is damaged, or of a kind that this kernel does not know: other volumes may be of use
		}
		tree := m.FS(ctx)
		if IsRoot(tree) {
			out = append(out, Root{Volume: v.Name})
		} else if v.Type == "btrfs" {
			for _, name := range btrfsRoots {
				if below, err := fs.Sub(tree, name); err == nil && IsRoot(below) {
					out = append(out, Root{Volume: v.Name, Options: "subvol=" + name})
				}
			}
		}
		if err := m.Unmount(ctx, "/"); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// MayMount is false of a volume with nothing on it that is known, and of what blkid knows and mount(2) does not.
func (v Volume) MayMount() bool {
	switch v.Type {
	case "", "swap", "crypto_LUKS", "LVM2_member", "linux_raid_member", "DM_verity_hash", "BitLocker", "bcache", "zfs_member":
		return false
	}
	return true
}

// MountSystem mounts a system's root, and what its fstab says as far as that is in the image. What is mounted is in the order in which it was; the
// problems are of what could not be.
func MountSystem(ctx context.Context, m Machine, r Root, volumes []Volume) (at []Usage, problems []Problem, err error) {
	if err := m.Mount(ctx, r.Volume, "/", r.Options); err != nil {
		return nil, nil, err
	}
	at = []Usage{{Device: r.Volume, At: "/"}}
	t := &tree{fs: m.FS(ctx)}
	points := fstab(t, "etc/fstab")
	slices.SortStableFunc(points, func(a, b MountPoint) int {
		return cmp.Compare(strings.Count(path.Clean(a.At), "/"), strings.Count(path.Clean(b.At), "/"))
	})
	for _, p := range points {
		v, ok := volumeOf(p.Device, volumes)
		where := path.Clean(p.At)
		if !ok || where == "/" || !path.IsAbs(where) || len(at) >= mostMounts {
			continue
		}
		if err := m.Mount(ctx, v.Name, where, subvolume(p.Options)); err != nil {
			if err := errors.Join(ctx.Err(), m.Alive(ctx)); err != nil {
				return at, t.problems, err
			}
			t.problem("etc/fstab", fmt.Errorf("mount %s at %s: %w", v.Name, where, err))
			continue
		}
		at = append(at, Usage{Device: v.Name, At: where})
	}
	return at, t.problems, nil
}

// mostMounts bounds how much of an fstab is mounted.
const mostMounts = 100

// subvolume is what matters of an fstab's options to what is seen.
func subvolume(options string) string {
	for o := range strings.SplitSeq(options, ",") {
		if strings.HasPrefix(o, "subvol=") || strings.HasPrefix(o, "subvolid=") {
			return o
		}
	}
	return ""
}

// volumeOf finds the volume that an fstab's first field names. Names such as /dev/sda1 are taken for the image's first disk.
func volumeOf(device string, volumes []Volume) (Volume, bool) {
	for _, by := range []struct {
		begins []string
		of     func(Volume) string
		fold   bool
	}{
		{[]string{"UUID=", "/dev/disk/by-uuid/"}, func(v Volume) string { return v.UUID }, true},
		{[]string{"LABEL=", "/dev/disk/by-label/"}, func(v Volume) string { return v.Label }, false},
		{[]string{"PARTUUID=", "/dev/disk/by-partuuid/"}, func(v Volume) string { return v.PartUUID }, true},
		{[]string{"PARTLABEL=", "/dev/disk/by-partlabel/"}, func(v Volume) string { return v.PartLabel }, false},
		{[]string{"/dev/"}, func(v Volume) string { return v.Name }, false},
	} {
		for _, begins := range by.begins {
			name, ok := strings.CutPrefix(device, begins)
			name = strings.Trim(name, `"`)
			if !ok || name == "" {
				continue
			}
			if i := slices.IndexFunc(volumes, func(v Volume) bool { return by.of(v) == name || by.fold && strings.EqualFold(by.of(v), name) }); i >= 0 {
				return volumes[i], true
			}
		}
	}
	return firstDisk(device, volumes)
}

// firstDisk finds a partition or logical volume by a name that it has in a machine of the system's own.
func firstDisk(device string, volumes []Volume) (Volume, bool) {
	name, ok := strings.CutPrefix(device, "/dev/")
	if !ok {
		return Volume{}, false
	}
	for _, disk := range []string{"sda", "vda", "xvda", "hda", "nvme0n1p", "mmcblk0p"} {
		if number, ok := strings.CutPrefix(name, disk); ok && len(volumes) > 0 {
			name = strings.TrimRight(volumes[0].Name, "0123456789") + number
			break
		}
	}
	if group, volume, ok := strings.Cut(name, "/"); ok && group != "mapper" { // LVM's, as device-mapper writes it
		name = "mapper/" + strings.ReplaceAll(group, "-", "--") + "-" + strings.ReplaceAll(volume, "-", "--")
	}
	i := slices.IndexFunc(volumes, func(v Volume) bool { return v.Name == name })
	if i < 0 {
		return Volume{}, false
	}
	return volumes[i], true
}

// Image finds the systems in an image, mounts each with what its fstab says, and reads what it is and how full its file systems are. Nothing is
// mounted afterwards. An image without a system is no error: its volumes are what it holds.
func Image(ctx context.Context, m Machine, o Options) (*Report, error) {
	volumes, err := m.Volumes(ctx)
	if err != nil {
		return nil, err
	}
	roots, err := Roots(ctx, m, volumes)
	if err != nil {
		return nil, err
	}
	r := &Report{Volumes: volumes, Systems: []Found{}}
	for _, root := range roots {
		f, err := found(ctx, m, root, volumes, o)
		if err != nil {
			return nil, err
		}
		r.Systems = append(r.Systems, *f)
	}
	return r, nil
}

// found reads one system.
func found(ctx context.Context, m Machine, root Root, volumes []Volume, o Options) (_ *Found, err error) {
	at, problems, err := MountSystem(ctx, m, root, volumes)
	defer func() {
		for _, u := range slices.Backward(at) {
			err = errors.Join(err, m.Unmount(ctx, u.At))
		}
	}()
	if err != nil {
		return nil, err
	}
	s, err := Inspect(m.FS(ctx), o)
	if err != nil {
		return nil, err
	}
	f := &Found{Root: root, System: *s}
	for _, u := range at {
		full, err := m.Usage(ctx, u.At)
		if err != nil {
			return nil, err
		}
		full.Device, full.At = u.Device, u.At
		f.Usage = append(f.Usage, full)
	}
	f.Problems = append(f.Problems, problems...)
	return f, errors.Join(ctx.Err(), m.Alive(ctx))
}
