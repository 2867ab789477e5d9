package spec

import (
	"cmp"
	"fmt"
	"strings"
)

// maxDevices bounds what a document can cost: who sits where is found out by looking at all the others. PCI has room for
// 8192 functions, and QEMU takes minutes long before.
const maxDevices = 2048

func (d *Devices) count() int {
	return len(d.Disks) + len(d.Controllers) + len(d.Interfaces) + len(d.Serials) + len(d.Consoles) + len(d.Channels) +
		len(d.Inputs) + len(d.TPMs) + len(d.Filesystems) + len(d.Graphics) + len(d.Sounds) +
		len(d.Smartcards) + len(d.Parallels) + len(d.RedirDevs) + len(d.Hubs) + len(d.Audios) + len(d.Videos) + len(d.Watchdogs) + len(d.RNGs) + len(d.Panics) + len(d.Memories)
}

// validate checks the devices against each other. bootDev says that the document has <boot dev=>.
func (d *Devices) validate(bootDev bool) error {
	if n := d.count(); n > maxDevices {
		return unsupported("devices", "a guest has at most %d devices, not %d", maxDevices, n)
	}
	if err := d.checkDisks(); err != nil {
		return err
	}
	if err := d.checkControllers(); err != nil {
		return err
	}
	for i := range d.Interfaces {
		if err := d.Interfaces[i].check(); err != nil {
			return err
		}
	}
	if err := d.checkMACs(); err != nil {
		return err
	}
	if err := d.checkChardevs(); err != nil {
		return err
	}
	if err := d.checkTPMs(); err != nil {
		return err
	}
	if err := d.checkSmall(); err != nil {
		return err
	}
	if err := d.checkBoot(bootDev); err != nil {
		return err
	}
	if err := d.checkOptions(); err != nil {
		return err
	}
	return d.checkAliases()
}

func (d *Devices) checkDisks() error {
	seen := make(map[string]bool)
	for i := range d.Disks {
		k := &d.Disks[i]
		if k.Target.Dev == "" {
			return invalid("devices/disk/target/@dev", "it is missing (disk %d)", i+1)
		}
		if seen[k.Target.Dev] {
			return invalid("devices/disk/target/@dev", "target %q is used by two disks", k.Target.Dev)
		}
		seen[k.Target.Dev] = true
		if err := k.IOTune.check(); err != nil {
			return err
		}
		if err := k.check(); err != nil {
			return err
		}
	}
	return nil
}

func (k *Disk) check() error {
	bus, dev := k.Target.Bus, k.Target.Dev
	switch {
	case k.Device == "floppy" && bus != "" && bus != "fdc":
		return invalid("devices/disk/target/@bus", "floppy %s needs bus fdc, not %s", dev, bus)
	case k.Device == "floppy" && !strings.HasPrefix(dev, "fd"):
		return invalid("devices/disk/target/@dev", "floppy %s needs a name such as fda", dev)
	case k.Device != "floppy" && (bus == "fdc" || strings.HasPrefix(dev, "fd")):
		return invalid("devices/disk/target", "only a floppy is called %s and on bus fdc", dev)
	case k.Device == "cdrom" && bus == "virtio":
		return unsupported("devices/disk/target/@bus", "CD-ROM %s cannot be on bus virtio; use sata, scsi or ide", dev)
	case k.Target.Tray != "" && k.Device != "cdrom" && k.Device != "floppy":
		return invalid("devices/disk/target/@tray", "%s is neither a CD-ROM nor a floppy", dev)
	case (k.Vendor != "" || k.Product != "") && bus != "scsi" && (bus != "" || !strings.HasPrefix(dev, "sd")):
		return unsupported("devices/disk/vendor", "%s: vendor and product are for bus scsi", dev)
	case k.Device == "cdrom" && k.Driver != nil && k.Driver.CopyOnRead == "on":
		return invalid("devices/disk/driver/@copy_on_read", "%s: a CD-ROM is read-only", dev)
	}
	if k.Geometry != nil && k.Geometry.Trans != "" && bus != "" && bus != "ide" {
		return unsupported("devices/disk/geometry/@trans", "%s: it is for bus ide", dev)
	}
	if k.Target.RotationRate != "" && (bus == "virtio" || bus == "" && strings.HasPrefix(dev, "vd")) {
		return unsupported("devices/disk/target/@rotation_rate", "%s: it is for the buses scsi, sata, ide and usb", dev)
	}
	if k.Type == "network" {
		if k.Source == nil && k.Device == "cdrom" {
			return nil
		}
		return cmp.Or(k.checkNetwork(), checkBacking(dev, k.BackingStore))
	}
	file, path := k.sourcePaths()
	switch {
	case file != "" && path != "":
		return invalid("devices/disk/source", "%s: file and dev are both given", dev)
	case k.Type == "block" && file != "", (k.Type == "" || k.Type == "file") && path != "":
		return invalid("devices/disk/source", "%s: a disk of type %s takes the other attribute (file: file, block: dev)", dev, k.Type)
	case file == "" && path == "" && (k.Device == "" || k.Device == "disk"):
		return invalid("devices/disk/source", "%s: a disk needs one", dev)
	}
	return checkBacking(dev, k.BackingStore)
}

