package guest

import (
	"strconv"
	"strings"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

func (c *compiler) disks() error {
	for i := range c.dev.Disks {
		if err := c.disk(&c.dev.Disks[i]); err != nil {
			return err
		}
	}
	return nil
}

// disk makes the chain of block nodes and the guest's device on top.
func (c *compiler) disk(k *spec.Disk) error {
	node, err := c.chain(k)
	if err != nil {
		return err
	}
	p, err := c.drive(k)
	if err != nil {
		return err
	}
	if node != "" {
		p = p.With("drive", node)
	}
	c.throttle(k, node)
	p = c.booting(p.With("id", k.Alias.Name), k.Alias.Name)
	p, err = c.diskProperties(p, k)
	if err != nil {
		return err
	}
	a := k.Address
	if a != nil && a.Type == "drive" {
		a = nil // is part of what drive has said
	}
	return c.device(p, a)
}

// drive is the device on its bus.
func (c *compiler) drive(k *spec.Disk) (qemu.Props, error) {
	suffix := map[string]string{"disk": "-hd", "cdrom": "-cd"}[k.Device]
	var n [4]int // controller, bus, target, unit
	if a := k.Address; a != nil && a.Type == "drive" {
		for i, s := range []string{a.Controller, a.Bus, a.Target, a.Unit} {
			var err error
			if n[i], err = number(s); err != nil {
				return nil, invalid("disk", "%s: address: %v", diskName(k), err)
			}
		}
	}
	switch k.Target.Bus {
	case "virtio":
		p := qemu.Props{{Key: "driver", Value: c.virtio("virtio-blk", "")}}
		if k.Driver.IOThread != "" {
			p = p.With("iothread", "iothread"+k.Driver.IOThread)
		}
		if q, err := number(k.Driver.Queues); err == nil && q > 0 {
			p = p.With("num-queues", q)
		}
		if q, err := number(k.Driver.QueueSize); err == nil && q > 0 {
			p = p.With("queue-size", q)
		}
		return p, nil
	case "scsi":
		return c.scsiDrive(k, suffix, n), nil
	case "ide":
		return qemu.Props{{Key: "driver", Value: "ide" + suffix}, {Key: "bus", Value: "ide." + strconv.Itoa(n[1])}, {Key: "unit", Value: n[3]}}, nil
	case "sata":
		bus := "sata" + strconv.Itoa(n[0])
		if n[0] == 0 && c.fam.sata {
			bus = "ide"
		}
		return qemu.Props{{Key: "driver", Value: "ide" + suffix}, {Key: "bus", Value: bus + "." + strconv.Itoa(n[3])}}, nil
	case "usb":
		return qemu.Props{{Key: "driver", Value: "usb-storage"}, {Key: "removable", Value: k.Device == "cdrom"}}, nil
	case "fdc":
		return qemu.Props{{Key: "driver", Value: "floppy"}, {Key: "unit", Value: n[3]}}, nil
	}
	return nil, unsupported("disk", "%s: bus=%q is not implemented", diskName(k), k.Target.Bus)
}

func (c *compiler) scsiDrive(k *spec.Disk, suffix string, n [4]int) qemu.Props {
	p := qemu.Props{{Key: "driver", Value: "scsi" + suffix}, {Key: "bus", Value: "scsi" + strconv.Itoa(n[0]) + ".0"}}
	if !wideSCSI(c.dev, k.Address.Controller) {
		p = p.With("scsi-id", n[3])
	} else {
		p = p.With("channel", n[1]).With("scsi-id", n[2]).With("lun", n[3])
	}
	// Guests make /dev/disk/by-id names of it.
	return p.With("device_id", "drive-"+diskAlias(c.dev, k))
}

func (c *compiler) diskProperties(p qemu.Props, k *spec.Disk) (qemu.Props, error) {
	if k.WWN != "" {
		n, err := strconv.ParseUint(strings.TrimPrefix(k.WWN, "0x"), 16, 64)
		if err != nil {
			return nil, invalid("disk/wwn", "%s: %q is no 64-bit hexadecimal number", diskName(k), k.WWN)
		}
		p = p.With("wwn", n)
	}
	if k.Target.Bus == "scsi" {
		if k.Vendor != "" {
			p = p.With("vendor", k.Vendor)
		}
		if k.Product != "" {
			p = p.With("product", k.Product)
		}
	}
	if wb, set := writeBack(k.Driver.Cache); set && k.Device == "disk" {
		p = p.With("write-cache", map[bool]string{true: "on", false: "off"}[wb])
	}
	if k.Serial != "" {
		p = p.With("serial", k.Serial)
	}
	p = diskShape(p, k)
	if k.Shareable != nil {
		p = p.With("share-rw", true)
	}
	for _, e := range []struct{ key, policy string }{{"werror", k.Driver.ErrorPolicy}, {"rerror", k.Driver.RErrorPolicy}} {
		switch e.policy {
		case "":
		case "enospace":
			if e.key == "rerror" {
				return nil, invalid("disk/driver", "%s: rerror_policy='enospace': reading does not run out of space", diskName(k))
			}
			p = p.With(e.key, "enospc")
		case "stop", "report", "ignore":
			p = p.With(e.key, e.policy)
		default:
			return nil, invalid("disk/driver", "%s: %s policy %q is none of stop, report, ignore, enospace", diskName(k), e.key, e.policy)
		}
	}
	return p, nil
}

// writeBack reports whether a cache mode tells the guest that there is a write cache. set is false for the default.
func writeBack(cache string) (wb, set bool) {
	switch cache {
	case "none", "writeback", "unsafe":
		return true, true
	case "writethrough", "directsync":
		return false, true
	}
	return false, false
}
