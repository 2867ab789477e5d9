package guest

import (
	"encoding/xml"
	"slices"
	"strconv"

	"taproom/internal/spec"
)

// serials numbers serial ports, makes a serial port out of a lone console and mirrors the first port as console 0.
func (c *completer) serials() error {
	if err := c.consoles(); err != nil {
		return err
	}
	next := 0
	for i := range c.dev.Serials {
		s := &c.dev.Serials[i]
		if s.Target == nil {
			s.Target = &spec.ChardevTarget{}
		}
		t := s.Target
		if err := c.serialTarget(t); err != nil {
			return err
		}
		if t.Port == "" {
			t.Port = strconv.Itoa(next)
		}
		n, err := strconv.Atoi(t.Port)
		if err != nil || n < 0 || t.Type == "isa-serial" && n > 3 {
			return invalid("serial/target", "port=%q is no ISA serial port (0 to 3)", t.Port)
		}
		next = max(next, n+1)
	}
	seen := map[string]bool{}
	for _, s := range c.dev.Serials {
		if seen[s.Target.Port] {
			return invalid("serial/target", "port %s is used by two serial devices", s.Target.Port)
		}
		seen[s.Target.Port] = true
	}
	if len(c.dev.Serials) == 0 {
		return nil
	}
	mirror := c.dev.Serials[0]
	mirror.Target = &spec.ChardevTarget{Type: "serial", Port: c.dev.Serials[0].Target.Port}
	mirror.Address, mirror.Log, mirror.Alias = nil, nil, nil
	mirror.Extra = spec.Extra{} // what is said of the port is not said of the console
	if len(c.dev.Consoles) > 0 && c.dev.Consoles[0].Target.Type == "serial" {
		was := c.dev.Consoles[0]
		mirror.Extra, mirror.Target.Extra = was.Extra, was.Target.Extra
		c.dev.Consoles[0] = mirror
		return nil
	}
	c.dev.Consoles = append([]spec.Chardev{mirror}, c.dev.Consoles...)
	return nil
}

// serialTarget settles what kind of port the guest sees.
func (c *completer) serialTarget(t *spec.ChardevTarget) error {
	t.Type = def(t.Type, "isa-serial")
	if t.Type == "serial" {
		t.Type = "isa-serial"
	}
	switch {
	case t.Type != "isa-serial" && t.Type != "usb-serial" && t.Type != "pci-serial":
		return unsupported("serial/target", "type=%q is not implemented; use isa-serial, pci-serial or usb-serial", t.Type)
	case t.Type != "isa-serial" && !c.fam.pci():
		return unsupported("serial/target", "machine %s has ISA serial ports only", c.d.OS.Type.Machine)
	case t.Model != nil && t.Model.Name != t.Type:
		return invalid("serial/target/model", "name=%q does not fit type=%q", t.Model.Name, t.Type)
	}
	if t.Model == nil {
		t.Model = &spec.ChardevModel{Name: t.Type}
	}
	return nil
}

func (c *completer) consoles() error {
	for i := range c.dev.Consoles {
		o := &c.dev.Consoles[i]
		if o.Target == nil {
			o.Target = &spec.ChardevTarget{}
		}
		o.Target.Type = def(o.Target.Type, "serial")
		switch o.Target.Type {
		case "serial":
			if i > 0 {
				return unsupported("console", "only the first console can be a serial port; use target type='virtio'")
			}
		case "virtio":
			o.Target.Port = def(o.Target.Port, strconv.Itoa(i))
		default:
			return unsupported("console/target", "type=%q is not implemented; use serial or virtio", o.Target.Type)
		}
	}
	if len(c.dev.Consoles) > 0 && c.dev.Consoles[0].Target.Type == "serial" && len(c.dev.Serials) == 0 {
		s := c.dev.Consoles[0]
		s.Target = nil
		c.dev.Serials = []spec.Chardev{s}
	}
	return nil
}

func (c *completer) channels() error {
	for i := range c.dev.Channels {
		n := &c.dev.Channels[i]
		if n.Target == nil || n.Target.Type != "virtio" {
			return unsupported("channel/target", "only type='virtio' is implemented")
		}
		if n.Type == "unix" && n.Source != nil && c.host.ownChannelPath(n.Source.Path) {
			n.Source = nil
		}
		if n.Type == "spicevmc" || n.Type == "qemu-vdagent" {
			n.Target.Name = def(n.Target.Name, spiceAgent)
		}
	}
	return c.hostSides()
}

// spiceAgent is the channel of the agent that moves the clipboard and the mouse.
const spiceAgent = "com.redhat.spice.0"

// hostSides settles what all character devices have.
func (c *completer) hostSides() error {
	for i := range c.dev.Parallels {
		p := &c.dev.Parallels[i]
		if !c.fam.isaDebug {
			return unsupported("parallel", "machine %s has no parallel ports", c.d.OS.Type.Machine)
		}
		if i > 2 {
			return unsupported("parallel", "only three parallel ports are possible")
		}
		if p.Target == nil {
			p.Target = &spec.ChardevTarget{}
		}
		p.Target.Port = def(p.Target.Port, strconv.Itoa(i))
	}
	for _, v := range slices.Concat(pointers(c.dev.Serials), pointers(c.dev.Parallels), pointers(c.dev.Consoles), pointers(c.dev.Channels)) {
		if err := c.hostSide(v.Type, v.Source, &v.Protocol); err != nil {
			return err
		}
	}
	for i := range c.dev.RedirDevs {
		if err := c.hostSide(c.dev.RedirDevs[i].Type, c.dev.RedirDevs[i].Source, &c.dev.RedirDevs[i].Protocol); err != nil {
			return err
		}
	}
	for i := range c.dev.Smartcards {
		if err := c.hostSide(c.dev.Smartcards[i].Type, c.dev.Smartcards[i].Source, &c.dev.Smartcards[i].Protocol); err != nil {
			return err
		}
	}
	return nil
}

func (c *completer) hostSide(is string, src *spec.ChardevSource, protocol **spec.Element) error {
	switch is {
	case "spicevmc", "spiceport":
		if !c.spice() {
			return unsupported("devices", "a character device of type %s needs <graphics type='spice'/>", is)
		}
	case "qemu-vdagent":
		if !c.host.hasChardev("chardev-qemu-vdagent") {
			return unsupported("channel", "emulator %s has no qemu-vdagent", c.dev.Emulator)
		}
	case "tcp":
		if src == nil || src.Service == "" {
			return invalid("devices", "a character device of type tcp needs a source with a service")
		}
		src.Mode = def(src.Mode, "connect")
		if *protocol == nil {
			e := &spec.Element{}
			e.Attrs = append(e.Attrs, xml.Attr{Name: xml.Name{Local: "type"}, Value: "raw"})
			*protocol = e
		}
		if src.Mode == "connect" && src.Host == "" {
			return invalid("devices", "a character device that connects over tcp needs a host")
		}
	}
	return nil
}
