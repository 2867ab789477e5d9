package guest

import "taproom/internal/spec"

// devicesOf lists what a document may choose on a machine of the family.
func devicesOf(fam family) spec.DomainCapsDevices {
	virtio := []string{"virtio", "virtio-transitional", "virtio-non-transitional"}
	if !fam.pci() {
		virtio = virtio[:1]
	}
	d := spec.DomainCapsDevices{
		Disk: spec.Device(true,
			spec.Enum("diskDevice", diskDevices(fam)...), spec.Enum("bus", diskBuses(fam)...), spec.Enum("model", "virtio")),
		Graphics:   spec.Device(fam.pci(), spec.Enum("type", "vnc")),
		Video:      spec.Device(fam.pci(), spec.Enum("modelType", "vga", "cirrus", "virtio", "none", "bochs")),
		Hostdev:    spec.Device(false),
		RNG:        spec.Device(true, spec.Enum("model", virtio...), spec.Enum("backendModel", "random", "builtin")),
		Filesystem: spec.Device(false),
		TPM:        spec.Device(false),
		Redirdev:   spec.Device(false),
		Channel:    spec.Device(true, spec.Enum("type", "pty", "unix")),
		Interface:  spec.Device(true, spec.Enum("backendType")),
		Panic:      spec.Device(fam.isaDebug, spec.Enum("model", "isa")),
		Console:    spec.Device(true, spec.Enum("type", "null", "pty", "file", "unix")),
	}
	return d
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
