package spec

import "strings"

// OSFirmware is <firmware>: what firmware that is chosen for the guest has to be able to do.
type OSFirmware struct {
	Features []FirmwareFeature `xml:"feature"`
	Extra
}

// FirmwareFeature is enrolled-keys or secure-boot, and whether it has to be there.
type FirmwareFeature struct {
	Enabled string `xml:"enabled,attr"`
	Name    string `xml:"name,attr"`
	Extra
}

// Feature is what the document says of a feature of the firmware: yes, no, or nothing.
func (f *OSFirmware) Feature(name string) string {
	if f == nil {
		return ""
	}
	for _, x := range f.Features {
		if x.Name == name {
			return x.Enabled
		}
	}
	return ""
}

// Loader is the firmware's image: a ROM (type rom), or flash memory (pflash).
type Loader struct {
	ReadOnly  string `xml:"readonly,attr,omitempty"`
	Secure    string `xml:"secure,attr,omitempty"` // flash memory is written from system management mode only
	Type      string `xml:"type,attr,omitempty"`
	Stateless string `xml:"stateless,attr,omitempty"`
	Format    string `xml:"format,attr,omitempty"` // raw unless given
	Path      string `xml:",chardata"`
	Extra
}

// Image is the path of the loader; "" when there is none.
func (l *Loader) Image() string {
	if l == nil {
		return ""
	}
	return strings.TrimSpace(l.Path)
}

// NVRAM is the file with the variables of firmware in flash memory, and the template that it is made from.
type NVRAM struct {
	Type           string      `xml:"type,attr,omitempty"` // file: the path is in source
	Template       string      `xml:"template,attr,omitempty"`
	TemplateFormat string      `xml:"templateFormat,attr,omitempty"`
	Format         string      `xml:"format,attr,omitempty"` // raw unless given
	Source         *DiskSource `xml:"source"`
	Path           string      `xml:",chardata"`
	Extra
}

// File is the path of the variables; "" when there is none.
func (n *NVRAM) File() string {
	switch {
	case n == nil:
		return ""
	case n.Source != nil:
		return n.Source.File
	}
	return strings.TrimSpace(n.Path)
}

// firmwareRules judges <os>'s part about firmware.
func firmwareRules() map[string]rule {
	m := map[string]rule{
		"os/firmware/feature/@name":    values("enrolled-keys secure-boot", ""),
		"os/firmware/feature/@enabled": yesNo(),
		"os/loader/@type":              values("rom pflash", ""),
		"os/loader/@readonly":          yesNo(),
		"os/loader/@secure":            yesNo(),
		"os/loader/@stateless":         yesNo(),
		"os/loader/@format":            values("raw qcow2", ""),
		"os/nvram/@type":               values("file", "block dir network volume nvme vhostuser vhostvdpa"),
		"os/nvram/@template":           pattern(`/[^\x00]*`, "an absolute path"),
		"os/nvram/@templateFormat":     values("raw qcow2", ""),
		"os/nvram/@format":             values("raw qcow2", ""),
		"os/nvram/source/@file":        pattern(`/[^\x00]*`, "an absolute path"),
		"os/varstore":                  refuse("UEFI variables are kept in flash memory; use <nvram>"),
		"os/shim":                      refuse("a boot loader of the document's own is not verified; boot from a disk"),
	}
	for _, name := range []string{"dev", "startupPolicy", "protocol", "name", "fdgroup"} {
		m["os/nvram/source/@"+name] = refuse("UEFI variables are in a file")
	}
	return m
}

// checkFirmware holds libvirt's rules for what goes together.
func (o *OS) checkFirmware() error {
	l, n := o.Loader, o.NVRAM
	if o.FirmwareInfo != nil && len(o.FirmwareInfo.Features) > 0 && o.Firmware != "efi" {
		return invalid("os/firmware", "features are for firmware that is chosen: add firmware='efi' to <os>")
	}
	if o.FirmwareInfo.Feature("enrolled-keys") == "yes" && o.FirmwareInfo.Feature("secure-boot") == "no" {
		return invalid("os/firmware/feature", "'enrolled-keys' cannot be enabled when 'secure-boot' is disabled")
	}
	for _, p := range []struct{ element, path string }{{"os/loader", l.Image()}, {"os/nvram", n.File()}} {
		if p.path != "" && !strings.HasPrefix(p.path, "/") {
			return invalid(p.element, "%q is not an absolute path", p.path)
		}
	}
	if o.Firmware == "bios" && (n != nil || l != nil && l.Type == "pflash") {
		return invalid("os/@firmware", "bios has neither flash memory nor variables; use efi")
	}
	if o.Firmware == "" && l.Image() == "" {
		if l != nil || n != nil {
			return invalid("os/loader", "it has no path; name an image, or let one be chosen with firmware='efi' on <os>")
		}
		return nil
	}
	if o.Firmware == "efi" && l.Image() != "" && l.Type == "rom" {
		return invalid("os/loader/@type", "a ROM is not UEFI firmware that was chosen; use type='pflash'")
	}
	return checkLoader(l, n, o.Firmware == "efi" || l != nil && l.Type == "pflash")
}

func checkLoader(l *Loader, n *NVRAM, flash bool) error {
	if l == nil {
		l = &Loader{}
	}
	switch {
	case !flash && n != nil:
		return invalid("os/nvram", "only a loader of type pflash has variables")
	case !flash && l.ReadOnly == "no":
		return invalid("os/loader/@readonly", "a ROM cannot be written")
	case !flash && l.Secure == "yes":
		return invalid("os/loader/@secure", "only a loader of type pflash can be secure")
	case !flash && l.Stateless != "":
		return invalid("os/loader/@stateless", "only a loader of type pflash has a state")
	case flash && l.ReadOnly == "no" && n != nil:
		return invalid("os/nvram", "a loader that can be written keeps its variables itself")
	case flash && l.ReadOnly == "no" && l.Stateless == "yes":
		return invalid("os/loader/@stateless", "a loader that can be written has a state")
	case l.Stateless == "yes" && n != nil:
		return invalid("os/nvram", "a stateless loader has no variables")
	case n != nil && n.Type == "file" && n.Source == nil:
		return invalid("os/nvram/source", "it is missing; type file needs one")
	case n != nil && n.Source != nil && (n.Type == "" || strings.TrimSpace(n.Path) != ""):
		return invalid("os/nvram/source", "it is for type='file', and then the only path")
	}
	return nil
}
