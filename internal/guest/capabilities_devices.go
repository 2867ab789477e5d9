package guest

import "taproom/internal/spec"

// devicesOf lists what a document may choose on a machine of the family.
func devicesOf(h HostFacts, fam family, installed Companions) spec.DomainCapsDevices {
	virtio := []string{"virtio", "virtio-transitional", "virtio-non-transitional"}
	if !fam.pci() {
		virtio = virtio[:1]
	}
	o := offeredBy(h, fam)
	d := spec.DomainCapsDevices{
		Disk: spec.Device(true,
			spec.Enum("diskDevice", diskDevices(fam)...), spec.Enum("bus", diskBuses(fam)...), spec.Enum("model", "virtio")),
		Graphics:   spec.Device(fam.pci(), spec.Enum("type", o.graphics...)),
		Video:      spec.Device(fam.pci(), spec.Enum("modelType", o.videos...)),
		Hostdev:    spec.Device(false),
		RNG:        spec.Device(true, spec.Enum("model", virtio...), spec.Enum("backendModel", "random", "builtin")),
		Filesystem: filesystemOf(fam, installed),
		TPM:        tpmOf(fam, installed),
		Redirdev:   spec.Device(o.redirection, spec.Enum("bus", "usb")),
		Channel:    spec.Device(true, spec.Enum("type", o.channels...)),
		Interface:  spec.Device(true, spec.Enum("backendType")),
		Panic:      spec.Device(fam.isaDebug, spec.Enum("model", o.panics...)),
		Console:    spec.Device(true, spec.Enum("type", o.consoles...)),
	}
	return d
}

// offered is what depends on the parts that an emulator was installed with.
type offered struct {
	graphics, videos, channels, consoles, panics []string
	redirection                                  bool
}

func offeredBy(h HostFacts, fam family) offered {
	o := offered{
		graphics: []string{"vnc"}, videos: []string{"vga", "cirrus"}, channels: []string{"pty", "unix"}, panics: []string{"isa"},
		consoles:    []string{"null", "vc", "pty", "dev", "file", "tcp", "unix"},
		redirection: fam.usb != "" && h.hasDevice("usb-redir"),
	}
	if h.hasDevice("qxl-vga") {
		o.videos = append(o.videos, "qxl")
	}
	o.videos = append(o.videos, "virtio", "none", "bochs", "ramfb")
	if fam.pci() && h.hasChardev("chardev-spicevmc") {
		o.graphics = append(o.graphics, "spice")
		o.channels = append(o.channels, "spicevmc")
		o.consoles = append(o.consoles, "spiceport")
	}
	if h.hasDevice("pvpanic-pci") {
		o.panics = append(o.panics, "pvpanic")
	}
	return o
}

func diskDevices(fam family) []string {
	switch {
	case !fam.pci():
		return []string{"disk"}
	case !fam.isaDebug:
		return []string{"disk", "cdrom"}
	}
	return []string{"disk", "cdrom", "floppy"}
}

func diskBuses(fam family) []string {
	if !fam.pci() {
		return []string{"virtio"}
	}
	buses := []string{"fdc", "scsi", "virtio", "usb", "sata"}
	if fam.ide {
		buses = append([]string{"ide"}, buses...)
	}
	return buses
}

// firmwareOf lists the firmware that a document may ask for or name: the machine's own, and UEFI that is installed.
func firmwareOf(h HostFacts, fam family, arch, machine string) spec.DomainCapsOS {
	os := spec.DomainCapsOS{Supported: "yes", Enums: []spec.DomainCapsEnum{spec.Enum("firmware")}, Loader: &spec.DomainCapsLoader{Supported: "no"}}
	if !fam.pci() {
		return os
	}
	known := []string{"bios"}
	l := &spec.DomainCapsLoader{Supported: "yes"}
	for _, image := range h.firmware().Loaders(arch, machine) {
		l.Values = append(l.Values, spec.DomainCapsValue{Value: image})
	}
	secure := []string{"no"}
	if len(l.Values) > 0 {
		known = append(known, "efi")
		if h.firmware().Secure(arch, machine) {
			secure = []string{"yes", "no"}
		}
	}
	l.Enums = []spec.DomainCapsEnum{spec.Enum("type", "rom", "pflash"), spec.Enum("readonly", "yes", "no"), spec.Enum("secure", secure...)}
	os.Enums, os.Loader = []spec.DomainCapsEnum{spec.Enum("firmware", known...)}, l
	return os
}
