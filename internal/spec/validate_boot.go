package spec

import "strings"

// checkBoot: an order is unique, and excludes the older way of <boot dev=>.
func (d *Devices) checkBoot(bootDev bool) error {
	var boots []*Boot
	for i := range d.Disks {
		boots = append(boots, d.Disks[i].Boot)
	}
	for i := range d.Interfaces {
		boots = append(boots, d.Interfaces[i].Boot)
	}
	for i := range d.RedirDevs {
		boots = append(boots, d.RedirDevs[i].Boot)
	}
	seen := make(map[uint64]bool)
	for _, b := range boots {
		if b == nil {
			continue
		}
		if bootDev {
			return invalid("os/boot", "it cannot be combined with the boot order of a device; use one of them")
		}
		n, err := ParseDecimal(b.Order, 1<<31)
		if err != nil {
			return invalid("devices/boot/@order", "%s", err)
		}
		if seen[n] {
			return invalid("devices/boot/@order", "order %d is used by two devices", n)
		}
		seen[n] = true
	}
	return nil
}

// checkAliases: names the user gave (ua-…) are unique. Others are libvirt's of an earlier run and mean nothing.
func (d *Devices) checkAliases() error {
	seen := make(map[string]bool)
	for _, a := range d.aliases() {
		if a == nil || !strings.HasPrefix(a.Name, "ua-") {
			continue
		}
		if seen[a.Name] {
			return invalid("devices/alias/@name", "%q is used by two devices", a.Name)
		}
		seen[a.Name] = true
	}
	return nil
}

func (d *Devices) aliases() []*Alias {
	var out []*Alias
	for i := range d.Disks {
		out = append(out, d.Disks[i].Alias)
	}
	for i := range d.Controllers {
		out = append(out, d.Controllers[i].Alias)
	}
	for i := range d.Interfaces {
		out = append(out, d.Interfaces[i].Alias)
	}
	for _, devs := range [][]Chardev{d.Serials, d.Parallels, d.Consoles, d.Channels} {
		for i := range devs {
			out = append(out, devs[i].Alias)
		}
	}
	for i := range d.Inputs {
		out = append(out, d.Inputs[i].Alias)
	}
	for i := range d.Sounds {
		out = append(out, d.Sounds[i].Alias)
	}
	for i := range d.Smartcards {
		out = append(out, d.Smartcards[i].Alias)
	}
	for i := range d.RedirDevs {
		out = append(out, d.RedirDevs[i].Alias)
	}
	for i := range d.Hubs {
		out = append(out, d.Hubs[i].Alias)
	}
	for i := range d.Filesystems {
		out = append(out, d.Filesystems[i].Alias)
	}
	for i := range d.TPMs {
		out = append(out, d.TPMs[i].Alias)
	}
	for i := range d.Videos {
		out = append(out, d.Videos[i].Alias)
	}
	for i := range d.Watchdogs {
		out = append(out, d.Watchdogs[i].Alias)
	}
	for i := range d.RNGs {
		out = append(out, d.RNGs[i].Alias)
	}
	for i := range d.Panics {
		out = append(out, d.Panics[i].Alias)
	}
	if d.MemBalloon != nil {
		out = append(out, d.MemBalloon.Alias)
	}
	if d.Vsock != nil {
		out = append(out, d.Vsock.Alias)
	}
	return out
}
