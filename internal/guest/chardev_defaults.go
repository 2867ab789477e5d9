package guest

import (
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
		t.Type = def(t.Type, "isa-serial")
		if t.Type == "serial" {
			t.Type = "isa-serial"
		}
		if t.Type != "isa-serial" {
			return unsupported("serial/target", "type=%q is not implemented; use isa-serial", t.Type)
		}
		if t.Model == nil {
			t.Model = &spec.ChardevModel{Name: "isa-serial"}
		}
		if t.Port == "" {
			t.Port = strconv.Itoa(next)
		}
		n, err := strconv.Atoi(t.Port)
		if err != nil || n < 0 || n > 3 {
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
	}
	return nil
}
