package guest

import (
	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// firmware gives the machine its loader: a ROM, or flash memory with the firmware and, in a second part, its variables.
func (c *compiler) firmware() error {
	l := c.d.OS.Loader
	switch {
	case l.Image() == "":
		return nil
	case l.Type == "rom": // QEMU looks for it by name among its own firmware, and opens it with open(2)
		c.flag("-bios", qemu.Option{Head: l.Image()})
		c.cfg.ReadOnly = append(c.cfg.ReadOnly, l.Image())
		c.need(Need{Path: l.Image(), Access: Check, Device: "loader", File: true})
		return nil
	}
	c.flash("pflash0", def(l.Format, "raw"), l.ReadOnly == "yes", Need{Path: l.Image(), Device: "loader"})
	if n := c.d.OS.NVRAM; n != nil {
		c.flash("pflash1", def(n.Format, "raw"), false, Need{
			Path: n.File(), Device: "UEFI variables", NVRAM: true, Template: n.Template,
		})
		if def(n.Format, "raw") != def(n.TemplateFormat, def(n.Format, "raw")) {
			return unsupported("os/nvram/@format", "variables are a copy of their template, so both have one format, not %s and %s", n.Format, n.TemplateFormat)
		}
	}
	if l.Secure == "yes" {
		c.global("cfi.pflash01", "secure", "on")
	}
	return nil
}

// flash makes the block nodes of one part of the flash memory.
func (c *compiler) flash(name, format string, readOnly bool, n Need) {
	n.Image, n.Format = true, format
	ro, rw := n, n
	ro.Access, rw.Access = ReadOnly, ReadWrite
	needs := []Need{rw}
	if readOnly {
		needs = []Need{ro}
	}
	c.cfg.Blockdevs = append(c.cfg.Blockdevs, qemu.Props{
		{Key: "driver", Value: "file"},
		{Key: "filename", Value: c.fdset(needs...)},
		{Key: "node-name", Value: name + "-storage"},
		{Key: "read-only", Value: readOnly},
		{Key: "auto-read-only", Value: false},
	})
	p := qemu.Props{
		{Key: "node-name", Value: name + "-format"},
		{Key: "read-only", Value: readOnly},
		{Key: "driver", Value: format},
		{Key: "file", Value: name + "-storage"},
	}
	if format == "qcow2" {
		p = p.With("backing", nil)
	}
	c.cfg.Blockdevs = append(c.cfg.Blockdevs, p)
	c.cfg.Machine.Props = append(c.cfg.Machine.Props, qemu.Property{Key: name, Value: name + "-format"})
}

// NVRAM is the file with the variables of a guest's firmware, "" when it has none of its own.
func NVRAM(d *spec.Domain) string { return d.OS.NVRAM.File() }
