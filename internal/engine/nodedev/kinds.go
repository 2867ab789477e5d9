package nodedev

import (
	"path/filepath"
	"strconv"
	"strings"
)

// dmi are the figures of the machine's firmware tables that sysfs has.
func (s Sysfs) dmi(name string) string { return s.attribute(s.path("class", "dmi", "id"), name) }

func (s Sysfs) computer() Device {
	return Device{Name: Computer, Type: "system", facts: []element{
		leaf("product", s.dmi("product_name")),
		{name: "hardware", in: []element{
			leaf("vendor", s.dmi("sys_vendor")), leaf("version", s.dmi("product_version")), leaf("serial", s.dmi("product_serial")), leaf("uuid", s.dmi("product_uuid")),
		}},
		{name: "firmware", in: []element{
			leaf("vendor", s.dmi("bios_vendor")), leaf("version", s.dmi("bios_version")), leaf("release_date", s.dmi("bios_date")),
		}},
	}}
}

// pci is a device on a PCI bus; the kernel calls it 0000:00:1f.2.
func (s Sysfs) pci(name, dir string) (Device, bool) {
	domain, rest, ok1 := strings.Cut(name, ":")
	bus, rest, ok2 := strings.Cut(rest, ":")
	slot, function, ok3 := strings.Cut(rest, ".")
	if !ok1 || !ok2 || !ok3 {
		return Device{}, false
	}
	d := Device{Name: "pci_" + clean(name), Type: "pci", facts: []element{
		leaf("class", s.attribute(dir, "class")), leaf("domain", decimal(domain)), leaf("bus", decimal(bus)),
		leaf("slot", decimal(slot)), leaf("function", decimal(function)),
		{name: "product", attrs: [][2]string{{"id", hex(s.attribute(dir, "device"))}}},
		{name: "vendor", attrs: [][2]string{{"id", hex(s.attribute(dir, "vendor"))}}},
	}}
	if group := s.link(filepath.Join(dir, "iommu_group")); group != "" {
		d.facts = append(d.facts, element{name: "iommuGroup", attrs: [][2]string{{"number", filepath.Base(group)}}, in: []element{
			{name: "address", attrs: [][2]string{{"domain", "0x" + domain}, {"bus", "0x" + bus}, {"slot", "0x" + slot}, {"function", "0x" + function}}},
		}})
	}
	if node := s.attribute(dir, "numa_node"); node != "" && !strings.HasPrefix(node, "-") {
		d.facts = append(d.facts, element{name: "numa", attrs: [][2]string{{"node", node}}})
	}
	return d, true
}

// usb is a device on a USB bus (1-1, usb1), or one of its interfaces (1-1:1.0).
func (s Sysfs) usb(name, dir string) (Device, bool) {
	d := Device{Name: "usb_" + clean(name)}
	if strings.Contains(name, ":") {
		d.Type = "usb"
		for _, f := range [][2]string{{"number", "bInterfaceNumber"}, {"class", "bInterfaceClass"}, {"subclass", "bInterfaceSubClass"}, {"protocol", "bInterfaceProtocol"}} {
			d.facts = append(d.facts, leaf(f[0], decimal(s.attribute(dir, f[1]))))
		}
		return d, true
	}
	d.Type = "usb_device"
	bus, dev := s.attribute(dir, "busnum"), s.attribute(dir, "devnum")
	d.facts = []element{
		leaf("bus", bus), leaf("device", dev),
		{name: "product", attrs: [][2]string{{"id", hex(s.attribute(dir, "idProduct"))}}, text: s.attribute(dir, "product")},
		{name: "vendor", attrs: [][2]string{{"id", hex(s.attribute(dir, "idVendor"))}}, text: s.attribute(dir, "manufacturer")},
	}
	b, err1 := strconv.Atoi(bus)
	n, err2 := strconv.Atoi(dev)
	if err1 == nil && err2 == nil {
		d.Node = "/dev/bus/usb/" + padded(b) + "/" + padded(n)
	}
	return d, true
}

// padded is a number of three digits.
func padded(n int) string {
	s := strconv.Itoa(n)
	return strings.Repeat("0", max(0, 3-len(s))) + s
}

// scsi is a device on a SCSI bus: 0:0:1:0. Hosts and targets are on that bus too.
func (s Sysfs) scsi(name, dir string) (Device, bool) {
	parts := strings.Split(name, ":")
	if len(parts) != 4 {
		return Device{}, false
	}
	kinds := map[string]string{"0": "disk", "1": "tape", "2": "printer", "3": "processor", "4": "worm", "5": "cdrom", "6": "scanner", "7": "mod", "8": "changer", "12": "raid"}
	return Device{Name: "scsi_" + clean(name), Type: "scsi", facts: []element{
		leaf("host", parts[0]), leaf("bus", parts[1]), leaf("target", parts[2]), leaf("lun", parts[3]), leaf("type", kinds[s.attribute(dir, "type")]),
	}}, true
}

func (s Sysfs) scsiHost(name, dir string) (Device, bool) {
	return Device{Name: "scsi_" + clean(name), Type: "scsi_host", facts: []element{
		leaf("host", strings.TrimPrefix(name, "host")), leaf("unique_id", s.attribute(dir, "unique_id")),
	}}, true
}

