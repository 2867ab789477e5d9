package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// partition moves the backup table to the new end, and gives the partition the room before it.
func (g *growth) partition(ctx context.Context, d device) error {
	var kind strings.Builder
	if err := g.a.tool(ctx, "", nil, &kind, "sfdisk", "--dump", "/dev/"+g.disk); err != nil {
		return fmt.Errorf("read the partition table of %s: %w", g.disk, err)
	}
	if strings.Contains(kind.String(), "label: gpt") {
		if err := g.run(ctx, "", nil, "sgdisk", "--move-second-header", "/dev/"+g.disk); err != nil {
			return err
		}
	}
	err := g.run(ctx, "", strings.NewReader(", +\n"), "sfdisk", "--quiet", "--no-reread", "--no-tell-kernel", "--force", "-N", fmt.Sprint(d.Number), "/dev/"+g.disk)
	if err != nil {
		return err
	}
	return g.run(ctx, "", nil, "partx", "--update", "--nr", fmt.Sprint(d.Number), "/dev/"+g.disk)
}

// ready returns why the file system on top cannot grow now, before anything is changed. A file system that has grown before is left alone while the image does not
// grow.
func (g *growth) ready(ctx context.Context, grows bool) error {
	d := g.top()
	if d.Type != "ntfs3" {
		return nil
	}
	if !grows {
		if whole, err := g.ntfsWhole(ctx, d); err != nil || whole {
			return err
		}
	}
	return g.ntfsClean(ctx, d)
}

// ntfsClean is the error of an NTFS that Windows has to check first, or has left hibernated.
func (g *growth) ntfsClean(ctx context.Context, d device) error {
	if err := g.a.tool(ctx, "", nil, io.Discard, "ntfsresize", "--info", "/dev/"+d.name); err != nil {
		return fmt.Errorf("%s cannot grow: %w; have Windows check it and shut down", d.name, err)
	}
	return nil
}

// ntfsWhole reports whether an NTFS fills its device. ntfsresize has Windows check a file system that it has made larger, and until that was done
// it changes it no more, so a file system of the full size is left alone.
func (g *growth) ntfsWhole(ctx context.Context, d device) (bool, error) {
	var said strings.Builder
	// ntfsClean returns the errors of the file system.
	if err := unlessFailed(g.a.tool(ctx, "", nil, &said, "ntfsresize", "--info", "--force", "/dev/"+d.name)); err != nil {
		return false, err
	}
	number := func(key string) (n int64) {
		_, rest, _ := strings.Cut(said.String(), key)
		_, _ = fmt.Sscanf(strings.TrimLeft(rest, " :"), "%d", &n)
		return n
	}
	volume, device, cluster := number("Current volume size"), number("Current device size"), number("Cluster size")
	const backup = 512 // the copy of the boot sector, which is behind the last cluster
	return volume > 0 && device > 0 && device-volume < cluster+backup, nil
}

// btrfsID is the number of a device in its btrfs, which need not be the first.
func (g *growth) btrfsID(ctx context.Context, d device) (string, error) {
	var said strings.Builder
	if err := g.a.tool(ctx, "", nil, &said, "btrfs", "inspect-internal", "dump-super", "/dev/"+d.name); err != nil {
		return "", fmt.Errorf("read the superblock of %s: %w", d.name, err)
	}
	for line := range strings.Lines(said.String()) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "dev_item.devid" {
			return f[1], nil
		}
	}
	return "", errors.New("the superblock of " + d.name + " does not say which device of its btrfs it is")
}
