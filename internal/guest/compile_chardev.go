package guest

import (
	"path/filepath"
	"strings"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// maxSocketPath is the longest path of a unix socket: sun_path without its NUL.
const maxSocketPath = 107

func (c *compiler) serials() error {
	for i := range c.dev.Serials {
		s := &c.dev.Serials[i]
		id, err := c.chardev(s, "")
		if err != nil {
			return err
		}
		port, err := number(s.Target.Port)
		if err != nil {
			return invalid("serial/target", "port=%q is no number", s.Target.Port)
		}
		p := qemu.Props{{Key: "driver", Value: s.Target.Type}, {Key: "chardev", Value: id}, {Key: "id", Value: s.Alias.Name}}
		if s.Target.Type == "isa-serial" {
			p = p.With("index", port)
		}
		if err := c.device(p, s.Address); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) channels() error {
	for i := range c.dev.Channels {
		n := &c.dev.Channels[i]
		id, err := c.chardev(n, ChannelPath(c.rt.Dir, n))
		if err != nil {
			return err
		}
		ctl := "virtio-serial" + n.Address.Controller
		port, err := number(n.Address.Port)
		if err != nil {
			return invalid("channel/address", "port=%q is no number", n.Address.Port)
		}
		for j := range c.dev.Controllers {
			if k := &c.dev.Controllers[j]; k.Type == "virtio-serial" && k.Index == n.Address.Controller {
				ctl = k.Alias.Name
			}
		}
		p := qemu.Props{
			{Key: "driver", Value: "virtserialport"},
			{Key: "bus", Value: ctl + ".0"},
			{Key: "nr", Value: port},
			{Key: "chardev", Value: id},
			{Key: "id", Value: n.Alias.Name},
		}
		if n.Target.Name != "" {
			p = p.With("name", n.Target.Name)
		}
		if err := c.device(p, nil); err != nil {
			return err
		}
	}
	return nil
}

// consoles makes virtio consoles; a console that mirrors a serial port is that port.
func (c *compiler) consoles() error {
	for i := range c.dev.Consoles {
		o := &c.dev.Consoles[i]
		if o.Target.Type != "virtio" {
			continue
		}
		id, err := c.chardev(o, "")
		if err != nil {
			return err
		}
		if err := c.device(qemu.Props{{Key: "driver", Value: "virtconsole"}, {Key: "chardev", Value: id}, {Key: "id", Value: o.Alias.Name}}, nil); err != nil {
			return err
		}
	}
	return nil
}

// ChannelPath is where the host's side of a channel without a path is. Its name in the guest is the file's name, or its
// place when the name would not do.
func ChannelPath(dir string, n *spec.Chardev) string {
	name := n.Target.Name
	if name == "" || strings.ContainsAny(name, "/\x00") || name == "." || name == ".." {
		name = "vioser-" + n.Address.Controller + "-" + n.Address.Port + ".sock"
	}
	return filepath.Join(dir, "channel", name)
}

// chardev makes the host's side of a serial port, a console or a channel and returns its id.
func (c *compiler) chardev(v *spec.Chardev, automatic string) (string, error) {
	id := "char" + v.Alias.Name
	d := qemu.Chardev{ID: id, Backend: v.Type}
	switch v.Type {
	case "pty", "null", "vc":
	case "file":
		path := chardevPath(v)
		if path == "" {
			return "", invalid(v.Alias.Name, "type='file' needs a source path")
		}
		n := Need{Path: path, Access: WriteOnly, Device: v.Alias.Name}
		if v.Source.Append == "on" {
			n.Access = Append
		}
		d.Props = d.Props.With("path", c.fdset(n))
		if n.Access == Append {
			d.Props = d.Props.With("append", true)
		}
	case "unix":
		var err error
		if d, err = c.socket(v, id, automatic); err != nil {
			return "", err
		}
	default:
		var err error
		if d, err = c.otherChardev(v, d); err != nil {
			return "", err
		}
	}
	if v.Log != nil {
		path, _ := v.Log.Attr("file")
		n := Need{Path: path, Access: WriteOnly, Device: v.Alias.Name + " log"}
		if mode, _ := v.Log.Attr("append"); mode == "on" {
			n.Access = Append
		}
		d.Props = d.Props.With("logfile", c.fdset(n)).With("logappend", n.Access == Append)
	}
	c.cfg.Chardevs = append(c.cfg.Chardevs, d)
	return id, nil
}

func chardevPath(v *spec.Chardev) string {
	if v.Source == nil {
		return ""
	}
	return v.Source.Path
}

// socket is a unix socket, made or connected for QEMU and passed to it: QEMU has no rights on the folder.
func (c *compiler) socket(v *spec.Chardev, id, automatic string) (qemu.Chardev, error) {
	path, connect := chardevPath(v), false
	switch {
	case path == "" && automatic == "":
		return qemu.Chardev{}, invalid(v.Alias.Name, "type='unix' needs a source path")
	case path == "":
		path = automatic
	default:
		connect = v.Source.Mode == "connect"
	}
	if len(path) > maxSocketPath {
		return qemu.Chardev{}, invalid(v.Alias.Name, "socket path %s is longer than %d bytes", path, maxSocketPath)
	}
	n := Need{Name: id, Path: path, Access: Listen, Device: v.Alias.Name}
	if connect {
		n.Access = Dial
		c.need(n)
		return qemu.Chardev{ID: id, Backend: "socket", Props: qemu.Props{{Key: "fd", Value: qemu.FD(n.Name)}}}, nil
	}
	c.need(n)
	return qemu.ListenChardev(id, n.Name), nil
}