func (s Sysfs) net(name, dir string) (Device, bool) {
	mac := s.attribute(dir, "address")
	d := Device{Name: strings.TrimSuffix("net_"+clean(name)+"_"+clean(mac), "_"), Type: "net", facts: []element{
		leaf("interface", name), leaf("address", mac),
	}}
	link := element{name: "link", attrs: [][2]string{}}
	if speed := s.attribute(dir, "speed"); speed != "" && !strings.HasPrefix(speed, "-") {
		link.attrs = append(link.attrs, [2]string{"speed", speed})
	}
	if state := s.attribute(dir, "operstate"); state != "" {
		link.attrs = append(link.attrs, [2]string{"state", state})
	}
	d.facts = append(d.facts, link)
	switch {
	case s.link(filepath.Join(dir, "phy80211")) != "":
		d.facts = append(d.facts, element{name: "capability", attrs: [][2]string{{"type", "80211"}}})
	case s.attribute(dir, "type") == "1": // ARPHRD_ETHER
		d.facts = append(d.facts, element{name: "capability", attrs: [][2]string{{"type", "80203"}}})
	}
	return d, true
}

// drm is a node of a graphics card; connectors (card0-VGA-1) are none.
func (s Sysfs) drm(name, _ string) (Device, bool) {
	kinds := []struct{ prefix, kind string }{{"card", "primary"}, {"controlD", "control"}, {"renderD", "render"}}
	for _, k := range kinds {
		if n, ok := strings.CutPrefix(name, k.prefix); ok {
			if _, err := strconv.Atoi(n); err == nil {
				return Device{Name: "drm_" + clean(name), Node: "/dev/dri/" + name, Type: "drm", facts: []element{leaf("type", k.kind)}}, true
			}
		}
	}
	return Device{}, false
}

// block is a whole disk or a drive; partitions, and what the kernel makes of files and memory, are none.
func (s Sysfs) block(name, dir string) (Device, bool) {
	if s.attribute(dir, "partition") != "" || strings.Contains(dir, "/devices/virtual/") {
		return Device{}, false
	}
	hardware := filepath.Join(dir, "device")
	serial := s.attribute(dir, "serial")
	if serial == "" {
		serial = s.attribute(hardware, "serial")
	}
	d := Device{Name: strings.TrimRight("block_"+clean(name)+"_"+clean(serial), "_"), Type: "storage"}
	kind := "disk"
	switch {
	case strings.HasPrefix(name, "sr"):
		kind = "cdrom"
	case strings.HasPrefix(name, "fd"):
		kind = "floppy"
	}
	sectors, _ := strconv.ParseUint(s.attribute(dir, "size"), 10, 64) // of 512 bytes
	size := []element{leaf("size", strconv.FormatUint(sectors*512, 10))}
	if n, err := strconv.ParseUint(s.attribute(dir, "queue/logical_block_size"), 10, 64); err == nil && n > 0 {
		size = append(size, leaf("logical_block_size", strconv.FormatUint(n, 10)), leaf("num_blocks", strconv.FormatUint(sectors*512/n, 10)))
	}
	d.facts = []element{
		leaf("block", "/dev/"+name), leaf("drive_type", kind), leaf("model", s.attribute(hardware, "model")),
		leaf("vendor", s.attribute(hardware, "vendor")), leaf("serial", serial),
	}
	if s.attribute(dir, "removable") == "1" {
		there := "1"
		if sectors == 0 {
			there = "0"
		}
		d.facts = append(d.facts, element{name: "capability", attrs: [][2]string{{"type", "removable"}}, in: append(
			[]element{leaf("media_available", there), leaf("media_size", strconv.FormatUint(sectors*512, 10))}, size[1:]...)})
		return d, true
	}
	d.facts = append(d.facts, size...)
	return d, true
}

// Sysinfo is the document of what the host's firmware says of the machine (virConnectGetSysinfo); "" when it says nothing.
func (s Sysfs) Sysinfo() string {
	block := func(name string, entries ...[2]string) element {
		e := element{name: name}
		for _, f := range entries {
			if text := s.dmi(f[1]); text != "" {
				e.in = append(e.in, element{name: "entry", attrs: [][2]string{{"name", f[0]}}, text: text})
			}
		}
		return e
	}
	parts := []element{
		block("bios", [2]string{"vendor", "bios_vendor"}, [2]string{"version", "bios_version"}, [2]string{"date", "bios_date"}, [2]string{"release", "bios_release"}),
		block("system", [2]string{"manufacturer", "sys_vendor"}, [2]string{"product", "product_name"}, [2]string{"version", "product_version"},
			[2]string{"serial", "product_serial"}, [2]string{"uuid", "product_uuid"}, [2]string{"sku", "product_sku"}, [2]string{"family", "product_family"}),
		block("baseBoard", [2]string{"manufacturer", "board_vendor"}, [2]string{"product", "board_name"}, [2]string{"version", "board_version"},
			[2]string{"serial", "board_serial"}, [2]string{"asset", "board_asset_tag"}),
		block("chassis", [2]string{"manufacturer", "chassis_vendor"}, [2]string{"version", "chassis_version"}, [2]string{"serial", "chassis_serial"},
			[2]string{"asset", "chassis_asset_tag"}),
	}
	doc := element{name: "sysinfo", in: parts}
	if doc.empty() {
		return ""
	}
	doc.attrs = [][2]string{{"type", "smbios"}}
	var b strings.Builder
	doc.write(&b, "")
	return b.String()
}
