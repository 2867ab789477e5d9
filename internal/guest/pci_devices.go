package guest

import (
	"fmt"
	"strings"

	"taproom/internal/spec"
)

// pciDevice is a device that lives on PCI.
type pciDevice struct {
	who      string
	addr     **spec.Address
	needs    plug
	function int
	set      string // what the names of those begin with that share a slot: a USB 2 controller and its companions
}

// virtioPlug is where a virtio device goes: transitional ones have the legacy interface, which needs conventional PCI.
func virtioPlug(model string) plug {
	if model == "virtio-transitional" {
		return plugPCI | hot
	}
	return plugPCIe | hot
}

// pciDevices lists what lives on PCI in the order in which places are handed out. PCI controllers come first and the
// primary video card is not among them: it has a place of its own.
func (c *completer) pciDevices() []pciDevice {
	var out []pciDevice
	add := func(who string, addr **spec.Address, needs plug) {
		if c.fam.root == pcRoot {
			if needs&plugPCIe != 0 {
				needs = needs&^plugPCIe | plugPCI
			}
		}
		out = append(out, pciDevice{who: who, addr: addr, needs: needs})
	}
	for i := range c.dev.Controllers {
		if k := &c.dev.Controllers[i]; k.Type == "pci" && k.Index != "0" {
			add(controllerName(k), &k.Address, bridgePlug(k.Model))
		}
	}
	for i := range c.dev.Filesystems {
		add("filesystem "+c.dev.Filesystems[i].Target.Dir, &c.dev.Filesystems[i].Address, plugPCIe|hot)
	}
	for i := range c.dev.Interfaces {
		n := &c.dev.Interfaces[i]
		if d, _ := nicDriver(n.Model.Type); !d.usb {
			add(nicName(n, i), &n.Address, d.plug)
		}
	}
	for i := range c.dev.Sounds {
		if needs := soundPlug(c.dev.Sounds[i].Model); needs != 0 {
			add(soundName(i), &c.dev.Sounds[i].Address, needs)
		}
	}
	for i := range c.dev.Controllers {
		k := &c.dev.Controllers[i]
		if needs := controllerPlug(k); needs != 0 {
			add(controllerName(k), &k.Address, needs)
			if f, ok := ich9Function(k.Model); ok {
				dev := &out[len(out)-1]
				dev.function, dev.set = f, dev.who+" ("
				dev.who = dev.set + k.Model + ")"
			}
		}
	}
	for i := range c.dev.Disks {
		if k := &c.dev.Disks[i]; k.Target.Bus == "virtio" {
			add(diskName(k), &k.Address, plugPCIe|hot)
		}
	}
	c.smallPCIDevices(add)
	return out
}

func (c *completer) smallPCIDevices(add func(string, **spec.Address, plug)) {
	if b := c.dev.MemBalloon; b.Model != "none" {
		add("memballoon", &b.Address, virtioPlug(b.Model))
	}
	for i := range c.dev.RNGs {
		add(fmt.Sprintf("rng %d", i), &c.dev.RNGs[i].Address, virtioPlug(c.dev.RNGs[i].Model))
	}
	for i := range c.dev.Watchdogs {
		if w := &c.dev.Watchdogs[i]; w.Model == "i6300esb" {
			add("watchdog", &w.Address, plugPCI|hot)
		}
	}
	for i := range c.dev.Videos {
		if i > 0 {
			add(fmt.Sprintf("video %d", i), &c.dev.Videos[i].Address, map[bool]plug{true: plugPCI | hot, false: plugPCIe | hot}[c.dev.Videos[i].Model.Type == "qxl"])
		}
	}
	for i := range c.dev.Inputs {
		if n := &c.dev.Inputs[i]; n.Bus == "virtio" {
			add(fmt.Sprintf("input %s %d", n.Type, i), &n.Address, plugPCIe|hot)
		}
	}
	for i := range c.dev.Serials {
		if s := &c.dev.Serials[i]; s.Target.Type == "pci-serial" {
			add(fmt.Sprintf("serial %d", i), &s.Address, plugPCI|hot)
		}
	}
	if v := c.dev.Vsock; v != nil {
		add("vsock", &v.Address, virtioPlug(v.Model))
	}
	for i := range c.dev.Panics {
		if p := &c.dev.Panics[i]; p.Model == "pvpanic" {
			add("panic", &p.Address, plugPCI|plugPCIe)
		}
	}
}

// controllerPlug is what a controller that is no PCI bus needs; 0 for one that is not on PCI.
func controllerPlug(k *spec.Controller) plug {
	switch k.Type {
	case "usb":
		switch k.Model {
		case "none":
			return 0
		case "qemu-xhci", "nec-xhci":
			return plugPCIe | hot
		}
		if strings.HasPrefix(k.Model, "ich9-") {
			return plugPCI | plugPCIe // belongs to the chipset: the root complex will do
		}
		return plugPCI | hot
	case "scsi":
		if virtioSCSI(k.Model) {
			return virtioPlug(k.Model)
		}
		return plugPCI | hot
	case "virtio-serial":
		return virtioPlug(k.Model)
	case "sata", "ide":
		return plugPCI | hot
	}
	return 0
}

func virtioSCSI(model string) bool { return strings.HasPrefix(model, "virtio-") }

// ich9Function is the function an ICH9 USB controller has within its slot.
func ich9Function(model string) (int, bool) {
	switch model {
	case "ich9-ehci1":
		return 7, true
	case "ich9-uhci1":
		return 0, true
	case "ich9-uhci2":
		return 1, true
	case "ich9-uhci3":
		return 2, true
	}
	return 0, false
}
