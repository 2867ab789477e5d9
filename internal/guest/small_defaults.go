package guest

import (
	"strings"

	"taproom/internal/spec"
)

// smallDevices settles balloon, random source, watchdog and panic notifier.
func (c *completer) smallDevices() error {
	if c.dev.MemBalloon == nil {
		c.dev.MemBalloon = &spec.MemBalloon{Model: "virtio"}
	}
	if b := c.dev.MemBalloon; !c.virtioModel(b.Model) && b.Model != "none" {
		return unsupported("memballoon", "model=%q is not implemented; use virtio or none", b.Model)
	}
	for i := range c.dev.RNGs {
		r := &c.dev.RNGs[i]
		r.Model = def(r.Model, "virtio")
		r.Backend.Path = strings.TrimSpace(r.Backend.Path)
		if !c.virtioModel(r.Model) {
			return unsupported("rng", "model=%q is not implemented; use virtio", r.Model)
		}
		switch r.Backend.Model {
		case "random":
			r.Backend.Path = def(r.Backend.Path, "/dev/random")
		case "builtin":
			r.Backend.Path = ""
		default:
			return unsupported("rng/backend", "model=%q is not implemented; use random or builtin", r.Backend.Model)
		}
	}
	for i := range c.dev.Watchdogs {
		w := &c.dev.Watchdogs[i]
		w.Action = def(w.Action, "reset")
		if i > 0 {
			return unsupported("watchdog", "only one watchdog is possible")
		}
		if err := c.watchdogModel(w); err != nil {
			return err
		}
	}
	for i := range c.dev.Panics {
		p := &c.dev.Panics[i]
		p.Model = def(p.Model, "isa")
		switch {
		case p.Model != "isa" && p.Model != "pvpanic" || !c.fam.isaDebug:
			return unsupported("panic", "model=%q is not implemented on machine %s; use isa or pvpanic on pc or q35", p.Model, c.d.OS.Type.Machine)
		case p.Model == "pvpanic" && !c.host.hasDevice("pvpanic-pci"):
			return unsupported("panic", "emulator %s has no pvpanic-pci; use model='isa'", c.dev.Emulator)
		}
	}
	return nil
}

func (c *completer) watchdogModel(w *spec.Watchdog) error {
	switch {
	case w.Model == "i6300esb" && c.fam.pci(), w.Model == "ib700" && c.fam.isaDebug, w.Model == "itco" && c.fam.sata:
		return nil
	}
	return unsupported("watchdog", "model=%q is not possible on machine %s", w.Model, c.d.OS.Type.Machine)
}

// virtioModel reports whether a model is one of virtio's: plain, or fixed to one of its PCI revisions where there is PCI.
func (c *completer) virtioModel(m string) bool {
	return m == "virtio" || c.fam.pci() && (m == "virtio-transitional" || m == "virtio-non-transitional")
}
