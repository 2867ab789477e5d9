package launch

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/chain"
	"taproom/internal/appliance/proto"
	"taproom/internal/host"
	libvirtxml "taproom/internal/spec"
)

// document is the domain that an appliance is. There is nothing in it that an appliance has no use for, and no NIC.
func (m machine) document(name, uuid string) (*libvirtxml.Domain, error) {
	id, err := libvirtxml.ParseUUID(uuid)
	if err != nil {
		return nil, err
	}
	kind := "kvm"
	if m.accel == "tcg" {
		kind = "qemu"
	}
	d := &libvirtxml.Domain{
		Type: kind, Name: name, UUID: &id, Title: "a disposable appliance of taproom",
		Memory: &libvirtxml.Memory{Unit: "MiB", Value: fmt.Sprint(m.memory)}, VCPU: &libvirtxml.VCPU{Value: "1"},
		OS: libvirtxml.OS{
			Type:   libvirtxml.OSType{Arch: "x86_64", Machine: m.kind, Value: "hvm"},
			Kernel: m.files.Kernel, Initrd: m.files.Initrd, Cmdline: strings.Join(m.files.Cmdline, " ") + m.clock(),
		},
		CPU:   &libvirtxml.CPU{Mode: "maximum"},
		Clock: &libvirtxml.Clock{Offset: "utc"},
		// The guest resets when it is done, or when its kernel panics: that is its end.
		OnPoweroff: "destroy", OnReboot: "destroy", OnCrash: "destroy",
		Devices: &libvirtxml.Devices{
			Emulator: m.qemu.Binary,
			Controllers: []libvirtxml.Controller{
				{Type: "usb", Model: "none"},
				{Type: "scsi", Index: "0", Model: "virtio-scsi"},
				{Type: "virtio-serial", Index: "0", Ports: "2"},
			},
			Serials: []libvirtxml.Chardev{{Type: "pty", Target: &libvirtxml.ChardevTarget{Port: "0"}}},
			Channels: []libvirtxml.Chardev{{
				Type: "unix", Source: &libvirtxml.ChardevSource{Mode: "bind"}, Target: &libvirtxml.ChardevTarget{Type: "virtio", Name: proto.PortName},
			}},
			MemBalloon: &libvirtxml.MemBalloon{Model: "none"},
			RNGs:       []libvirtxml.RNG{{Model: "virtio", Backend: libvirtxml.RNGBackend{Model: "random", Path: "/dev/urandom"}}},
		},
	}
	if m.files.Tools != "" {
		d.Devices.Disks = []libvirtxml.Disk{toolsDisk(m.files.Tools)}
	}
	return d, nil
}

// toolsDisk is the disk of tools, which all appliances share.
func toolsDisk(path string) libvirtxml.Disk {
	d := domainDisk(toolsID, "taproom-tools")
	d.Type, d.Driver.Type, d.ReadOnly = "file", chain.Raw, &libvirtxml.State{}
	d.Source = &libvirtxml.DiskSource{File: path}
	return d
}

// keepOwners has a libvirt daemon leave the files of a disk as they are that the guest does not write to and that every user may read.
// The machine's daemon gives each file of a domain to the user that all of its QEMUs run as, and the ones that are only read never
// back: whoever has got out of one appliance could write to what all others read. The session's daemon gives nothing away, and
// would refuse to be told so.
func (a libvirtAddress) keepOwners(k *host.Kernel, d *libvirtxml.Disk) {
	if a.uri != systemURI {
		return
	}
	if d.ReadOnly != nil {
		keepOwner(k, d.Source)
	}
	for b := d.BackingStore; b != nil && b.Source != nil; b = b.BackingStore {
		keepOwner(k, b.Source)
	}
}

func keepOwner(k *host.Kernel, s *libvirtxml.DiskSource) {
	if s.File == "" {
		return // a block device
	}
	if st, err := k.FileFacts(s.File); err == nil && st.Mode&unix.S_IROTH != 0 {
		s.SecLabels = []libvirtxml.SecLabel{{Model: "dac", Relabel: "no"}}
	}
}

// domainDisk is a disk at a SCSI target. The guest is told of errors: nobody is there to make room and let it go on.
func domainDisk(target int, serial string) libvirtxml.Disk {
	return libvirtxml.Disk{
		Device: "disk",
		Driver: &libvirtxml.DiskDriver{Name: "qemu", ErrorPolicy: "report", RErrorPolicy: "report"},
		Target: libvirtxml.DiskTarget{Dev: "sd" + letters(target), Bus: "scsi"}, Serial: serial,
		Address: &libvirtxml.Address{Type: "drive", Controller: "0", Bus: "0", Target: fmt.Sprint(target), Unit: "0"},
	}
}

// letters counts as names of disks do: a to z, aa, ab, …
func letters(n int) string {
	if n < 26 {
		return string(rune('a' + n))
	}
	return letters(n/26-1) + letters(n%26)
}

// planDomainDisk describes what was opened to libvirt. The chain is written out to its end, or libvirt would follow what the
// images name. overlay is the path of a qcow2 file that holds what the guest writes to an image that stays as it is; "" for none.
func planDomainDisk(target int, access Access, c chain.Chain, overlay string) (libvirtxml.Disk, error) {
	d := domainDisk(target, fmt.Sprintf("disk%d", target))
	for _, l := range c {
		if l.Data != nil {
			return d, fmt.Errorf("%s has its data in another file, which a domain's disk cannot say; use another way than libvirt", l.Path)
		}
	}
	if overlay != "" {
		c = append(chain.Chain{{Path: overlay, Format: chain.QCOW2}}, c...)
	}
	d.Type, d.Source = domainSource(c[0])
	d.Driver.Type = c[0].Format
	d.BackingStore = backing(c[1:])
	switch access {
	case Discard, Scratch: // nothing waits for the host's disk
		d.Driver.Cache, d.Driver.Discard = "unsafe", "unmap"
	case Write:
		d.Driver.Cache, d.Driver.Discard = "writeback", "unmap"
	case ReadOnly:
		d.ReadOnly = &libvirtxml.State{}
	}
	return d, nil
}

// backing is what lies below an image; an empty element says that nothing does.
func backing(c chain.Chain) *libvirtxml.BackingStore {
	if len(c) == 0 {
		return &libvirtxml.BackingStore{}
	}
	b := &libvirtxml.BackingStore{Format: &libvirtxml.BackingFormat{Type: c[0].Format}, BackingStore: backing(c[1:])}
	b.Type, b.Source = domainSource(c[0])
	return b
}

func domainSource(l chain.Layer) (kind string, s *libvirtxml.DiskSource) {
	if l.Device {
		return "block", &libvirtxml.DiskSource{Dev: l.Path}
	}
	return "file", &libvirtxml.DiskSource{File: l.Path}
}
