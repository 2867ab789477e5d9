package guest

import (
	"taproom/internal/spec"
)

// inputs settles the bus of what is there and adds the PS/2 pair that PCs have on board.
func (c *completer) inputs() error {
	have := map[string]bool{}
	for i := range c.dev.Inputs {
		n := &c.dev.Inputs[i]
		if n.Bus == "" {
			n.Bus = map[bool]string{true: "usb", false: "ps2"}[n.Type == "tablet"]
		}
		if n.Type != "mouse" && n.Type != "keyboard" && n.Type != "tablet" {
			return unsupported("input", "type=%q is not implemented; use mouse, keyboard or tablet", n.Type)
		}
		switch {
		case n.Bus == "virtio":
		case n.Bus == "usb" && c.fam.usb != "":
		case n.Bus == "ps2" && c.fam.ps2 && n.Type != "tablet":
		default:
			return unsupported("input", "%s on bus=%q is not possible on machine %s", n.Type, n.Bus, c.d.OS.Type.Machine)
		}
		have[n.Bus+n.Type] = true
	}
	for _, kind := range []string{"mouse", "keyboard"} {
		if c.fam.ps2 && !have["ps2"+kind] {
			c.dev.Inputs = append(c.dev.Inputs, spec.Input{Type: kind, Bus: "ps2"})
		}
	}
	return nil
}

// videoDefaults is the memory a card gets, in KiB, and what else the document shows of it.
func videoDefaults() map[string]spec.VideoModel {
	return map[string]spec.VideoModel{
		"vga": {VRAM: "16384"}, "cirrus": {VRAM: "16384"}, "bochs": {VRAM: "16384"}, "virtio": {}, "none": {}, "ramfb": {},
		"qxl": {RAM: "65536", VRAM: "65536", VGAMem: "16384"},
	}
}

func (c *completer) videos() error {
	if len(c.dev.Videos) == 0 && len(c.dev.Graphics) > 0 {
		c.dev.Videos = []spec.Video{{}}
	}
	for i := 1; i < len(c.dev.Videos); i++ { // the primary card is the first one
		if c.dev.Videos[i].Model.Primary == "yes" {
			v := c.dev.Videos[i]
			copy(c.dev.Videos[1:i+1], c.dev.Videos[:i])
			c.dev.Videos[0] = v
			break
		}
	}
	for i := range c.dev.Videos {
		if err := c.videoModel(&c.dev.Videos[i].Model, i == 0); err != nil {
			return err
		}
	}
	return nil
}

func (c *completer) videoModel(m *spec.VideoModel, primary bool) error {
	m.Type = def(m.Type, "cirrus")
	d, known := videoDefaults()[m.Type]
	switch {
	case !known:
		return unsupported("video/model", "type=%q is not implemented; use vga, cirrus, virtio, qxl, bochs, ramfb or none", m.Type)
	case m.Type == "none":
		if len(c.dev.Videos) > 1 {
			return invalid("video/model", "type='none' does not go beside another card")
		}
		m.Primary = ""
		return nil
	case !c.fam.pci():
		return unsupported("video", "machine %s has no PCI bus for a graphics card", c.d.OS.Type.Machine)
	case !primary && m.Type != "virtio" && m.Type != "qxl":
		return unsupported("video/model", "type=%q is only possible as the primary card; use virtio or qxl", m.Type)
	case m.Type == "qxl" && !c.host.hasDevice("qxl-vga"):
		return unsupported("video/model", "emulator %s has no qxl; install qemu-system-modules-spice, or use virtio", c.dev.Emulator)
	case m.Type != "qxl" && m.RAM+m.VRAM64+m.VGAMem != "":
		return unsupported("video/model", "ram, vram64 and vgamem are for qxl, not for %s", m.Type)
	case m.Resolution != nil && (m.Type == "cirrus" || m.Type == "ramfb"):
		return unsupported("video/model/resolution", "%s does not let its resolution be chosen; use vga, virtio, qxl or bochs", m.Type)
	case m.Type != "virtio" && m.Type != "qxl" && def(m.Heads, "1") != "1":
		return unsupported("video/model", "%s has one head, not %s; use virtio or qxl", m.Type, m.Heads)
	}
	m.RAM, m.VRAM, m.VGAMem = def(m.RAM, d.RAM), def(m.VRAM, d.VRAM), def(m.VGAMem, d.VGAMem)
	m.Heads, m.Primary = def(m.Heads, "1"), ""
	if primary {
		m.Primary = "yes"
	}
	return nil
}
