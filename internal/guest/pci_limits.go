package guest

import (
	"strings"

	"taproom/internal/spec"
)

// portsOfUsual is how many root ports a guest may have without anything said of their I/O space. Firmware gives each 4 KiB
// of the machine's 64 KiB for what may be plugged in one day, so it runs out at a dozen; it copes with some dozens (OVMF
// starts a guest with 34), and with 85 OVMF gets nowhere. Those of more reserve nothing, which virtio devices on PCI Express
// do not need.
const portsOfUsual = 36

// ioSpaceURI is the namespace of the element in a document's metadata that says so. It is in the document because it shows
// in the ports' configuration space: a guest that was saved without it goes on without it.
const ioSpaceURI = "urn:taproom:pci"

const ioSpaceElement = "<root-ports io-reserve='0'/>"

// portsReserve notes, when root ports were added to a document that has very many then, that they reserve no I/O space.
func (c *completer) portsReserve(had int) error {
	models := c.pciModels()
	ports := 0
	for _, m := range models {
		if m == "pcie-root-port" {
			ports++
		}
	}
	if c.running || len(models) <= had || ports <= portsOfUsual {
		return nil
	}
	changed, err := c.d.Metadata.WithElement(ioSpaceURI, "pci", ioSpaceElement, c.d.Extra.Attrs)
	if err != nil {
		return invalid("metadata", "%v", err)
	}
	c.d.Metadata = changed
	return nil
}

// reservesNoIO reports whether a document's root ports reserve no I/O space.
func reservesNoIO(d *spec.Domain) bool {
	text, ok, err := d.Metadata.Element(ioSpaceURI, d.Extra.Attrs)
	return ok && err == nil && strings.Contains(text, "root-ports")
}

// windowsOfIO is how many bridges SeaBIOS can give 4 KiB of I/O ports each: root ports with a device that has some, and
// bridges to conventional PCI. It has 60 KiB, and what is left is for the root bus; with one more bridge it says "PCI: out of
// I/O address space" and stops, and nothing boots.
const windowsOfIO = 14

// ioSpace refuses more NICs with I/O ports on root ports than firmware can place.
func (c *completer) ioSpace(t *topology) error {
	if c.running || c.d.OS.Loader != nil || c.d.OS.Firmware == "efi" {
		return nil
	}
	fit, n := windowsOfIO, 0
	for _, model := range c.pciModels() {
		switch model {
		case "pcie-to-pci-bridge", "dmi-to-pci-bridge", "pci-bridge":
			fit--
		}
	}
	for i := range c.dev.Interfaces {
		nic := &c.dev.Interfaces[i]
		if nic.Model.Type != "e1000e" && nic.Model.Type != "igb" {
			continue
		}
		p, ok, err := readPlace(nic.Address, nicName(nic, i))
		if err != nil {
			return err
		}
		if !ok || t.buses[p.bus].model != "pcie-root-port" {
			continue
		}
		if n++; n > fit {
			return unsupported("interface/model", "%s: SeaBIOS gives the root port of each %s 4 KiB of the machine's 64 KiB of I/O ports, and each bridge to conventional PCI too, so %d fit, and with more it does not boot; use model='virtio', or model='e1000', 31 of which share a bridge, or firmware='efi'",
				nicName(nic, i), nic.Model.Type, max(fit, 0))
		}
	}
	return nil
}

// full says how many devices fit, and why no more do.
func (t *topology) full(needs plug, who string) error {
	if len(t.buses) > 255 {
		return unsupported("address", "%s: no PCI slot is free: PCI has 256 buses, and all are taken; use fewer devices", who)
	}
	if t.fam.root == pcieRoot && (needs&(plugPCIe|plugRootPort) != 0 || t.grows) {
		ports := 0
		for _, b := range t.buses {
			if b.model == "pcie-root-port" {
				ports++
			}
		}
		return unsupported("address", "%s: no PCI slot is free: each device on PCI Express has a root port of its own, the root bus takes 8 in each of its slots that are free, and %d would be needed; use fewer devices, conventional ones (31 share a bridge), or machine='pc', which has 31 on a bridge",
			who, ports)
	}
	return unsupported("address", "%s: no PCI slot is free", who)
}
