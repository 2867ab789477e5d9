package spec

// virtioModels are virtio's own model, and those that fix a device to one of its PCI revisions.
const virtioModels = "virtio virtio-transitional virtio-non-transitional"

// deviceRules judges <devices> without disks and NICs.
func deviceRules() map[string]rule {
	m := map[string]rule{
		"devices/lease":   refuse("there is no lock manager"),
		"devices/hostdev": refuse("host devices are not passed through yet"),
		"devices/shmem":   refuse("shared memory is not implemented yet"),
		"devices/nvram":   refuse("it is for ppc64 guests"),
		"devices/iommu":   refuse("guest IOMMUs are not implemented yet"),
		"devices/crypto":  refuse("crypto devices are not implemented yet"),
		"devices/pstore":  refuse("pstore is not implemented yet"),

		"devices/emulator": pattern(`/[^\x00]*`, "an absolute path"),

		"devices/input/@type":  values("mouse tablet keyboard", "passthrough evdev"),
		"devices/input/@bus":   values("ps2 usb virtio", "xen parallels"),
		"devices/input/@model": values("virtio", "virtio-transitional virtio-non-transitional"),
		"devices/input/source": refuse("host input devices are not passed through yet"),
		"devices/panic/@model": values("isa pvpanic", "hyperv pseries s390"),
		"devices/rng/@model":   values(virtioModels, ""),
		"*/driver/@iothread":   refuse("I/O threads are not implemented yet"),

		"devices/rng/rate/@bytes":               number(1, 1<<31-1),
		"devices/rng/rate/@period":              number(1, 1<<31-1),
		"devices/rng/backend/@model":            values("random builtin", "egd"),
		"devices/watchdog/@model":               values("i6300esb ib700 itco", "diag288"),
		"devices/watchdog/@action":              values("reset shutdown poweroff pause none inject-nmi", "dump"),
		"devices/memballoon/@model":             values(virtioModels+" none", "xen"),
		"devices/memballoon/@autodeflate":       onOff(),
		"devices/memballoon/@freePageReporting": onOff(),
		"devices/memballoon/stats/@period":      number(0, 1<<31-1),
	}
	addRules(m, deviceOptionRules(), controllerRules(), tpmRules(), filesystemRules(), chardevRules(), displayRules(), graphicsRules(), soundRules(), audioRules(), usbRules(), vsockRules())
	return m
}

func controllerRules() map[string]rule {
	return map[string]rule{
		"devices/controller/@type":    values("pci usb ide sata scsi virtio-serial fdc ccid", "isa xenbus nvme"),
		"devices/controller/@index":   number(0, 1<<31-1),
		"devices/controller/@ports":   number(0, 1<<31-1),
		"devices/controller/@vectors": number(0, 1<<31-1),
		"devices/controller/model/@name": values("pcie-root-port ioh3420 pci-bridge i82801b11-bridge pcie-pci-bridge "+
			"x3130-upstream xio3130-downstream pxb pxb-pcie", "spapr-pci-host-bridge"),
		"devices/controller/target/@hotplug":     onOff(),
		"devices/controller/target/@chassis":     place(255),
		"devices/controller/target/@port":        place(255),
		"devices/controller/target/@chassisNr":   place(255),
		"devices/controller/target/@busNr":       refuse("it is for expander buses, which are not implemented yet"),
		"devices/controller/target/@index":       refuse("it is for ppc64 guests"),
		"devices/controller/target/@memReserve":  refuse("memory windows of a port cannot be chosen yet"),
		"devices/controller/target/node":         refuse("buses are not tied to a guest's NUMA cells: there are no expander buses"),
		"devices/controller/master/@startport":   number(0, 255),
		"devices/controller/pcihole64":           refuse("the size of the PCI hole cannot be chosen yet"),
		"devices/controller/serial":              refuse("NVMe controllers are not implemented yet"),
		"devices/controller/driver/@queues":      number(1, 1024),
		"devices/controller/driver/@cmd_per_lun": refuse("it cannot be chosen yet"),
		"devices/controller/driver/@max_sectors": refuse("it cannot be chosen yet"),
		"devices/controller/driver/iothreads":    refuse("a controller's queues are not spread over I/O threads; use one, with iothread="),
	}
}

func displayRules() map[string]rule {
	m := map[string]rule{
		"devices/video/model/@type":         values("vga cirrus virtio bochs qxl ramfb none", "vmvga xen vbox gop"),
		"devices/video/model/@vram":         number(1, 1<<31-1),
		"devices/video/model/@heads":        number(1, 16),
		"devices/video/model/@primary":      yesNo(),
		"devices/video/model/@blob":         just("off", "blob resources are not implemented yet"),
		"devices/video/model/@edid":         just("on", "EDID cannot be switched off yet"),
		"devices/video/model/acceleration":  off("3D acceleration is not implemented yet"),
		"devices/video/model/resolution/@x": number(1, 1<<15),
		"devices/video/model/resolution/@y": number(1, 1<<15),
		"devices/video/driver/@name":        values("qemu", "vhostuser"),
		"devices/video/driver/@vgaconf":     refuse("VGA compatibility cannot be chosen yet"),
	}
	for _, name := range []string{"ram", "vgamem", "vram64"} {
		m["devices/video/model/@"+name] = number(1, 1<<31-1)
	}
	return m
}

// addressRules judges the parts that all devices have.
func addressRules() map[string]rule {
	return map[string]rule{
		"*/address/@type":          values("pci drive virtio-serial usb isa ccid virtio-mmio unassigned", "spapr-vio ccw dimm mdev"),
		"*/address/@domain":        place(0xffff),
		"*/address/@controller":    place(1<<31 - 1),
		"*/address/@bus":           place(0xff),
		"*/address/@slot":          place(0x1f),
		"*/address/@function":      place(7),
		"*/address/@target":        place(1<<31 - 1),
		"*/address/@unit":          place(1<<31 - 1),
		"*/address/@port":          pattern(`(0x[0-9a-fA-F]{1,8}|[0-9]{1,9})(\.[0-9]{1,3}){0,3}`, "a port, or ports joined by dots"),
		"*/address/@multifunction": onOff(),
		"*/address/zpci":           refuse("it is for s390 guests"),
		"*/alias/@name":            pattern(`ua-[A-Za-z0-9_-]+|([^u]|u[^a]|ua[^-]|u$|ua$).*`, "ua- and letters, digits, '-' or '_'"),
		"*/boot/@order":            number(1, 1<<31-1),
		"*/boot/@loadparm":         refuse("it is for s390 guests"),
	}
}