func (k *Disk) sourcePaths() (file, dev string) {
	if k.Source == nil {
		return "", ""
	}
	return k.Source.File, k.Source.Dev
}

func checkBacking(dev string, b *BackingStore) error {
	for ; b != nil; b = b.BackingStore {
		if b.Type == "" && b.Source == nil && b.Format == nil {
			return nil // the end of the chain
		}
		if b.Source == nil || b.Source.File == "" && b.Source.Dev == "" {
			return invalid("devices/disk/backingStore/source", "%s: a backing image needs one", dev)
		}
		if b.Format == nil || b.Format.Type == "" {
			return invalid("devices/disk/backingStore/format", "%s: a backing image needs one; it is never guessed", dev)
		}
	}
	return nil
}

// usbModels are the USB controllers; the ich9 ones are the only controllers that share an index.
const usbModels = "piix3-uhci piix4-uhci ehci ich9-ehci1 ich9-uhci1 ich9-uhci2 ich9-uhci3 vt82c686b-uhci pci-ohci nec-xhci " +
	"qemu-xhci none"

func controllerModels(kind string) rule {
	switch kind {
	case "usb":
		return values(usbModels, "qusb1 qusb2")
	case "scsi":
		return values("virtio-scsi lsilogic virtio-transitional virtio-non-transitional",
			"auto buslogic lsisas1068 vmpvscsi ibmvscsi lsisas1078 ncr53c90 dc390 am53c974")
	case "ide":
		return values("piix3 piix4 ich6", "")
	case "pci":
		return values("pci-root pcie-root pci-bridge dmi-to-pci-bridge pcie-to-pci-bridge pcie-root-port "+
			"pcie-switch-upstream-port pcie-switch-downstream-port", "pci-expander-bus pcie-expander-bus")
	case "virtio-serial":
		return values(virtioModels, "")
	}
	return refuse("a controller of this type has no models")
}

func (d *Devices) checkControllers() error {
	seen := make(map[string]bool)
	for i := range d.Controllers {
		k := &d.Controllers[i]
		if k.Type == "" {
			return invalid("devices/controller/@type", "it is missing (controller %d)", i+1)
		}
		if k.Model != "" {
			f := controllerModels(k.Type)(k.Model, nil)
			if f.unsupported {
				return unsupported("devices/controller/@model", "%s (%s)", f.reason, k.Type)
			} else if f.reason != "" {
				return invalid("devices/controller/@model", "%s (%s)", f.reason, k.Type)
			}
		}
		if k.Type == "pci" && k.Model == "" {
			return invalid("devices/controller/@model", "it is missing (pci %s)", k.Index)
		}
		if k.Index == "" || k.Type == "usb" && strings.HasPrefix(k.Model, "ich9-") {
			continue
		}
		n, _ := ParseDecimal(k.Index, 1<<31) // a rule has judged it
		key := fmt.Sprintf("%s %d", k.Type, n)
		if seen[key] {
			return invalid("devices/controller/@index", "controller %s is given more than once", key)
		}
		seen[key] = true
	}
	return nil
}

