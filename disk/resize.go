package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ResizeOptions says how an image is made larger.
type ResizeOptions struct {
	Image int   // its place in Spec.Images, which must be open for writing
	Size  int64 // bytes, a multiple of 512
	// Device is the file system or volume that gets the new room: a name as Filesystem has it. "": the file system on the image's last partition, or on the
	// image itself.
	Device string
}

// Resized lists the changes of Resize.
type Resized struct {
	Device   string // that has the new room
	Type     string // of its file system
	Old, New int64  // size of the image, bytes
	Steps    []string
}

// ErrShrink means that an image was to be made smaller: the blocks at its end may be in use. TarOut and Make move the content to a smaller image.
var ErrShrink = errors.New("images are not made smaller; write the content to a new image of that size")

// Resize makes an image larger, then the partition, LVM volumes and file system that the device lies on. Nothing may be mounted; volumes must
// have been assembled with Write. A layer that cannot grow is an error before anything is changed: a partition that is not the last, an encrypted
// device, an array, a file system without a program for it, an NTFS that is to be checked first. After a later error the result has the steps that were begun, the first
// of them "image" where that has grown, and Resize may be called again with the same size. It takes the tools.
func (a *Appliance) Resize(ctx context.Context, o ResizeOptions) (Resized, error) {
	if err := a.image(o.Image); err != nil {
		return Resized{}, err
	}
	list, err := a.devices(ctx)
	if err != nil {
		return Resized{}, err
	}
	g := growth{a: a, list: list, disk: a.disks[o.Image].Name}
	if err := g.plan(o.Device); err != nil {
		return Resized{}, err
	}
	old := g.layers[0].Size
	g.done = Resized{Device: g.top().name, Type: g.top().Type, Old: old, New: o.Size}
	switch {
	case o.Size < old:
		return Resized{}, fmt.Errorf("resize from %d to %d bytes: %w", old, o.Size, ErrShrink)
	case o.Size%512 != 0:
		return Resized{}, fmt.Errorf("resize to %d bytes: a disk has a multiple of 512", o.Size)
	}
	if err := a.toolsThere(ctx); err != nil {
		return Resized{}, err
	}
	if err := g.ready(ctx, o.Size > old); err != nil {
		return Resized{}, err
	}
	if o.Size > old {
		err := a.a.Resize(ctx, a.serials[o.Image], uint64(o.Size))
		if err == nil || ctx.Err() != nil { // an interrupt does not tell whether QEMU has done it
			g.done.Steps = append(g.done.Steps, "image")
		}
		if err == nil {
			err = a.rescan(ctx, o.Image, o.Size)
		}
		if err != nil {
			return g.done, err
		}
	}
	for i := range g.layers {
		if err := g.grow(ctx, i); err != nil {
			return g.done, err
		}
	}
	return g.done, a.Sync(ctx)
}

// rescan has the appliance's kernel read the size of a disk again, also while partitions of it are in use.
func (a *Appliance) rescan(ctx context.Context, image int, size int64) error {
	name := a.disks[image].Name
	if err := a.tool(ctx, "", nil, nil, "sh", "-c", `echo 1 >"/sys/block/$0/device/rescan"`, name); err != nil {
		return fmt.Errorf("read the size of %s again: %w", name, err)
	}
	d, err := a.a.Agent().Await(ctx, a.serials[image])
	if err != nil {
		return err
	}
	a.disks[image].Size = d.Size
	if d.Size != size {
		return fmt.Errorf("the appliance finds %d bytes on %s, which was made %d", d.Size, name, size)
	}
	return nil
}

// toolsThere returns an error where the appliance has no tools.
func (a *Appliance) toolsThere(ctx context.Context) error {
	return a.tool(ctx, "", nil, nil, "true")
}

// growth is the layers on a disk, up to the file system that grows.
type growth struct {
	a      *Appliance
	list   []device
	disk   string
	layers []device // the disk first
	done   Resized
}

func (g *growth) top() device { return g.layers[len(g.layers)-1] }

// growers are the programs that make file systems larger, by type. With mounted they get the mount point.
func growers() map[string]struct {
	mounted  bool
	commands [][]string
} {
	type grower = struct {
		mounted  bool
		commands [][]string
	}
	ext := grower{false, [][]string{{"e2fsck", "-f", "-p", "DEVICE"}, {"resize2fs", "DEVICE"}}}
	return map[string]grower{
		"ext2": ext, "ext3": ext, "ext4": ext,
		"xfs":   {true, [][]string{{"xfs_growfs", "."}}},
		"btrfs": {true, [][]string{{"btrfs", "filesystem", "resize", "DEVID:max", "."}}},
		"ntfs3": {false, [][]string{{"ntfsresize", "DEVICE"}}},
		"f2fs":  {false, [][]string{{"resize.f2fs", "DEVICE"}}},
	}
}

