package disk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"taproom/internal/appliance/proto"
	"taproom/internal/appliance/superblock"
)

// FsckReport is what the check of a file system has found.
type FsckReport struct {
	Device, Type string
	Clean        bool // nothing is wrong with it now
	Repaired     bool // something was, and was repaired
	Status       int  // the program's
	Output       string
}

// checker is how a file system is checked, and repaired, by the program of its own.
type checker struct {
	look, repair []string
	// meaning of the status: whether the file system is whole now, and whether it was changed.
	says func(status int) (clean, repaired bool)
}

// plainStatus is that of programs that end with 0 when all is well.
func plainStatus(status int) (clean, repaired bool) { return status == 0, false }

// fsckStatus is that of programs that keep to fsck(8): 1 is "errors corrected", 4 "errors left uncorrected".
func fsckStatus(status int) (clean, repaired bool) { return status&^3 == 0, status&3 != 0 }

// checkers are by the file system's type.
func checkers() map[string]checker {
	ext := checker{[]string{"e2fsck", "-f", "-n"}, []string{"e2fsck", "-f", "-y"}, fsckStatus}
	return map[string]checker{
		"ext2": ext, "ext3": ext, "ext4": ext,
		"xfs":   {[]string{"xfs_repair", "-n"}, []string{"xfs_repair"}, plainStatus},
		"btrfs": {[]string{"btrfs", "check", "--readonly"}, []string{"btrfs", "check", "--repair", "--force"}, plainStatus},
		"vfat":  {[]string{"fsck.fat", "-n"}, []string{"fsck.fat", "-a"}, fsckStatus},
		"exfat": {[]string{"fsck.exfat", "-n"}, []string{"fsck.exfat", "-y"}, fsckStatus},
		"f2fs":  {[]string{"fsck.f2fs", "--dry-run"}, []string{"fsck.f2fs", "-f"}, plainStatus},
		"ntfs3": {[]string{"ntfsfix", "--no-action"}, []string{"ntfsfix", "--clear-dirty"}, plainStatus},
	}
}

// Fsck checks a file system that is not mounted, with the program that is made for it; with repair it repairs what it finds, as far as the program can
// without asking. It takes the tools. What it finds is no error.
func (a *Appliance) Fsck(ctx context.Context, device string, repair bool) (FsckReport, error) {
	kind, err := a.typeOf(ctx, device)
	if err != nil {
		return FsckReport{}, err
	}
	c, ok := checkers()[kind]
	if !ok {
		return FsckReport{}, fmt.Errorf("check %s: there is no program that checks %q", device, kind)
	}
	args := c.look
	if repair {
		args = c.repair
	}
	var said limitedBuffer
	e, err := a.a.Agent().Run(ctx, proto.Command{Run: proto.Run{Args: append(slices.Clone(args), "/dev/"+device)}, Stdout: &said, Stderr: &said})
	if err != nil {
		return FsckReport{}, toolError(args[0], e, err, "")
	}
	r := FsckReport{Device: device, Type: kind, Status: int(e.Status), Output: said.String()}
	if e.Signal != 0 {
		return r, toolError(args[0], e, nil, r.Output)
	}
	r.Clean, r.Repaired = c.says(r.Status)
	if !repair {
		r.Clean, r.Repaired = r.Clean && !r.Repaired, false
	}
	return r, nil
}

// typeOf is what is on a device.
func (a *Appliance) typeOf(ctx context.Context, name string) (string, error) {
	list, err := a.devices(ctx)
	if err != nil {
		return "", err
	}
	for _, d := range list {
		if d.name != name && d.Name != name {
			continue
		}
		if !(superblock.Content{Type: d.Type}).Mountable() {
			return "", fmt.Errorf("%s holds no file system (%q)", name, d.Type)
		}
		return d.Type, nil
	}
	return "", errors.Join(fmt.Errorf("there is no device %s", name), syscall.ENXIO)
}
