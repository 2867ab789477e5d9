package guest

import (
	"strconv"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// watchdogs makes the watchdog. What it does when it barks is QEMU's -action; the owner sees the event as well.
func (c *compiler) watchdogs() error {
	for i := range c.dev.Watchdogs {
		w := &c.dev.Watchdogs[i]
		switch w.Action {
		case "reset", "shutdown", "poweroff", "pause", "none", "inject-nmi":
		default:
			return unsupported("watchdog", "action=%q is not implemented; use reset, shutdown, poweroff, pause, none or inject-nmi", w.Action)
		}
		if w.Model == "itco" { // is part of the ICH9, switched off by a strap
			c.global("ICH9-LPC", "noreboot", "off")
		} else if err := c.device(device(w.Model, w.Alias.Name), w.Address); err != nil {
			return err
		}
		c.flag("-action", qemu.Option{Props: qemu.Props{{Key: "watchdog", Value: w.Action}}})
	}
	return nil
}

func (c *compiler) balloon() error {
	b := c.dev.MemBalloon
	if b.Model == "none" {
		return nil
	}
	p := device(c.virtio("virtio-balloon", b.Model), b.Alias.Name)
	if b.AutoDeflate != "" {
		p = p.With("deflate-on-oom", b.AutoDeflate == "on")
	}
	if b.FreePageReporting != "" {
		p = p.With("free-page-reporting", b.FreePageReporting == "on")
	}
	if b.Stats != nil {
		n, err := strconv.Atoi(b.Stats.Period)
		if err != nil || n < 0 {
			return invalid("memballoon/stats", "period=%q is no number of seconds", b.Stats.Period)
		}
		c.out.Startup.BalloonPath, c.out.Startup.BalloonPeriod = "/machine/peripheral/"+b.Alias.Name, n
	}
	return c.device(p, b.Address)
}

func (c *compiler) rngs() error {
	for i := range c.dev.RNGs {
		if err := c.rng(&c.dev.RNGs[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) rng(r *spec.RNG) error {
	obj := "obj" + r.Alias.Name
	switch r.Backend.Model {
	case "builtin":
		c.cfg.Objects = append(c.cfg.Objects, qemu.Props{{Key: "qom-type", Value: "rng-builtin"}, {Key: "id", Value: obj}})
	case "random":
		// Objects come before fd sets on the command line, and this one opens its file at once: it goes by name.
		c.need(Need{Path: r.Backend.Path, Access: Check, Device: r.Alias.Name})
		c.cfg.ReadOnly = append(c.cfg.ReadOnly, r.Backend.Path)
		c.cfg.Objects = append(c.cfg.Objects, qemu.Props{
			{Key: "qom-type", Value: "rng-random"}, {Key: "id", Value: obj}, {Key: "filename", Value: r.Backend.Path},
		})
	default:
		return unsupported("rng/backend", "model=%q is not implemented; use random or builtin", r.Backend.Model)
	}
	p := qemu.Props{{Key: "driver", Value: c.virtio("virtio-rng", r.Model)}, {Key: "rng", Value: obj}, {Key: "id", Value: r.Alias.Name}}
	if r.Rate != nil {
		n, err := strconv.ParseInt(r.Rate.Bytes, 10, 63)
		ms, err2 := strconv.ParseInt(def(r.Rate.Period, "1000"), 10, 32)
		if err != nil || err2 != nil || n <= 0 || ms <= 0 {
			return invalid("rng/rate", "bytes=%q in period=%q ms is no rate", r.Rate.Bytes, r.Rate.Period)
		}
		p = p.With("max-bytes", n).With("period", ms)
	}
	return c.device(p, r.Address)
}

func (c *compiler) panics() error {
	for i := range c.dev.Panics {
		n := &c.dev.Panics[i]
		driver := map[bool]string{true: "pvpanic-pci", false: "pvpanic"}[n.Model == "pvpanic"]
		if err := c.device(device(driver, n.Alias.Name), n.Address); err != nil {
			return err
		}
	}
	return nil
}
