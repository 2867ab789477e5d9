package guest

import "taproom/internal/spec"

// chipset reserves what is soldered on, and puts the devices that are part of the chipset where they belong.
func (c *completer) chipset(t *topology, devices []pciDevice, put func(pciDevice, place)) error {
	for _, r := range c.soldered() {
		if r.who != "" { // a device of the document: it may sit there itself, or be given the place
			dev, found := find(devices, r.who)
			if found {
				if err := fix(t, dev, r.at, r.must, put); err != nil {
					return err
				}
				continue
			}
		}
		if r.reserved == "" {
			continue
		}
		if err := t.reserve(r.at, plugKinds, r.reserved); err != nil {
			return err
		}
	}
	return c.primaryVideo(t, devices, put)
}

// part is a function of the chipset: the document's device it may be, and what else is there.
type part struct {
	at       place
	who      string // the device of the document that is this function
	must     bool   // and can be nowhere else
	reserved string // what is there when the document says nothing of it
}

func (c *completer) soldered() []part {
	if c.fam.root == pcRoot {
		parts := []part{
			{at: place{0, 1, 0}, reserved: "the PIIX3's ISA bridge"},
			{at: place{0, 1, 1}, who: "controller ide 0", must: true, reserved: "the PIIX3's IDE controller"},
			{at: place{0, 1, 3}, reserved: "the PIIX3's power management"},
		}
		if k := c.controller("usb", 0); k != nil && k.Model == "piix3-uhci" {
			parts = append(parts, part{at: place{0, 1, 2}, who: "controller usb 0"})
		}
		return parts
	}
	parts := []part{
		{at: place{0, 0x1f, 0}, reserved: "the ICH9's ISA bridge"},
		{at: place{0, 0x1f, 2}, who: "controller sata 0", must: true},
		{at: place{0, 0x1f, 3}, reserved: "the ICH9's SMBus"},
	}
	for i := range c.dev.Sounds {
		if c.dev.Sounds[i].Model == "ich9" { // the first one is where the ICH9 has its own
			parts = append(parts, part{at: place{0, 0x1b, 0}, who: soundName(i)})
			break
		}
	}
	for i := range c.dev.Controllers {
		if k := &c.dev.Controllers[i]; k.Type == "pci" && k.Model == "dmi-to-pci-bridge" {
			return append(parts, part{at: place{0, 0x1e, 0}, who: controllerName(k)})
		}
	}
	return parts
}

func find(devices []pciDevice, who string) (pciDevice, bool) {
	for _, dev := range devices {
		if dev.who == who {
			return dev, true
		}
	}
	return pciDevice{}, false
}

// fix gives a device its place in the chipset. One that must be there and is elsewhere is refused; another one keeps
// the place the document gave it.
func fix(t *topology, dev pciDevice, at place, must bool, put func(pciDevice, place)) error {
	p, ok, err := readPlace(*dev.addr, dev.who)
	switch {
	case err != nil:
		return err
	case ok && must && p != at:
		return invalid("address", "%s: is part of the chipset and can only be at %s, not %s", dev.who, at, p)
	case ok:
		return nil
	case !must && t.buses[at.bus].slots[at.slot].owner[at.function] != "":
		return nil
	}
	if err := t.reserve(at, plugKinds, dev.who); err != nil {
		return err
	}
	put(dev, at)
	return nil
}

// videoOnPCI reports whether a card is on PCI: none is nowhere, and ramfb lives in the guest's memory.
func videoOnPCI(v *spec.Video) bool { return v.Model.Type != "none" && v.Model.Type != "ramfb" }

// videoPlug is what the primary card needs when its usual place is taken.
func (c *completer) videoPlug() plug {
	switch m := c.dev.Videos[0].Model.Type; {
	case c.fam.root == pcRoot:
		return plugPCI | hot
	case m == "virtio", m == "bochs":
		return plugPCIe | hot
	}
	return plugPCI | hot
}

// primaryVideo puts the first card where firmware and old drivers look for it, or, when that slot is taken, into the
// next free one.
func (c *completer) primaryVideo(t *topology, devices []pciDevice, put func(pciDevice, place)) error {
	dev, found := find(devices, "video 0")
	if !found {
		return nil
	}
	if _, ok, err := readPlace(*dev.addr, dev.who); ok || err != nil {
		return err
	}
	at := c.fam.video
	if t.used(at) {
		p, err := t.next(dev.needs, 0, dev.who)
		if err != nil {
			return err
		}
		put(dev, p)
		return nil
	}
	if err := t.reserve(at, plugKinds, dev.who); err != nil {
		return err
	}
	put(dev, at)
	return nil
}
