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
