package guest

import (
	"slices"
	"strings"

	"taproom/internal/spec"
)

// diskName names a disk in messages.
func diskName(k *spec.Disk) string { return "disk " + k.Target.Dev }

// driveIndex reads the letters of a target name: vda is 0, sdz 25, sdaa 26. A partition number is not part of it.
func driveIndex(dev string) (int, bool) {
	for _, prefix := range []string{"vd", "sd", "hd", "fd", "xvd", "ubd"} {
		letters, ok := strings.CutPrefix(dev, prefix)
		letters = strings.TrimRight(letters, "0123456789")
		if !ok || letters == "" || len(letters) > 4 {
			continue
		}
		n := 0
		for _, r := range letters {
			if r < 'a' || r > 'z' {
				return 0, false
			}
			n = n*26 + int(r-'a') + 1
		}
		return n - 1, true
	}
	return 0, false
}

// diskOrder puts disks into libvirt's order: a disk goes before those of its bus with a higher name, and otherwise
// behind the others of its bus. At that point a disk without a bus attribute is on a bus of its own, "none": the bus is
// derived from the name only later.
func (c *completer) diskOrder() error {
	var out []spec.Disk
	for _, k := range c.dev.Disks {
		at, idx := -1, indexOrZero(k.Target.Dev)
		for i := len(out) - 1; i >= 0; i-- {
			if out[i].Target.Bus != k.Target.Bus {
				continue
			}
			if indexOrZero(out[i].Target.Dev) > idx {
				at = i
			} else if at < 0 {
				at = i + 1
			}
		}
		if at < 0 {
			at = len(out)
		}
		out = slices.Insert(out, at, k)
	}
	c.dev.Disks = out
	return nil
}

func indexOrZero(dev string) int {
	n, _ := driveIndex(dev)
	return n
}

func (c *completer) disks() error {
	seen := map[string]bool{}
	for i := range c.dev.Disks {
		k := &c.dev.Disks[i]
		if err := c.disk(k); err != nil {
			return err
		}
		if seen[k.Target.Dev] {
			return invalid("disk", "target %s is used by two disks", k.Target.Dev)
		}
		seen[k.Target.Dev] = true
	}
	return nil
}

func (c *completer) disk(k *spec.Disk) error {
	if _, ok := driveIndex(k.Target.Dev); !ok {
		return invalid("disk", "target dev=%q is no disk name such as vda", k.Target.Dev)
	}
	k.Type, k.Device = def(k.Type, "file"), def(k.Device, "disk")
	if k.Type != "file" && k.Type != "block" && k.Type != "network" {
		return unsupported("disk", "%s: type=%q is not implemented; use file, block or network", diskName(k), k.Type)
	}
	networkDisk(k)
	removable := k.Device == "cdrom" || k.Device == "floppy"
	if k.Device != "disk" && !removable {
		return unsupported("disk", "%s: device=%q is not implemented; use disk, cdrom or floppy", diskName(k), k.Device)
	}
	if !hasMedium(k) {
		if !removable {
			return invalid("disk", "%s: has no source", diskName(k))
		}
		if s := k.Source; s != nil && s.StartupPolicy == "" && s.Index == "" && len(s.Attrs)+len(s.Elements) == 0 {
			k.Source = nil
		}
	}
	k.Target.Bus = def(k.Target.Bus, busOf(k))
	if k.Driver == nil {
		k.Driver = &spec.DiskDriver{}
	}
	// The format is never guessed from the content: a guest could write a qcow2 header that names a file of the host.
	k.Driver.Name, k.Driver.Type = def(k.Driver.Name, "qemu"), def(k.Driver.Type, "raw")
	if k.Driver.Name != "qemu" {
		return unsupported("disk", "%s: driver name=%q is not implemented; use qemu", diskName(k), k.Driver.Name)
	}
	if k.Device == "cdrom" && k.ReadOnly == nil {
		k.ReadOnly = &spec.State{}
	}
	if _, err := layersOf(k); err != nil {
		return err
	}
	if _, err := cacheProps(k); err != nil {
		return err
	}
	return c.diskBus(k)
}

// sourcePath is the path of an image; empty means that there is none.
func sourcePath(kind string, s *spec.DiskSource) string {
	switch {
	case s == nil:
		return ""
	case kind == "block":
		return s.Dev
	case kind == "network":
		return ""
	}
	return s.File
}

// hasMedium reports whether there is something in a drive.
func hasMedium(k *spec.Disk) bool {
	if k.Type == "network" {
		return k.Source != nil && k.Source.Protocol != ""
	}
	return sourcePath(k.Type, k.Source) != ""
}

func busOf(k *spec.Disk) string {
	if k.Device == "floppy" {
		return "fdc"
	}
	switch k.Target.Dev[:2] {
	case "hd":
		return "ide"
	case "sd":
		return "scsi"
	case "fd":
		return "fdc"
	}
	return "virtio"
}

func (c *completer) diskBus(k *spec.Disk) error {
	bus := k.Target.Bus
	if (bus == "fdc") != (k.Device == "floppy") {
		return invalid("disk", "%s: device=%q does not go on bus=%q", diskName(k), k.Device, bus)
	}
	if k.Device == "cdrom" && bus == "virtio" {
		return unsupported("disk", "%s: a cdrom does not go on bus='virtio'; use sata, scsi, ide or usb", diskName(k))
	}
	if k.Driver.QueueSize != "" && bus != "virtio" {
		return unsupported("disk/driver", "%s: queue_size is for bus='virtio'", diskName(k))
	}
	if k.Driver.Queues != "" && bus != "virtio" {
		return unsupported("disk/driver", "%s: queues are for bus='virtio'", diskName(k))
	}
	switch bus {
	case "virtio":
		return nil
	case "scsi", "sata", "usb":
		if c.fam.pci() {
			return nil
		}
	case "fdc":
		if c.fam.isaDebug {
			return nil
		}
	case "ide":
		if c.fam.ide {
			return nil
		}
	}
	return unsupported("disk", "%s: machine %s has no bus %q", diskName(k), c.d.OS.Type.Machine, bus)
}
