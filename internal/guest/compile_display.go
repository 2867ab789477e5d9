package guest

import (
	"net"
	"strconv"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

func (c *compiler) inputs() error {
	for i := range c.dev.Inputs {
		n := &c.dev.Inputs[i]
		var driver string
		switch n.Bus {
		case "usb":
			driver = map[string]string{"mouse": "usb-mouse", "keyboard": "usb-kbd", "tablet": "usb-tablet"}[n.Type]
		case "virtio":
			driver = c.virtio("virtio-"+n.Type, "")
		default:
			continue // PS/2 is on board
		}
		if err := c.device(device(driver, n.Alias.Name), n.Address); err != nil {
			return err
		}
	}
	return nil
}

// graphics is the VNC display. Its password is set over QMP, so that it stands on no command line.
func (c *compiler) graphics() error {
	for i := range c.dev.Graphics {
		g := &c.dev.Graphics[i]
		o, err := c.vnc(g)
		if err != nil {
			return err
		}
		c.cfg.VNC = &o
		if g.Keymap != "" {
			c.flag("-k", qemu.Option{Head: g.Keymap})
		}
	}
	return nil
}

func (c *compiler) vnc(g *spec.Graphics) (qemu.Option, error) {
	if len(g.Listens) > 0 && g.Listens[0].Type == "none" {
		return qemu.Option{Head: "none"}, nil
	}
	port := c.rt.VNCPort
	if g.AutoPort != "yes" {
		var err error
		if port, err = strconv.Atoi(g.Port); err != nil {
			return qemu.Option{}, invalid("graphics", "port=%q is no port", g.Port)
		}
	}
	if port < 5900 || port > 65535 {
		return qemu.Option{}, invalid("graphics", "port %d: a VNC display's port is between 5900 and 65535", port)
	}
	c.cfg.BindTCP = append(c.cfg.BindTCP, uint16(port))
	o := qemu.Option{Head: net.JoinHostPort(vncListen(g), strconv.Itoa(port-5900))}
	if g.WebSocket != "" {
		ws, err := strconv.Atoi(g.WebSocket)
		if err != nil || ws < -1 || ws > 65535 {
			return qemu.Option{}, invalid("graphics", "websocket=%q is no port", g.WebSocket)
		}
		if ws == -1 {
			ws = c.rt.VNCWebSocket
		}
		if ws <= 0 {
			return qemu.Option{}, invalid("graphics", "no port was prepared for the websocket")
		}
		o.Props = o.Props.With("websocket", ws)
		c.cfg.BindTCP = append(c.cfg.BindTCP, uint16(ws))
	}
	if g.SharePolicy != "" {
		o.Props = o.Props.With("share", g.SharePolicy)
	}
	if g.Passwd != "" {
		o.Props = o.Props.With("password", true)
		c.out.Startup.VNCPassword = g.Passwd
	}
	return o, nil
}

// vncListen is the address a display listens on. Without one it is the loopback's: VNC is neither encrypted nor, without
// a password, guarded.
func vncListen(g *spec.Graphics) string {
	if len(g.Listens) > 0 && g.Listens[0].Address != "" {
		return g.Listens[0].Address
	}
	return def(g.Listen, "127.0.0.1")
}

func (c *compiler) videos() error {
	for i := range c.dev.Videos {
		v := &c.dev.Videos[i]
		if v.Model.Type == "none" {
			continue
		}
		p, err := c.video(v, i == 0)
		if err != nil {
			return err
		}
		if err := c.device(p, v.Address); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) video(v *spec.Video, primary bool) (qemu.Props, error) {
	vram, err := number(v.Model.VRAM)
	if err != nil {
		return nil, invalid("video/model", "vram=%q is no number of KiB", v.Model.VRAM)
	}
	heads, err := number(def(v.Model.Heads, "1"))
	if err != nil || heads < 1 {
		return nil, invalid("video/model", "heads=%q is no number from 1", v.Model.Heads)
	}
	switch v.Model.Type {
	case "vga":
		p := device("VGA", v.Alias.Name)
		if vram > 0 {
			p = p.With("vgamem_mb", (vram+1023)/1024)
		}
		return p, nil
	case "cirrus":
		return device("cirrus-vga", v.Alias.Name), nil
	case "bochs":
		p := device("bochs-display", v.Alias.Name)
		if vram > 0 {
			p = p.With("vgamem", vram*1024)
		}
		return p, nil
	case "virtio":
		driver := map[bool]string{true: "virtio-vga", false: "virtio-gpu-pci"}[primary]
		return device(driver, v.Alias.Name).With("max_outputs", heads), nil
	}
	return nil, unsupported("video/model", "type=%q is not implemented", v.Model.Type)
}
