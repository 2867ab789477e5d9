package guest

import "strings"

// family is what machines of one kind have in common: what is soldered on, and what an empty document gets.
type family struct {
	root     string // model of PCI bus 0; empty: no PCI at all
	usb      string // model of the USB controller every document gets; empty: none
	ide      bool   // has the PIIX3's IDE controller
	sata     bool   // has the ICH9's AHCI
	ps2      bool
	isaDebug bool // room for ISA devices beside serial ports: pvpanic, ib700, floppy
	bus0     string
	video    place // where the first card goes when that place is free
}

const (
	pcRoot   = "pci-root"
	pcieRoot = "pcie-root"
)

// familyOf recognises a versioned machine by its name; QEMU has no other way to tell.
func familyOf(machine string) (family, error) {
	switch {
	case strings.HasPrefix(machine, "pc-i440fx-"):
		return family{
			root: pcRoot, usb: "piix3-uhci", ide: true, ps2: true, isaDebug: true, bus0: "pci.0", video: place{slot: 2},
		}, nil
	case strings.HasPrefix(machine, "pc-q35-"):
		return family{
			root: pcieRoot, usb: "qemu-xhci", sata: true, ps2: true, isaDebug: true, bus0: "pcie.0", video: place{slot: 1},
		}, nil
	case machine == "microvm":
		return family{}, nil
	}
	return family{}, unsupported("os/type", "machine %q is not implemented; use pc, q35 or microvm", machine)
}

// pci reports whether the machine has a PCI bus at all.
func (f family) pci() bool { return f.root != "" }
