package guest

import (
	"slices"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// controllers makes the buses: PCI first and by number, since a bridge's parent has to exist, then the others.
func (c *compiler) controllers() error {
	var pci, rest []*spec.Controller
	for i := range c.dev.Controllers {
		if k := &c.dev.Controllers[i]; k.Type == "pci" {
			pci = append(pci, k)
		} else {
			rest = append(rest, k)
		}
	}
	slices.SortStableFunc(pci, func(a, b *spec.Controller) int { return index(a) - index(b) })
	for _, k := range append(pci, rest...) {
		p := c.controller(k)
		if p == nil || k.Type == "ccid" {
			continue // on board; readers are plugged in behind hubs
		}
		if err := c.device(p, k.Address); err != nil {
			return err
		}
	}
	return nil
}

// controller is the QEMU device of a controller, nil when the machine has it.
func (c *compiler) controller(k *spec.Controller) qemu.Props {
	switch k.Type {
	case "pci":
		return c.pciController(k)
	case "usb":
		return usbController(k)
	case "scsi":
		if !virtioSCSI(k.Model) {
			return device("lsi", k.Alias.Name)
		}
		p := device(c.virtio("virtio-scsi", k.Model), k.Alias.Name)
		if n, set := k.Driver.Attr("queues"); set {
			q, _ := number(n) // a rule has judged it
			p = p.With("num_queues", q)
		}
		if id, set := k.Driver.Attr("iothread"); set {
			p = p.With("iothread", "iothread"+id)
		}
		return p
	case "sata":
		if k.Index == "0" && c.fam.sata {
			return nil
		}
		return device("ahci", k.Alias.Name)
	case "virtio-serial":
		p := device(c.virtio("virtio-serial", k.Model), k.Alias.Name)
		if n, err := number(k.Ports); err == nil && n > 0 {
			p = p.With("max_ports", n)
		}
		if n, err := number(k.Vectors); err == nil && k.Vectors != "" && c.fam.pci() {
			p = p.With("vectors", n)
		}
		return p
	case "ccid":
		return device("usb-ccid", k.Alias.Name)
	case "fdc":
		if !c.fam.ide { // the PIIX3 boards have one
			return qemu.Props{{Key: "driver", Value: "isa-fdc"}, {Key: "id", Value: "fdc0"}}
		}
	}
	return nil
}

func device(driver, id string) qemu.Props {
	return qemu.Props{{Key: "driver", Value: driver}, {Key: "id", Value: id}}
}

func (c *compiler) pciController(k *spec.Controller) qemu.Props {
	if k.Index == "0" {
		return nil
	}
	p := device(k.PCIModel.Name, k.Alias.Name)
	if k.Target != nil {
		for _, t := range []struct{ key, value string }{
			{"port", k.Target.Port}, {"chassis", k.Target.Chassis}, {"chassis_nr", k.Target.ChassisNr},
		} {
			if n, err := number(t.value); err == nil && t.value != "" {
				p = p.With(t.key, n)
			}
		}
		if k.Target.Hotplug == "off" {
			p = p.With("hotplug", false)
		}
	}
	if k.Model == "pcie-root-port" && c.noIO {
		p = p.With("io-reserve", 0)
	}
	return p
}

func usbController(k *spec.Controller) qemu.Props {
	driver := map[string]string{
		"piix3-uhci": "piix3-usb-uhci", "qemu-xhci": "qemu-xhci", "nec-xhci": "nec-usb-xhci", "ehci": "usb-ehci",
		"ich9-ehci1": "ich9-usb-ehci1", "ich9-uhci1": "ich9-usb-uhci1", "ich9-uhci2": "ich9-usb-uhci2", "ich9-uhci3": "ich9-usb-uhci3",
	}[k.Model]
	if driver == "" {
		return nil
	}
	if k.Master != nil { // a companion has no bus of its own
		start, _ := k.Master.Attr("startport")
		n, _ := number(start)
		return qemu.Props{{Key: "driver", Value: driver}, {Key: "masterbus", Value: k.Alias.Name + ".0"}, {Key: "firstport", Value: n}}
	}
	p := device(driver, k.Alias.Name)
	if n, err := number(k.Ports); err == nil && n > 0 && (k.Model == "qemu-xhci" || k.Model == "nec-xhci") {
		p = p.With("p2", n).With("p3", n)
	}
	return p
}
