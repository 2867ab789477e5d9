package guest

import (
	"taproom/internal/spec"
)

// mmioSlots is how many virtio-mmio transports a microvm has (QEMU 7.2: 8 with the PIC, and the IO-APIC's pins
// otherwise, at least as many).
const mmioSlots = 8

// mmioAddresses marks the devices of a machine without PCI. Their order on the bus is the order of the document, so
// there is nothing to number.
func (c *completer) mmioAddresses() error {
	if c.fam.pci() {
		return nil
	}
	n := 0
	for _, dev := range c.pciDevices() {
		a := *dev.addr
		if a != nil && a.Type != "virtio-mmio" {
			return unsupported("address", "%s: machine %s has no PCI bus; use type='virtio-mmio'", dev.who, c.d.OS.Type.Machine)
		}
		if a == nil {
			*dev.addr = &spec.Address{Type: "virtio-mmio"}
		}
		n++
	}
	if n > mmioSlots {
		return unsupported("devices", "machine %s has %d virtio-mmio transports, not %d", c.d.OS.Type.Machine, mmioSlots, n)
	}
	return nil
}
