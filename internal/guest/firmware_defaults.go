package guest

import (
	"path/filepath"
	"slices"
	"strings"

	"taproom/internal/guest/firmware"
	"taproom/internal/spec"
)

// firmware chooses UEFI firmware where the document leaves that open, and writes down what was chosen: a guest keeps its
// firmware when the host gets another one, since its variables were made by it.
func (c *completer) firmware() error {
	o := &c.d.OS
	if o.Loader.Image() == "" && o.Firmware != "efi" {
		return nil
	}
	if !c.fam.pci() {
		return unsupported("os/loader", "machine %s has firmware of its own", c.d.OS.Type.Machine)
	}
	switch {
	case o.Loader.Image() == "":
		if err := c.chooseFirmware(); err != nil {
			return err
		}
	case o.Firmware == "efi":
		o.Loader.Type = def(o.Loader.Type, "pflash")
		fallthrough
	default:
		if err := c.givenFirmware(); err != nil {
			return err
		}
	}
	o.Loader.Path = o.Loader.Image()
	if o.Loader.Type == "rom" {
		return nil
	}
	c.nvram()
	return c.secureLoader()
}

// chooseFirmware takes the first firmware that fits what the document asks for.
func (c *completer) chooseFirmware() error {
	o := &c.d.OS
	want := firmware.Want{
		Arch: o.Type.Arch, Machine: o.Type.Machine,
		SecureBoot:   firmware.Tristate(o.FirmwareInfo.Feature(firmware.SecureBoot)),
		EnrolledKeys: firmware.Tristate(o.FirmwareInfo.Feature(firmware.EnrolledKeys)),
	}
	if set, v := on(c.smm()); set && !v {
		want.SMM = firmware.No
	}
	if l := o.Loader; l != nil {
		if l.ReadOnly == "no" {
			return unsupported("os/loader/@readonly", "firmware that is chosen is not written; leave it out, or name a copy of your own")
		}
		want.Stateless, want.Format = firmware.Tristate(l.Stateless), l.Format
		if l.Secure != "" {
			want.SMM = firmware.Tristate(l.Secure)
		}
	}
	d, err := c.host.firmware().Choose(want)
	if err != nil {
		return unsupported("os/@firmware", "%v", err)
	}
	if o.Loader == nil {
		o.Loader = &spec.Loader{}
	}
	o.Loader.Path = d.Mapping.Executable.Filename
	c.describeFirmware(d)
	return nil
}

// smm is what the document says of system management mode.
func (c *completer) smm() *spec.State {
	if c.d.Features == nil {
		return nil
	}
	return c.d.Features.SMM
}

// givenFirmware completes a loader that the document names, from the descriptor of that image where there is one.
func (c *completer) givenFirmware() error {
	o := &c.d.OS
	if o.Loader.Type = def(o.Loader.Type, "rom"); o.Loader.Type == "rom" {
		return nil
	}
	d, known := c.host.firmware().ByExecutable(o.Loader.Image(), o.Type.Arch, o.Type.Machine)
	if known && o.Loader.ReadOnly != "no" {
		// Whether keys are enrolled is the template's affair, which a document may choose.
		if want := o.FirmwareInfo.Feature(firmware.SecureBoot); want != "" && spec.IsYes(want) != d.Has(firmware.SecureBoot) {
			return unsupported("os/firmware/feature", "secure-boot is enabled='%s', and %s %s it; leave the loader out, so that one is chosen",
				want, o.Loader.Image(), map[bool]string{true: "has", false: "does not have"}[d.Has(firmware.SecureBoot)])
		}
		o.Firmware = "efi"
		c.describeFirmware(d)
		return nil
	}
	o.Loader.ReadOnly = def(o.Loader.ReadOnly, spec.YesNo(o.Firmware == "efi" || o.NVRAM != nil || o.Loader.Stateless == "yes"))
	return nil
}

// describeFirmware writes what a descriptor says into the document.
func (c *completer) describeFirmware(d firmware.Descriptor) {
	o := &c.d.OS
	l := o.Loader
	l.Type, l.ReadOnly = "pflash", "yes"
	if l.Format == "" && d.Mapping.Executable.Format != "raw" {
		l.Format = d.Mapping.Executable.Format
	}
	if d.Stateless() {
		l.Stateless = "yes"
	}
	if d.Has(firmware.RequiresSMM) {
		l.Secure = "yes"
		if c.d.Features == nil {
			c.d.Features = &spec.Features{}
		}
		if c.d.Features.SMM == nil || c.d.Features.SMM.State == "" {
			c.d.Features.SMM = &spec.State{State: "on"}
		}
	}
	if o.FirmwareInfo == nil {
		o.FirmwareInfo = &spec.OSFirmware{}
	}
	for _, name := range []string{firmware.EnrolledKeys, firmware.SecureBoot} {
		if o.FirmwareInfo.Feature(name) == "" {
			o.FirmwareInfo.Features = append(o.FirmwareInfo.Features, spec.FirmwareFeature{Enabled: spec.YesNo(d.Has(name)), Name: name})
		}
	}
	slices.SortFunc(o.FirmwareInfo.Features, func(a, b spec.FirmwareFeature) int { return strings.Compare(a.Name, b.Name) })
	if !d.Split() || l.Stateless == "yes" {
		return
	}
	if o.NVRAM == nil {
		o.NVRAM = &spec.NVRAM{}
	}
	n := o.NVRAM
	if n.Template == "" {
		n.Template = d.Mapping.Template.Filename
		if format := d.Mapping.Template.Format; format != "raw" {
			n.TemplateFormat, n.Format = def(n.TemplateFormat, format), def(n.Format, format)
		}
	}
}

// nvram gives the variables a place. It stays when the guest is renamed, so that one which then gets the old name needs
// another.
func (c *completer) nvram() {
	o := &c.d.OS
	if o.Loader.ReadOnly == "no" || o.Loader.Stateless == "yes" {
		return
	}
	if o.NVRAM == nil {
		o.NVRAM = &spec.NVRAM{}
	}
	n := o.NVRAM
	if n.File() == "" {
		ext := map[bool]string{true: ".qcow2", false: ".fd"}[n.Format == "qcow2"]
		n.Path = filepath.Join(c.host.NVRAMDir, c.d.Name+"_VARS"+ext)
		if taken := c.host.NVRAMTaken; taken != nil && taken(n.Path, *c.d.UUID) {
			n.Path = filepath.Join(c.host.NVRAMDir, c.d.UUID.String()+"_VARS"+ext)
		}
	}
	n.Path = strings.TrimSpace(n.Path)
}

// secureLoader holds what secure flash memory needs.
func (c *completer) secureLoader() error {
	if c.d.OS.Loader.Secure != "yes" {
		return nil
	}
	if c.fam.root != pcieRoot {
		return unsupported("os/loader/@secure", "secure boot is for machine q35 only, not %s", c.d.OS.Type.Machine)
	}
	if set, v := on(c.smm()); !set || !v {
		return unsupported("os/loader/@secure", "secure boot needs system management mode: add <smm state='on'/> to <features>")
	}
	return nil
}
