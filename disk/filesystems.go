package disk

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"taproom/internal/appliance/launch"
	"taproom/internal/appliance/proto"
	"taproom/internal/appliance/superblock"
)

// Filesystem is a file system of the images, or what is on a disk or partition instead of one.
type Filesystem struct {
	Device string // what Mount takes: "sda1", "mapper/vg-root", "md127"
	// Image is the place in Spec.Images of the image that it lies on; -1: on several, or none that is known.
	Image int
	// Stack is what it lies on, the lowest first, in words: "sda", "partition 1", "LVM2_member".
	Stack     []string
	Subvolume string // of btrfs: its path from the top level, which is ""; mount it with the option "subvol=" and this
	Type      string // for mount(2), or blkid's name for what is no file system: "swap", "crypto_LUKS", "LVM2_member"; "": nothing is known on it
	Label     string
	UUID      string
	PartLabel string // of a partition, in a GPT
	PartUUID  string // of a partition
	Size      int64  // of the device, in bytes
	// Of the file system, in bytes; -1 where it is not known: it was not asked for, or could not be mounted.
	Total, Used, Free int64
	Files, FilesUsed  int64  // inodes; -1 where it is not known
	Problem           string // why it could not be looked at; "" where it could, or nobody tried
}

// Mountable reports whether the appliance's kernel mounts it as it is.
func (f Filesystem) Mountable() bool { return superblock.Content{Type: f.Type}.Mountable() }

// LookOptions says what Filesystems looks for, beyond what is on each device.
type LookOptions struct {
	Usage      bool // how full file systems are: each is mounted for that, read-only, where nobody sees it
	Subvolumes bool // those of btrfs
}

// Filesystems lists what is on the images: disks, their partitions, and what Assemble has made of them, in the order of the images.
// What has been made into something else is left out: a disk with partitions, a member of an array. What cannot be looked into
// has a Problem and is no error.
func (a *Appliance) Filesystems(ctx context.Context, o LookOptions) ([]Filesystem, error) {
	list, err := a.devices(ctx)
	if err != nil {
		return nil, err
	}
	var out []Filesystem
	for _, d := range list {
		if d.wanted() {
			out = append(out, a.filesystem(d))
		}
	}
	if o.Usage || o.Subvolumes {
		out, err = a.glance(ctx, out, o)
	}
	return out, err
}

// device is a block device with what lies on it, and it on.
type device struct {
	proto.Device
	name      string // for Mount
	image     int
	stack     []string
	hasAbove  bool // partitions, or what was assembled
	assembled bool // something was assembled of it
}

// wanted reports whether a device is listed: not if it is a part of something else that is. An ISO may have partitions and be a file system
// nevertheless; the extended partition of an MBR is one of two sectors, which hold no more than the way to the others.
func (d device) wanted() bool {
	const extended = 1024
	if d.Parent != "" && d.Size <= extended {
		return false
	}
	return !d.hasAbove || d.Type != "" && d.Parent == "" && !d.assembled
}

// devices lists those of the images.
func (a *Appliance) devices(ctx context.Context) ([]device, error) {
	list, err := a.a.Agent().Devices(ctx, proto.Probe{Contents: true})
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(d proto.Device) bool {
		return d.Serial == toolsSerial || launch.IsBulk(d.Serial) || strings.HasPrefix(d.Name, "loop") && d.Parent == "" && d.Type == ""
	})
	return stacked(list, a.disks), nil
}

// stacked says of each device what it lies on. Devices come after those that they lie on.
func stacked(list []proto.Device, disks []Device) []device {
	out := make([]device, 0, len(list))
	index := map[string]int{}
	for _, d := range list {
		index[d.Name] = len(out)
		out = append(out, device{Device: d, name: d.Name, image: -1})
	}
	var place func(i, level int)
	place = func(i, level int) {
		d := &out[i]
		if d.stack != nil || level > len(out) {
			return
		}
		d.stack = []string{d.Name}
		if d.Mapped != "" {
			d.name = "mapper/" + d.Mapped
			d.stack = []string{d.name}
		}
		d.image = slices.IndexFunc(disks, func(x Device) bool { return x.Name == d.Name })
		below := d.Below
		if d.Parent != "" {
			below = []string{d.Parent}
		}
		for n, name := range below {
			j, ok := index[name]
			if !ok {
				continue
			}
			place(j, level+1)
			b := &out[j]
			b.hasAbove = true
			b.assembled = b.assembled || d.Parent == ""
			if n == 0 {
				d.image = b.image
				d.stack = slices.Concat(b.stack, step(*d, *b))
			} else if d.image != b.image {
				d.image = -1
			}
		}
	}
	for i := range out {
		place(i, 0)
	}
	return out
}

// step is how a device lies on the one below.
func step(d, below device) []string {
	if d.Parent != "" {
		return []string{fmt.Sprintf("partition %d", d.Number)}
	}
	if below.Type != "" {
		return []string{below.Type, d.name}
	}
	return []string{d.name}
}

func (a *Appliance) filesystem(d device) Filesystem {
	return Filesystem{
		Device: d.name, Image: d.image, Stack: d.stack, Type: d.Type, Label: d.Label, UUID: d.UUID, PartLabel: d.PartName, PartUUID: d.PartUUID,
		Size: d.Size, Total: -1, Used: -1, Free: -1, Files: -1, FilesUsed: -1, Problem: d.Unreadable,
	}
}

// glance looks into file systems.
func (a *Appliance) glance(ctx context.Context, list []Filesystem, o LookOptions) ([]Filesystem, error) {
	out := make([]Filesystem, 0, len(list))
	for _, f := range list {
		if !f.Mountable() || !o.Usage && f.Type != "btrfs" {
			out = append(out, f)
			continue
		}
		g, err := a.a.Agent().Glance(ctx, proto.Glance{Device: f.Device, Type: f.Type, Subvolumes: o.Subvolumes})
		if err != nil {
			if ctx.Err() != nil || a.a.Agent().Err() != nil {
				return nil, err
			}
			f.Problem = err.Error()
			out = append(out, f)
			continue
		}
		if o.Usage {
			u := usage(g.Statfs)
			f.Total, f.Used, f.Free, f.Files, f.FilesUsed = u.Total, u.Used, u.Free, u.Files, max(u.Files-u.FilesFree, 0)
		}
		out = append(out, f)
		for _, s := range g.Subvolumes {
			f.Subvolume = s.Path
			out = append(out, f)
		}
	}
	return out, nil
}
