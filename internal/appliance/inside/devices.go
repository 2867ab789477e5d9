package inside

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/pid1"
	"taproom/internal/appliance/proto"
	"taproom/internal/appliance/superblock"
)

// sector is the unit of sizes in sysfs, whatever the device's own is.
const sector = 512

// devices lists block devices.
func (s *system) devices(_ context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.Probe
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	d := hostDisks()
	list := d.list()
	if m.Contents {
		for i := range list {
			d.look(&list[i])
		}
	}
	return &proto.Devices{List: list}, nil
}

// awaitDisk returns a disk when it is there.
func (s *system) awaitDisk(ctx context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.Await
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	d := hostDisks()
	name, err := d.await(ctx, m.Serial)
	if err != nil {
		return nil, err
	}
	disk := d.describe(name)
	return &disk, nil
}

// releaseDisk lets go of a disk that is about to be unplugged. The kernel hears of that later, and must not find the disk in use then,
// by its own reset above all.
func (s *system) releaseDisk(_ context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.Await
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	d := hostDisks()
	name := d.bySerial(m.Serial)
	if name == "" {
		return nil, unix.ENODEV
	}
	return nil, os.WriteFile(filepath.Join(d.sys, name, "device/delete"), []byte("1"), 0)
}

// list returns what has a medium: disks, each before its partitions.
func (d disks) list() []proto.Device {
	var list []proto.Device
	for _, name := range pid1.ReadNames(d.sys) {
		disk := d.describe(name)
		if disk.Size == 0 || strings.HasPrefix(name, "ram") {
			continue
		}
		list = append(list, disk)
		for _, below := range pid1.ReadNames(filepath.Join(d.sys, name)) {
			if number := pid1.ReadText(filepath.Join(d.sys, name, below, "partition")); number != "" {
				list = append(list, d.partition(disk, below, number))
			}
		}
	}
	return list
}

// describe says what sysfs knows of a disk.
func (d disks) describe(name string) proto.Device {
	dir := filepath.Join(d.sys, name)
	return proto.Device{
		Name: name, Serial: pid1.Serial(dir), Mapped: pid1.ReadText(filepath.Join(dir, "dm/name")),
		Size: number(dir, "size") * sector, Sector: uint32(number(dir, "queue/logical_block_size")), ReadOnly: number(dir, "ro") != 0,
		Below: pid1.ReadNames(filepath.Join(dir, "slaves")),
	}
}

func (d disks) partition(disk proto.Device, name, text string) proto.Device {
	dir := filepath.Join(d.sys, disk.Name, name)
	n, _ := strconv.ParseUint(text, 10, 32)
	p := proto.Device{
		Name: name, Parent: disk.Name, Number: uint32(n), Start: number(dir, "start") * sector, Size: number(dir, "size") * sector,
		Sector: disk.Sector, ReadOnly: number(dir, "ro") != 0,
	}
	for line := range strings.Lines(pid1.ReadText(filepath.Join(dir, "uevent"))) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key {
		case "PARTNAME":
			p.PartName = value
		case "PARTUUID":
			p.PartUUID = value
		}
	}
	return p
}

// number is what a file of sysfs says; one that says none says 0.
func number(dir, file string) int64 {
	n, _ := strconv.ParseInt(pid1.ReadText(filepath.Join(dir, file)), 10, 64)
	return n
}

// look reads what is on a device. Why that fails is kept: the other devices are of use nevertheless.
func (d disks) look(p *proto.Device) {
	f, err := os.Open(filepath.Join(d.dev, p.Name))
	if err == nil {
		var c superblock.Content
		c, err = superblock.Probe(f, p.Size)
		p.Type, p.UUID, p.Label = c.Type, c.UUID, c.Label
		_ = f.Close()
	}
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if err != nil {
		p.Unreadable = err.Error()
	}
}