// plan finds the layers from the disk to the device, and checks that each can grow.
func (g *growth) plan(name string) error {
	if name == "" {
		var err error
		if name, err = g.last(); err != nil {
			return err
		}
	}
	for name != "" {
		i := slices.IndexFunc(g.list, func(d device) bool { return d.name == name || d.Name == name })
		if i < 0 {
			return fmt.Errorf("there is no device %s on the image", name)
		}
		d := g.list[i]
		g.layers = append([]device{d}, g.layers...)
		switch {
		case d.Parent != "":
			name = d.Parent
		case len(d.Below) > 1:
			return fmt.Errorf("%s lies on several devices (%s): grow it in a shell", d.name, strings.Join(d.Below, ", "))
		case len(d.Below) == 1:
			name = d.Below[0]
		default:
			name = ""
		}
	}
	if g.layers[0].Name != g.disk {
		return fmt.Errorf("%s lies on %s, not on the image's disk %s", g.top().name, g.layers[0].name, g.disk)
	}
	for i := range g.layers {
		if err := g.check(i); err != nil {
			return err
		}
	}
	return nil
}

// last is the device that grows where none was named.
func (g *growth) last() (string, error) {
	name := g.disk
	for {
		var above []device
		for _, d := range g.list {
			if d.Parent == name || slices.Contains(d.Below, name) {
				above = append(above, d)
			}
		}
		if len(above) == 0 {
			return name, nil
		}
		last := slices.MaxFunc(above, func(x, y device) int { return int(min(max(x.Start-y.Start, -1), 1)) })
		if last.Parent == "" && len(above) > 1 {
			return "", fmt.Errorf("several volumes lie on %s: name the device that is to grow", name)
		}
		name = last.Name
	}
}

// check returns why a layer cannot grow.
func (g *growth) check(i int) error {
	d := g.layers[i]
	if d.Parent != "" {
		const firstLogical = 5
		for _, other := range g.list {
			if other.Parent == d.Parent && other.Start > d.Start {
				return fmt.Errorf("the partition %s cannot grow: %s follows it; name the last partition", d.name, other.name)
			}
			if other.Parent == d.Parent && d.Number >= firstLogical && other.Number < firstLogical && other.Size <= 1024 {
				return fmt.Errorf("the partition %s cannot grow: it lies in an extended partition", d.name)
			}
		}
	}
	if i < len(g.layers)-1 {
		if next := g.layers[i+1]; next.Parent == "" && d.Type != "LVM2_member" {
			return fmt.Errorf("%s cannot grow: %s holds it, and only partitions and LVM are made larger; use a shell", next.name, d.Type)
		}
		return nil
	}
	if _, ok := growers()[d.Type]; !ok {
		return fmt.Errorf("%s cannot grow: there is no program that makes %q larger", d.name, d.Type)
	}
	return nil
}

// grow makes a layer larger, after the layers below it.
func (g *growth) grow(ctx context.Context, i int) error {
	d := g.layers[i]
	if d.Parent != "" {
		if err := g.partition(ctx, d); err != nil {
			return err
		}
	}
	if d.Mapped != "" {
		if err := g.run(ctx, "", nil, "lvextend", "--config", lvmConfig, "-l", "+100%FREE", "/dev/"+d.name); err != nil && !strings.Contains(err.Error(), "matches existing size") {
			return err
		}
	}
	if d.Type == "LVM2_member" {
		return g.run(ctx, "", nil, "pvresize", "--config", lvmConfig, "/dev/"+d.name)
	}
	if i < len(g.layers)-1 {
		return nil
	}
	grower := growers()[d.Type]
	if !grower.mounted {
		return g.all(ctx, "", d, grower.commands)
	}
	if err := g.a.MountWith(ctx, MountSpec{Device: d.name, At: "/"}); err != nil {
		return err
	}
	err := g.all(ctx, "/", d, grower.commands)
	return errors.Join(err, g.a.Unmount(context.WithoutCancel(ctx), "/"))
}

func (g *growth) all(ctx context.Context, tree string, d device, commands [][]string) error {
	words := strings.NewReplacer("DEVICE", "/dev/"+d.name)
	switch d.Type {
	case "btrfs":
		id, err := g.btrfsID(ctx, d)
		if err != nil {
			return err
		}
		words = strings.NewReplacer("DEVID", id)
	case "ntfs3":
		if whole, err := g.ntfsWhole(ctx, d); err != nil || whole {
			return err
		}
	}
	for _, c := range commands {
		c = slices.Clone(c)
		for i := range c {
			c[i] = words.Replace(c[i])
		}
		var stdin io.Reader
		if c[0] == "ntfsresize" {
			stdin = strings.NewReader("y\n")
		}
		err := g.run(ctx, tree, stdin, c...)
		var failed *ExitError
		if c[0] == "e2fsck" && errors.As(err, &failed) && failed.Status == 1 { // it has repaired something
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// run runs a program of the tools, and notes it.
func (g *growth) run(ctx context.Context, tree string, stdin io.Reader, args ...string) error {
	g.done.Steps = append(g.done.Steps, args[0]+" "+args[len(args)-1])
	return g.a.tool(ctx, tree, stdin, nil, args...)
}
