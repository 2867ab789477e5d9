package guest

import (
	"fmt"
	"strconv"

	"taproom/internal/spec"
)

// driveBus says how names map to places: so many units on so many buses per controller. SCSI counts seven units, the
// narrow bus of the default controller, whatever controller there is: that is what libvirt does.
func driveBus(bus string) (buses, units int) {
	switch bus {
	case "ide":
		return 2, 2
	case "sata":
		return 1, 6
	case "scsi":
		return 1, 7
	case "fdc":
		return 1, 2
	}
	return 0, 0
}

// driveAddresses gives every drive behind a controller its place, and checks those that have one.
func (c *completer) driveAddresses() error {
	taken := map[string]string{}
	for i := range c.dev.Disks {
		k := &c.dev.Disks[i]
		buses, units := driveBus(k.Target.Bus)
		if buses == 0 {
			continue
		}
		if k.Address != nil && k.Address.Type != "drive" {
			return invalid("disk", "%s: address type=%q does not fit bus=%q", diskName(k), k.Address.Type, k.Target.Bus)
		}
		if k.Address == nil {
			n, _ := driveIndex(k.Target.Dev)
			per := buses * units
			k.Address = &spec.Address{
				Type: "drive", Controller: strconv.Itoa(n / per), Bus: strconv.Itoa(n % per / units), Target: "0", Unit: strconv.Itoa(n % units),
			}
		}
		if err := c.checkDrive(k, buses, units); err != nil {
			return err
		}
		a := k.Address
		key := fmt.Sprintf("%s controller %s, bus %s, target %s, unit %s", k.Target.Bus, a.Controller, a.Bus, a.Target, a.Unit)
		if other, used := taken[key]; used {
			return unsupported("disk", "%s and %s have the same drive address (%s)", other, diskName(k), key)
		}
		taken[key] = diskName(k)
	}
	return nil
}

func (c *completer) checkDrive(k *spec.Disk, buses, units int) error {
	a := k.Address
	var n [4]int
	for i, s := range []*string{&a.Controller, &a.Bus, &a.Target, &a.Unit} {
		v, err := number(*s)
		if err != nil {
			return invalid("disk", "%s: drive address: %v", diskName(k), err)
		}
		n[i], *s = v, strconv.Itoa(v)
	}
	lastTarget, lastUnit := 0, units-1
	if k.Target.Bus == "scsi" {
		if m := c.controller("scsi", n[0]); m != nil && m.Model != "lsilogic" {
			lastTarget, lastUnit = 255, 16383 // QEMU: VIRTIO_SCSI_MAX_TARGET, _LUN
		}
	}
	if n[1] >= buses || n[2] > lastTarget || n[3] > lastUnit {
		return unsupported("disk", "%s: a %s controller has no bus %d, target %d, unit %d", diskName(k), k.Target.Bus, n[1], n[2], n[3])
	}
	return nil
}
