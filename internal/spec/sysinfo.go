package spec

import "strings"

// GenID is <genid>: a number that tells the guest whether it is a copy of itself. Empty, it is made up.
type GenID struct {
	Value string `xml:",chardata"`
	Extra
}

// Sysinfo is <sysinfo>: tables of SMBIOS that the firmware hands to the guest, or blobs of fw_cfg.
type Sysinfo struct {
	Type       string         `xml:"type,attr"` // smbios or fwcfg
	BIOS       *SysinfoTable  `xml:"bios"`
	System     *SysinfoTable  `xml:"system"`
	BaseBoards []SysinfoTable `xml:"baseBoard"`
	Chassis    *SysinfoTable  `xml:"chassis"`
	OEMStrings *SysinfoTable  `xml:"oemStrings"`
	Entries    []SysinfoEntry `xml:"entry"` // of fwcfg
	Extra
}

// SysinfoTable is one table of SMBIOS.
type SysinfoTable struct {
	Entries []SysinfoEntry `xml:"entry"`
	Extra
}

// SysinfoEntry is a named string. One of fwcfg may be read from File instead; one of oemStrings has no name.
type SysinfoEntry struct {
	Name  string `xml:"name,attr,omitempty"`
	File  string `xml:"file,attr,omitempty"`
	Value string `xml:",chardata"`
	Extra
}

// sysinfoNames are the strings of each table, in the order in which libvirt writes them.
func sysinfoNames(table string) string {
	switch table {
	case "bios":
		return "vendor version date release"
	case "system":
		return "manufacturer product version serial uuid sku family"
	case "baseBoard":
		return "manufacturer product version serial asset location"
	case "chassis":
		return "manufacturer version serial asset sku"
	}
	return ""
}

func sysinfoRules() map[string]rule {
	m := map[string]rule{
		"sysinfo/@type":         values("smbios fwcfg", ""),
		"sysinfo/processor":     refuse("only bios, system, baseBoard, chassis and oemStrings are implemented"),
		"sysinfo/memory_device": refuse("only bios, system, baseBoard, chassis and oemStrings are implemented"),
		"sysinfo/entry/@file":   pattern(`/[^\x00]*`, "an absolute path"),
	}
	for _, table := range []string{"bios", "system", "baseBoard", "chassis"} {
		m["sysinfo/"+table+"/entry/@name"] = values(sysinfoNames(table), "")
		m["sysinfo/"+table+"/entry/@file"] = refuse("a string of SMBIOS is not read from a file")
	}
	m["sysinfo/oemStrings/entry/@file"] = refuse("a string of SMBIOS is not read from a file")
	return m
}

// checkSysinfo holds that what the guest is told about itself is told once, and is true.
func (d *Domain) checkSysinfo() error {
	if d.GenID != nil && d.GenID.Value != "" {
		if _, err := ParseUUID(d.GenID.Value); err != nil {
			return invalid("genid", "%s", err)
		}
	}
	seen := map[string]bool{}
	for i := range d.Sysinfo {
		s := &d.Sysinfo[i]
		switch {
		case s.Type == "":
			return invalid("sysinfo/@type", "it is missing; use smbios or fwcfg")
		case seen[s.Type]:
			return invalid("sysinfo", "type %s is given more than once", s.Type)
		}
		seen[s.Type] = true
		if err := s.check(d.UUID); err != nil {
			return err
		}
	}
	if d.OS.SMBIOS != nil {
		mode, _ := d.OS.SMBIOS.Attr("mode")
		if mode == "" {
			return invalid("os/smbios/@mode", "it is missing; use emulate, host or sysinfo")
		}
		if mode == "sysinfo" && !seen["smbios"] {
			return invalid("os/smbios/@mode", "sysinfo needs a <sysinfo type='smbios'>")
		}
	}
	return nil
}

func (s *Sysinfo) check(uuid *UUID) error {
	if s.Type == "fwcfg" {
		return s.checkFWCfg()
	}
	if len(s.Entries) > 0 {
		return invalid("sysinfo/entry", "it is for type fwcfg")
	}
	for _, t := range []*SysinfoTable{s.BIOS, s.System, s.Chassis} {
		if t == nil {
			continue
		}
		if err := t.once(); err != nil {
			return err
		}
	}
	for i := range s.BaseBoards {
		if err := s.BaseBoards[i].once(); err != nil {
			return err
		}
	}
	if date := s.BIOS.Get("date"); date != "" && pattern(`[0-9]{1,2}/[0-9]{1,2}/([0-9]{2}|[0-9]{4})`, "")(date, nil).reason != "" {
		return invalid("sysinfo/bios/entry", "date %q is not of the form month/day/year", date)
	}
	if own := s.System.Get("uuid"); own != "" {
		u, err := ParseUUID(own)
		if err != nil {
			return invalid("sysinfo/system/entry", "%s", err)
		}
		if uuid != nil && u != *uuid {
			return invalid("sysinfo/system/entry", "uuid %s is not that of the domain, %s", u, uuid)
		}
	}
	return nil
}

func (s *Sysinfo) checkFWCfg() error {
	for _, e := range s.Entries {
		switch {
		case !strings.HasPrefix(e.Name, "opt/") || strings.HasPrefix(e.Name, "opt/ovmf/") || strings.HasPrefix(e.Name, "opt/org.qemu/"):
			return invalid("sysinfo/entry/@name", "%q does not begin with opt/, or with opt/ovmf/ or opt/org.qemu/, which are QEMU's own", e.Name)
		case len(e.Name) > 55:
			return invalid("sysinfo/entry/@name", "%q is longer than 55 characters", e.Name)
		case e.File == "" && e.Value == "":
			return invalid("sysinfo/entry", "%s has neither a value nor a file", e.Name)
		case e.File != "" && e.Value != "":
			return invalid("sysinfo/entry", "%s has a value and a file", e.Name)
		}
	}
	return nil
}

func (t *SysinfoTable) once() error {
	seen := map[string]bool{}
	for _, e := range t.Entries {
		if seen[e.Name] {
			return invalid("sysinfo", "%s is given more than once", e.Name)
		}
		seen[e.Name] = true
	}
	return nil
}

// Get returns the string of that name, "" where there is none. A nil table has none.
func (t *SysinfoTable) Get(name string) string {
	if t == nil {
		return ""
	}
	for _, e := range t.Entries {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}
