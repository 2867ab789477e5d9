package guest

import (
	"slices"
	"strconv"
	"strings"

	"taproom/internal/spec"
)

// spiceModule is where the parts of SPICE are that a QEMU may lack.
const spiceModule = "install qemu-system-modules-spice"

func (c *completer) graphics() error {
	seen := map[string]bool{}
	for i := range c.dev.Graphics {
		g := &c.dev.Graphics[i]
		switch {
		case g.Type != "vnc" && g.Type != "spice":
			return unsupported("graphics", "type=%q is not implemented; use vnc or spice", g.Type)
		case seen[g.Type]:
			return unsupported("graphics", "only one display of type %s is possible", g.Type)
		case !c.fam.pci():
			return unsupported("graphics", "machine %s has no PCI bus for a graphics card", c.d.OS.Type.Machine)
		case g.Type == "spice" && !c.host.hasChardev("chardev-spicevmc"):
			return unsupported("graphics", "emulator %s has no SPICE; %s, or use type='vnc'", c.dev.Emulator, spiceModule)
		}
		seen[g.Type] = true
		if err := c.listens(g); err != nil {
			return err
		}
	}
	return nil
}

// audios adds the backend that every PC gets: sound goes to SPICE where there is some.
func (c *completer) audios() error {
	if len(c.dev.Audios) == 0 && c.fam.pci() {
		c.dev.Audios = []spec.Audio{{ID: "1", Type: map[bool]string{true: "spice", false: "none"}[c.spice()]}}
	}
	ids := map[string]bool{}
	for _, a := range c.dev.Audios {
		if ids[a.ID] {
			return invalid("audio", "id %s is used by two backends", a.ID)
		}
		ids[a.ID] = true
		if a.Type == "spice" && !c.spice() {
			return unsupported("audio", "type='spice' needs <graphics type='spice'/>")
		}
	}
	for i := range c.dev.Graphics {
		if a := c.dev.Graphics[i].Audio; a != nil && !ids[a.ID] {
			return invalid("graphics/audio", "there is no <audio> with id %s", a.ID)
		}
	}
	return nil
}

// spice reports whether the guest has a SPICE server.
func (c *completer) spice() bool {
	return slices.ContainsFunc(c.dev.Graphics, func(g spec.Graphics) bool { return g.Type == "spice" })
}

// listens brings the ways of saying where a display listens, attributes and element, into agreement.
func (c *completer) listens(g *spec.Graphics) error {
	c.forgetSocket(g)
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
	case "network": // which address that is shows at the start
		l.Address, g.Listen = "", ""
	case "socket":
		if def(l.Socket, g.Socket) != "" {
			return unsupported("graphics/listen", "a socket's place cannot be chosen: QEMU may make files in the guest's own folder only; leave %s out", def(l.Socket, g.Socket))
		}
		fallthrough
	case "none":
		if g.WebSocket != "" {
			return unsupported("graphics", "a websocket needs a display that listens on an address")
		}
		g.Port, g.TLSPort, g.AutoPort, g.Listen = "", "", "", ""
		return nil
	default:
		return unsupported("graphics/listen", "type=%q is not implemented; use address, network, socket or none", l.Type)
	}
	if g.Type == "spice" {
		return spicePorts(g, l)
	}
	return vncPorts(g)
}

// forgetSocket drops the place of a socket that was made for an earlier run.
func (c *completer) forgetSocket(g *spec.Graphics) {
	old := func(path string) bool {
		return c.host.ownChannelPath(path) || strings.HasPrefix(path, "/var/lib/libvirt/qemu/domain-") || strings.HasPrefix(path, "/run/libvirt/qemu/domain-")
	}
	for i := range g.Listens {
		if l := &g.Listens[i]; l.Type == "socket" && old(l.Socket) {
			l.Socket = ""
		}
	}
	if len(g.Listens) > 0 && old(g.Socket) {
		g.Socket = ""
	}
}

func vncPorts(g *spec.Graphics) error {
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

// spicePorts settles a SPICE server's port. One without a port and without autoport listens nowhere, as with libvirt.
func spicePorts(g *spec.Graphics, l *spec.GraphicsListen) error {
	n, err := strconv.Atoi(def(g.Port, "0"))
	switch {
	case err != nil || n < -1 || n > 65535:
		return invalid("graphics", "port=%q is no port", g.Port)
	case g.AutoPort == "yes" || n == -1:
		g.Port, g.TLSPort, g.AutoPort = "", "", "yes"
	case n == 0 && l.Type == "address":
		g.Port, g.TLSPort, g.AutoPort, g.Listen = "", "", "", ""
		*l = spec.GraphicsListen{Type: "none"}
	case n == 0:
		return invalid("graphics", "a SPICE server on a network needs a port, or autoport='yes'")
	default:
		g.TLSPort, g.AutoPort = "", "no"
	}
	return nil
}