func (n *Interface) check() error {
	const at = "devices/interface/"
	if n.Type == "" {
		return invalid(at+"@type", "it is missing; use network, bridge, direct, user, ethernet, server, client, mcast or udp")
	}
	if n.MAC != nil {
		if _, err := parseUnicastMAC(n.MAC.Address); err != nil {
			return invalid(at+"mac/@address", "%s", err)
		}
	}
	if n.FilterRef != nil {
		if err := n.FilterRef.Check(at + "filterref"); err != nil {
			return err
		}
	}
	src := n.Source
	if src == nil {
		src = &InterfaceSource{}
	}
	switch {
	case n.Type == "network" && src.Network == "":
		return invalid(at+"source/@network", "it is missing")
	case n.Type == "bridge" && src.Bridge == "":
		return invalid(at+"source/@bridge", "it is missing")
	case n.Type != "network" && n.Type != "user" && src.PortGroup != "" && src.Network == "":
		return invalid(at+"source/@portgroup", "port groups are of networks: type='network'")
	case n.Type == "bridge" && !linkName(src.Bridge):
		return invalid(at+"source/@bridge", "%q is no name of a link (1 to 15 characters, no '/', no white space)", src.Bridge)
	case n.NameTemplate() != "":
		if prefix, suffix, ok := strings.Cut(n.Target.Dev, "%d"); !ok || !linkName(prefix+"0"+suffix) || strings.Contains(prefix+suffix, "%") || n.GivenTap() {
			return invalid(at+"target/@dev", "%q is no name of a link, and no template for one that is made (one %%d, which a number takes the place of, and at most 14 other characters)", n.Target.Dev)
		}
	case n.Target != nil && n.Target.Dev != "" && !linkName(n.Target.Dev):
		return invalid(at+"target/@dev", "%q is no name of a link (1 to 15 characters, no '/', no white space)", n.Target.Dev)
	}
	if n.Target != nil && n.Target.Managed == "no" {
		switch {
		case n.Type != "ethernet":
			return unsupported(at+"target/@managed", "a tap that is there already is used with type='ethernet'; for one that is made, leave managed='no' out")
		case n.Target.Dev == "":
			return invalid(at+"target/@dev", "it is missing: the tap that is there already")
		}
	}
	return cmp.Or(n.checkLink(), n.checkDirect(), n.checkUser(), n.checkSocket(), n.checkSwitch(), n.CheckBandwidth())
}

// linkName reports whether the kernel takes s as the name of a link (dev_valid_name).
func linkName(s string) bool {
	return s != "" && len(s) <= 15 && s != "." && s != ".." && !strings.ContainsAny(s, "/: \t\r\n\v\f")
}

func (d *Devices) checkSmall() error {
	for i := range d.Inputs {
		if d.Inputs[i].Type == "" {
			return invalid("devices/input/@type", "it is missing (input %d)", i+1)
		}
	}
	for i := range d.Graphics {
		if err := d.Graphics[i].check(); err != nil {
			return err
		}
	}
	for i := range d.Sounds {
		if err := d.Sounds[i].check(); err != nil {
			return err
		}
	}
	if err := d.Vsock.check(); err != nil {
		return err
	}
	for i := range d.RNGs {
		b := d.RNGs[i].Backend
		switch {
		case b.Model == "":
			return invalid("devices/rng/backend/@model", "it is missing; use random or builtin")
		case b.Path != "" && !strings.HasPrefix(b.Path, "/"):
			return invalid("devices/rng/backend", "%q is not an absolute path", b.Path)
		}
	}
	for i := range d.Watchdogs {
		if d.Watchdogs[i].Model == "" {
			return invalid("devices/watchdog/@model", "it is missing (watchdog %d)", i+1)
		}
	}
	return nil
}
