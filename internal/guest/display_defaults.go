package guest

import (
	"strconv"

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

func (c *completer) graphics() error {
	for i := range c.dev.Graphics {
		g := &c.dev.Graphics[i]
		if g.Type != "vnc" {
			return unsupported("graphics", "type=%q is not implemented; use vnc", g.Type)
		}
		if i > 0 {
			return unsupported("graphics", "only one VNC display is possible")
		}
		if !c.fam.pci() {
			return unsupported("graphics", "machine %s has no PCI bus for a graphics card", c.d.OS.Type.Machine)
		}
		if err := listens(g); err != nil {
			return err
		}
	}
	if len(c.dev.Audios) == 0 && c.fam.pci() {
		c.dev.Audios = []spec.Audio{{ID: "1", Type: "none"}}
	}
	return nil
}

// listens brings the two ways of saying where a display listens, attribute and element, into agreement.
func listens(g *spec.Graphics) error {
	if len(g.Listens) == 0 {
		l := spec.GraphicsListen{Type: "address", Address: g.Listen}
		if g.Socket != "" {
			l = spec.GraphicsListen{Type: "socket", Socket: g.Socket}
		}
		g.Listens = []spec.GraphicsListen{l}
	}
	if len(g.Listens) > 1 {
		return unsupported("graphics", "only one listen element is possible")
	}
	l := &g.Listens[0]
	switch l.Type {
	case "address":
		if g.Listen != "" && l.Address != "" && g.Listen != l.Address {
			return invalid("graphics", "listen=%q contradicts the listen element's address=%q", g.Listen, l.Address)
		}
		l.Address = def(l.Address, g.Listen)
		g.Listen = l.Address
	case "none":
		return nil
	default:
		return unsupported("graphics/listen", "type=%q is not implemented; use address or none", l.Type)
	}
	n, err := strconv.Atoi(def(g.Port, "-1"))
	if err != nil || n < -1 || n > 65535 {
		return invalid("graphics", "port=%q is no port", g.Port)
	}
	if n <= 0 || g.AutoPort == "yes" {
		g.Port, g.AutoPort = "-1", "yes"
		return nil
	}
	if n < 5900 {
		return unsupported("graphics", "port %d: a VNC display's port starts at 5900", n)
	}
	g.AutoPort = "no"
	return nil
}

// videoDefault describes a card: what memory it gets, in KiB, and where it goes on PCI Express.
type videoDefault struct{ vram string }

func videoDefaults() map[string]videoDefault {
	return map[string]videoDefault{
		"vga": {"16384"}, "cirrus": {"16384"}, "bochs": {"16384"}, "virtio": {}, "none": {},
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
		m := &c.dev.Videos[i].Model
		m.Type = def(m.Type, "cirrus")
		d, known := videoDefaults()[m.Type]
		switch {
		case !known:
			return unsupported("video/model", "type=%q is not implemented; use vga, cirrus, virtio, bochs or none", m.Type)
		case m.Type == "none":
			if len(c.dev.Videos) > 1 {
				return invalid("video/model", "type='none' does not go beside another card")
			}
			m.Primary = ""
			continue
		case !c.fam.pci():
			return unsupported("video", "machine %s has no PCI bus for a graphics card", c.d.OS.Type.Machine)
		case i > 0 && m.Type != "virtio":
			return unsupported("video/model", "type=%q is only possible as the primary card; use virtio", m.Type)
		}
		m.VRAM, m.Heads, m.Primary = def(m.VRAM, d.vram), def(m.Heads, "1"), ""
		if i == 0 {
			m.Primary = "yes"
		}
	}
	return nil
}
