package guest

import (
	"net"
	"path/filepath"
	"strconv"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// graphics makes the displays. Their passwords are set over QMP, so that they stand on no command line.
func (c *compiler) graphics() error {
	for i := range c.dev.Graphics {
		g := &c.dev.Graphics[i]
		var err error
		switch g.Type {
		case "vnc":
			var o qemu.Option
			o, err = c.vnc(g, c.rt.display(i))
			c.cfg.VNC = &o
		case "spice":
			err = c.spice(g, c.rt.display(i))
		default:
			err = unsupported("graphics", "type=%q is not implemented", g.Type)
		}
		if err != nil {
			return err
		}
		if p, ok := PasswordOf(g); ok {
			c.out.Startup.Passwords = append(c.out.Startup.Passwords, p)
		}
		if g.Keymap != "" {
			c.flag("-k", qemu.Option{Head: g.Keymap})
		}
	}
	return nil
}

// listenType is where a display listens: address, network, socket or none.
func listenType(g *spec.Graphics) string {
	if len(g.Listens) == 0 {
		return "address"
	}
	return g.Listens[0].Type
}

// DisplaySocket is the socket of a display that listens on one: vnc or spice.
func DisplaySocket(dir, kind string) string { return filepath.Join(dir, "display", kind+".sock") }

// displaySocket gives QEMU the folder that it makes a socket in, and returns the socket's path.
func (c *compiler) displaySocket(g *spec.Graphics) (string, error) {
	path := DisplaySocket(c.rt.Dir, g.Type)
	if len(path) > maxSocketPath {
		return "", invalid("graphics", "socket path %s is longer than %d bytes", path, maxSocketPath)
	}
	dir := filepath.Dir(path)
	for _, n := range c.out.Needs {
		if n.Access == Folder && n.Path == dir {
			return path, nil
		}
	}
	c.cfg.ReadWrite = append(c.cfg.ReadWrite, dir)
	c.need(Need{Path: dir, Access: Folder, Device: "display"})
	return path, nil
}

// displayPort is the port of a display: the document's, or the one that was prepared.
func (c *compiler) displayPort(g *spec.Graphics, d DisplayRuntime, least int) (int, error) {
	port := d.Port
	if g.AutoPort != "yes" {
		var err error
		if port, err = strconv.Atoi(g.Port); err != nil {
			return 0, invalid("graphics", "port=%q is no port", g.Port)
		}
	}
	if port < least || port > 65535 {
		return 0, invalid("graphics", "port %d of %s: it is between %d and 65535", port, g.Type, least)
	}
	c.cfg.BindTCP = append(c.cfg.BindTCP, uint16(port))
	return port, nil
}

// displayAddress is where a display listens. Without an address it is the loopback's: displays are not encrypted, nor,
// without a password, guarded.
func displayAddress(g *spec.Graphics, d DisplayRuntime) string {
	if listenType(g) == "network" {
		return d.Address
	}
	if len(g.Listens) > 0 && g.Listens[0].Address != "" {
		return g.Listens[0].Address
	}
	return def(g.Listen, "127.0.0.1")
}

func (c *compiler) vnc(g *spec.Graphics, d DisplayRuntime) (qemu.Option, error) {
	o, err := c.vncListen(g, d)
	if err != nil {
		return o, err
	}
	if id := c.vncAudio(g); id != "" {
		o.Props = o.Props.With("audiodev", id)
	}
	if g.SharePolicy != "" {
		o.Props = o.Props.With("share", g.SharePolicy)
	}
	if g.Passwd != "" {
		o.Props = o.Props.With("password", true)
	}
	if g.PowerControl != "" {
		o.Props = o.Props.With("power-control", spec.IsYes(g.PowerControl))
	}
	return o, nil
}

func (c *compiler) vncListen(g *spec.Graphics, d DisplayRuntime) (qemu.Option, error) {
	switch listenType(g) {
	case "none":
		return qemu.Option{Head: "none"}, nil
	case "socket":
		path, err := c.displaySocket(g)
		return qemu.Option{Head: "unix:" + path}, err
	}
	port, err := c.displayPort(g, d, 5900)
	if err != nil {
		return qemu.Option{}, err
	}
	o := qemu.Option{Head: net.JoinHostPort(displayAddress(g, d), strconv.Itoa(port-5900))}
	if g.WebSocket == "" {
		return o, nil
	}
	ws, err := strconv.Atoi(g.WebSocket)
	if err != nil || ws < -1 || ws > 65535 {
		return qemu.Option{}, invalid("graphics", "websocket=%q is no port", g.WebSocket)
	}
	if ws == -1 {
		ws = d.WebSocket
	}
	if ws <= 0 {
		return qemu.Option{}, invalid("graphics", "no port was prepared for the websocket")
	}
	c.cfg.BindTCP = append(c.cfg.BindTCP, uint16(ws))
	o.Props = o.Props.With("websocket", ws)
	return o, nil
}

// spice is the SPICE server.
func (c *compiler) spice(g *spec.Graphics, d DisplayRuntime) error {
	var p qemu.Props
	switch listenType(g) {
	case "none":
		p = p.With("port", 0)
	case "socket":
		path, err := c.displaySocket(g)
		if err != nil {
			return err
		}
		p = p.With("unix", true).With("addr", path)
	default:
		port, err := c.displayPort(g, d, 1)
		if err != nil {
			return err
		}
		p = p.With("port", port).With("addr", displayAddress(g, d))
	}
	attr := func(e *spec.Element, name string) string {
		v, _ := e.Attr(name)
		return v
	}
	if v := attr(g.Mouse, "mode"); v != "" {
		p = p.With("agent-mouse", v == "client")
	}
	if g.Passwd == "" {
		p = p.With("disable-ticketing", true)
	}
	for _, o := range []struct {
		key string
		e   *spec.Element
	}{
		{"image-compression", g.Image}, {"jpeg-wan-compression", g.JPEG}, {"zlib-glz-wan-compression", g.Zlib}, {"playback-compression", g.Playback},
	} {
		if v := attr(o.e, "compression"); v != "" {
			p = p.With(o.key, v)
		}
	}
	if v := attr(g.Streaming, "mode"); v != "" {
		p = p.With("streaming-video", v)
	}
	if attr(g.Clipboard, "copypaste") == "no" {
		p = p.With("disable-copy-paste", true)
	}
	if attr(g.FileTransfer, "enable") == "no" {
		p = p.With("disable-agent-file-xfer", true)
	}
	c.flag("-spice", qemu.Option{Props: p.With("seamless-migration", true)})
	return nil
}

// vncAudio is the backend whose sound a VNC client may hear: the one that the document names, or the first one where the
// guest has a sound card.
func (c *compiler) vncAudio(g *spec.Graphics) string {
	switch {
	case g.Audio != nil:
		return audioID(g.Audio.ID)
	case len(c.dev.Sounds) > 0:
		return audioID(c.dev.Audios[0].ID)
	}
	return ""
}

func audioID(id string) string { return "audio" + id }

// audios makes the backends of sound. One that neither a card nor a display uses is left out.
func (c *compiler) audios() error {
	for _, a := range c.dev.Audios {
		used := len(c.dev.Sounds) > 0
		for _, g := range c.dev.Graphics {
			used = used || g.Audio != nil
		}
		if !used {
			continue
		}
		if a.Type != "none" && a.Type != "spice" {
			return unsupported("audio", "type=%q is not implemented; use none or spice", a.Type)
		}
		c.flag("-audiodev", qemu.Option{Head: a.Type, Props: qemu.Props{{Key: "id", Value: audioID(a.ID)}}})
	}
	return nil
}
