package guest

import (
	"fmt"
	"strconv"
	"strings"

	"taproom/internal/spec"
)

// userAlias reports whether an alias is the document's own. Others are of an earlier run.
func userAlias(a *spec.Alias) bool { return a != nil && strings.HasPrefix(a.Name, "ua-") }

// Name names every device of a completed document that has no name yet, as libvirt does. A document of a running guest
// has names: there they stay as they are, and a device that was plugged in gets one that is free.
func Name(d *spec.Domain) error {
	fam, err := familyOf(d.OS.Type.Machine)
	if err == nil {
		setAliases(d, fam)
	}
	return err
}

func setAliases(d *spec.Domain, fam family) {
	taken := map[string]bool{}
	for _, v := range d.Devices.List() {
		taken[v.Alias()] = true
	}
	shared := map[**spec.Alias]bool{} // companions have one name, and so have a serial port and the console that mirrors it
	for i := range d.Devices.Controllers {
		shared[&d.Devices.Controllers[i].Alias] = true
	}
	eachAlias(d, func(a **spec.Alias, name string) {
		if *a != nil {
			return
		}
		if c := d.Devices.Consoles; len(c) > 0 && a == &c[0].Alias && name == "serial0" {
			if s := d.Devices.Serials[0].Alias; !userAlias(s) {
				name = s.Name
			}
			shared[a] = true
		}
		if !shared[a] && taken[name] {
			name = free(name, taken)
			taken[name] = true
		}
		*a = &spec.Alias{Name: name}
	}, fam)
}

// free is a name like it that nobody has: rng1 where there is an rng0.
func free(name string, taken map[string]bool) string {
	stem := strings.TrimRight(name, "0123456789")
	n, err := strconv.Atoi(name[len(stem):])
	for err == nil && taken[name] {
		n++
		name = stem + strconv.Itoa(n)
	}
	return name
}

// dropAliases removes what an earlier run left.
func dropAliases(d *spec.Domain, fam family) {
	eachAlias(d, func(a **spec.Alias, _ string) {
		if !userAlias(*a) {
			*a = nil
		}
	}, fam)
}

func eachAlias(d *spec.Domain, set func(**spec.Alias, string), fam family) {
	v := d.Devices
	for i := range v.Disks {
		set(&v.Disks[i].Alias, diskAlias(v, &v.Disks[i]))
	}
	for i := range v.Controllers {
		set(&v.Controllers[i].Alias, controllerAlias(&v.Controllers[i], fam))
	}
	nics := 0 // unlike with other devices, one with a name of its own does not count
	for i := range v.Interfaces {
		a := &v.Interfaces[i].Alias
		if !userAlias(*a) {
			nics++
		}
		set(a, "net"+strconv.Itoa(nics-1))
	}
	for i := range v.Serials {
		set(&v.Serials[i].Alias, "serial"+strconv.Itoa(i))
	}
	for i := range v.Parallels {
		set(&v.Parallels[i].Alias, "parallel"+strconv.Itoa(i))
	}
	for i := range v.Smartcards {
		set(&v.Smartcards[i].Alias, "smartcard"+strconv.Itoa(i))
	}
	for i := range v.RedirDevs {
		set(&v.RedirDevs[i].Alias, "redir"+strconv.Itoa(i))
	}
	for i := range v.Hubs {
		set(&v.Hubs[i].Alias, "hub"+strconv.Itoa(i))
	}
	for i := range v.Consoles {
		name := "console" + strconv.Itoa(i)
		if t := v.Consoles[i].Target; i == 0 && len(v.Serials) > 0 && t != nil && t.Type == "serial" {
			name = "serial0"
		}
		set(&v.Consoles[i].Alias, name)
	}
	for i := range v.Channels {
		set(&v.Channels[i].Alias, "channel"+strconv.Itoa(i))
	}
	for i := range v.Inputs {
		set(&v.Inputs[i].Alias, "input"+strconv.Itoa(i))
	}
	for i := range v.Sounds {
		set(&v.Sounds[i].Alias, "sound"+strconv.Itoa(i))
	}
	for i := range v.Filesystems {
		set(&v.Filesystems[i].Alias, "fs"+strconv.Itoa(i))
	}
	for i := range v.TPMs {
		set(&v.TPMs[i].Alias, "tpm"+strconv.Itoa(i))
	}
	for i := range v.Videos {
		set(&v.Videos[i].Alias, "video"+strconv.Itoa(i))
	}
	for i := range v.Watchdogs {
		set(&v.Watchdogs[i].Alias, "watchdog"+strconv.Itoa(i))
	}
	for i := range v.RNGs {
		set(&v.RNGs[i].Alias, "rng"+strconv.Itoa(i))
	}
	for i := range v.Panics {
		set(&v.Panics[i].Alias, "panic"+strconv.Itoa(i))
	}
	for i := range v.Memories {
		n := strconv.Itoa(i)
		if a := v.Memories[i].Address; a != nil {
			n = a.Slot
		}
		set(&v.Memories[i].Alias, "dimm"+n)
	}
	if v.MemBalloon != nil && v.MemBalloon.Model != "none" {
		set(&v.MemBalloon.Alias, "balloon0")
	}
	if v.Vsock != nil {
		set(&v.Vsock.Alias, "vsock0")
	}
}

func diskAlias(v *spec.Devices, k *spec.Disk) string {
	n, _ := driveIndex(k.Target.Dev)
	switch a := k.Address; {
	case k.Target.Bus == "virtio" || k.Target.Bus == "usb" || a == nil:
		return fmt.Sprintf("%s-disk%d", k.Target.Bus, n)
	case k.Target.Bus == "scsi" && wideSCSI(v, a.Controller):
		return fmt.Sprintf("scsi%s-%s-%s-%s", a.Controller, a.Bus, a.Target, a.Unit)
	default:
		return fmt.Sprintf("%s%s-%s-%s", k.Target.Bus, a.Controller, a.Bus, a.Unit)
	}
}

// wideSCSI reports whether a controller is virtio-scsi, whose drives have a target and a unit.
func wideSCSI(v *spec.Devices, controller string) bool {
	for i := range v.Controllers {
		if k := &v.Controllers[i]; k.Type == "scsi" && k.Index == controller {
			return virtioSCSI(k.Model)
		}
	}
	return false
}

func usbAlias(n int) string {
	if n == 0 {
		return "usb"
	}
	return "usb" + strconv.Itoa(n)
}

func controllerAlias(k *spec.Controller, fam family) string {
	switch {
	case k.Type == "usb":
		return usbAlias(index(k))
	case k.Type == "pci" && k.Index == "0":
		return fam.bus0
	case k.Type == "pci":
		return "pci." + k.Index
	case k.Index == "0" && (k.Type == "ide" && fam.ide || k.Type == "sata" && fam.sata):
		return "ide" // on board: QEMU has named its buses
	}
	return k.Type + k.Index
}
