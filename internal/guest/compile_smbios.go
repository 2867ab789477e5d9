package guest

import (
	"slices"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// genID makes up the number of a guest that wants one.
func (c *completer) genID() error {
	if c.d.GenID != nil && c.d.GenID.Value == "" {
		c.d.GenID.Value = c.host.newUUID().String()
	}
	return nil
}

// identification hands the guest what it may read about itself: SMBIOS tables, blobs of fw_cfg, and its generation.
func (c *compiler) identification() error {
	if err := c.smbios(); err != nil {
		return err
	}
	for _, s := range c.d.Sysinfo {
		if s.Type != "fwcfg" {
			continue
		}
		for _, e := range s.Entries {
			p := qemu.Props{{Key: "name", Value: e.Name}}
			if e.File == "" {
				p = p.With("string", e.Value)
			} else { // read with g_file_get_contents, which knows no fd sets
				p = p.With("file", e.File)
				c.cfg.ReadOnly = append(c.cfg.ReadOnly, e.File)
				c.need(Need{Path: e.File, Access: Check, Device: "fw_cfg " + e.Name, File: true})
			}
			c.flag("-fw_cfg", qemu.Option{Props: p})
		}
	}
	if c.d.GenID == nil {
		return nil
	}
	if !c.fam.pci() {
		return unsupported("genid", "machine %s has no place for it", c.d.OS.Type.Machine)
	}
	return c.device(device("vmgenid", "vmgenid0").With("guid", c.d.GenID.Value), nil)
}

// smbios writes the tables that the document or the host gives.
func (c *compiler) smbios() error {
	mode := ""
	if c.d.OS.SMBIOS != nil {
		mode, _ = c.d.OS.SMBIOS.Attr("mode")
	}
	switch mode {
	case "", "emulate":
		return nil
	case "host":
		if c.rt.HostSysinfo == nil {
			return unsupported("os/smbios", "mode='host': this host has no SMBIOS (/sys/class/dmi/id); use mode='sysinfo'")
		}
		c.tables(c.rt.HostSysinfo)
		return nil
	}
	i := slices.IndexFunc(c.d.Sysinfo, func(s spec.Sysinfo) bool { return s.Type == "smbios" })
	if i < 0 {
		return invalid("os/smbios", "mode='sysinfo' needs a <sysinfo type='smbios'>")
	}
	c.tables(&c.d.Sysinfo[i])
	return nil
}

// smbiosTable is how QEMU calls what documents call otherwise.
type smbiosTable struct {
	number  int
	table   *spec.SysinfoTable
	strings []string // in the order in which libvirt writes them
}

func (c *compiler) tables(s *spec.Sysinfo) {
	all := []smbiosTable{
		{0, s.BIOS, []string{"vendor", "version", "date", "release"}},
		{1, s.System, []string{"manufacturer", "product", "version", "serial", "uuid", "sku", "family"}},
	}
	for i := range s.BaseBoards {
		all = append(all, smbiosTable{2, &s.BaseBoards[i], []string{"manufacturer", "product", "version", "serial", "asset", "location"}})
	}
	all = append(all, smbiosTable{3, s.Chassis, []string{"manufacturer", "version", "serial", "asset", "sku"}})
	for _, t := range all {
		p := qemu.Props{{Key: "type", Value: t.number}}
		for _, name := range t.strings {
			if v := t.table.Get(name); v != "" {
				p = p.With(name, v)
			}
		}
		if len(p) > 1 {
			c.flag("-smbios", qemu.Option{Props: p})
		}
	}
	if s.OEMStrings == nil || len(s.OEMStrings.Entries) == 0 {
		return
	}
	p := qemu.Props{{Key: "type", Value: 11}}
	for _, e := range s.OEMStrings.Entries {
		p = p.With("value", e.Value)
	}
	c.flag("-smbios", qemu.Option{Props: p})
}
