package guest

import (
	"strconv"
	"strings"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// otherChardev is the host's side that is neither a terminal, a file nor a unix socket.
func (c *compiler) otherChardev(v *spec.Chardev, d qemu.Chardev) (qemu.Chardev, error) {
	src := v.Source
	if src == nil {
		src = &spec.ChardevSource{}
	}
	switch v.Type {
	case "dev": // a port of the host, parallel or serial
		d.Backend = "serial"
		if strings.HasPrefix(v.Alias.Name, "parallel") {
			d.Backend = "parallel"
		}
		d.Props = d.Props.With("path", c.fdset(Need{Path: src.Path, Access: ReadWrite, Device: v.Alias.Name}))
	case "tcp":
		return c.tcp(v, d)
	case "spicevmc":
		name := "vdagent"
		switch {
		case strings.HasPrefix(v.Alias.Name, "redir"):
			name = "usbredir"
		case strings.HasPrefix(v.Alias.Name, "smartcard"):
			name = "smartcard"
		}
		d.Props = d.Props.With("name", name)
	case "spiceport":
		d.Props = d.Props.With("name", src.Channel)
	case "qemu-vdagent":
		d.Props = d.Props.With("name", "vdagent")
		if mode, _ := src.Mouse.Attr("mode"); mode != "" {
			d.Props = d.Props.With("mouse", mode == "client")
		}
		if paste, _ := src.Clipboard.Attr("copypaste"); paste != "" {
			d.Props = d.Props.With("clipboard", spec.IsYes(paste))
		}
	default:
		return d, unsupported(v.Alias.Name, "type=%q is not implemented; use pty, unix, file, null, vc, dev, tcp, spiceport or spicevmc", v.Type)
	}
	return d, nil
}

// tcp is a TCP socket, which QEMU makes itself: it may bind, or connect to, that port alone.
func (c *compiler) tcp(v *spec.Chardev, d qemu.Chardev) (qemu.Chardev, error) {
	port, err := strconv.ParseUint(v.Source.Service, 10, 16)
	if err != nil || port == 0 {
		return d, invalid(v.Alias.Name, "service=%q is no TCP port", v.Source.Service)
	}
	d.Backend = "socket"
	d.Props = d.Props.With("host", def(v.Source.Host, "127.0.0.1")).With("port", int(port))
	if kind, _ := v.Protocol.Attr("type"); kind == "telnet" {
		d.Props = d.Props.With("telnet", true)
	}
	if v.Source.Mode == "bind" {
		c.cfg.BindTCP = append(c.cfg.BindTCP, uint16(port))
		d.Props = d.Props.With("server", true).With("wait", false)
		return d, nil
	}
	c.cfg.ConnectTCP = append(c.cfg.ConnectTCP, uint16(port))
	return d, nil
}

func (c *compiler) parallels() error {
	for i := range c.dev.Parallels {
		p := &c.dev.Parallels[i]
		id, err := c.chardev(p, "")
		if err != nil {
			return err
		}
		if err := c.device(device("isa-parallel", p.Alias.Name).With("chardev", id), nil); err != nil {
			return err
		}
	}
	return nil
}
