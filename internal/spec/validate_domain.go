package spec

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Validate reports what is wrong with the document in itself, without asking the host: *InvalidError where it
// contradicts itself or has a value nobody knows, *UnsupportedError where it asks for what is not implemented and would
// change the guest. What libvirt fills in by itself may be missing.
func (d *Domain) Validate() error {
	w := &walker{rules: domainRules(), path: make([]byte, 0, 128)}
	if err := w.document(d, &d.Extra); err != nil {
		return err
	}
	for _, check := range []func() error{
		d.checkIdentity, d.checkMemory, d.checkVCPUs, d.checkMemorySettings, d.checkThreads, d.checkLimits, d.checkOS, d.checkSysinfo, d.checkFeatures, d.checkClock, d.checkQEMU, d.checkHostAccess, d.checkMACFilters,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	if d.Devices == nil {
		return nil
	}
	if err := d.checkFilesystems(); err != nil {
		return err
	}
	return d.Devices.validate(len(d.OS.Boot) > 0)
}

func (d *Domain) checkIdentity() error {
	if d.Type == "" {
		return invalid("@type", "it is missing; use kvm or qemu")
	}
	if strings.Contains(d.Title, "\n") {
		return invalid("title", "it has more than one line")
	}
	return checkName("name", d.Name)
}

// checkName refuses names that cannot be used in paths, logs and lists.
func checkName(element, name string) error {
	switch {
	case strings.Trim(name, " \t\r\n") == "":
		return invalid(element, "it is missing or empty")
	case strings.ContainsRune(name, '/'):
		return invalid(element, "name %q contains '/'", name)
	case name == "." || name == "..":
		return invalid(element, "name %q has a meaning of its own in paths", name)
	case strings.TrimSpace(name) != name:
		return invalid(element, "name %q begins or ends with white space", name)
	case strings.ContainsFunc(name, unicode.IsControl) || !utf8.ValidString(name):
		return invalid(element, "name %q contains a control character", name)
	case len(name) > 255:
		return invalid(element, "name has %d bytes (limit 255)", len(name))
	}
	return nil
}

func (d *Domain) checkMemory() error {
	most, err := d.Memory.KiB()
	if err != nil {
		return invalid("memory", "%s", err)
	}
	if most == 0 {
		return invalid("memory", "it is missing or 0")
	}
	current, err := d.CurrentMemory.KiB()
	if err != nil {
		return invalid("currentMemory", "%s", err)
	}
	// Documents of other hosts round the two differently, by less than one MiB.
	if current > most && current-most >= 1<<10 {
		return invalid("currentMemory", "%d KiB exceed the maximum of %d KiB", current, most)
	}
	return nil
}

func (d *Domain) checkVCPUs() error {
	most, err := d.MaxVCPUs()
	if err == nil {
		_, err = d.OnlineVCPUs()
	}
	if err != nil && d.VCPUs != nil {
		return invalid("vcpus", "%s", err)
	}
	if err != nil {
		return invalid("vcpu", "%s", err)
	}
	if d.CPU == nil {
		return nil
	}
	if t := d.CPU.Topology; t != nil {
		if t.Sockets == "" || t.Cores == "" || t.Threads == "" {
			return invalid("cpu/topology", "sockets, cores and threads are all needed")
		}
		n, err := t.Count()
		if err != nil {
			return invalid("cpu/topology", "%s", err)
		}
		if n != most {
			return invalid("cpu/topology", "it makes %d CPUs and <vcpu> says %d", n, most)
		}
	}
	return d.CPU.check()
}

func (c *CPU) check() error {
	model := c.Model != nil && c.Model.Value != ""
	switch {
	case c.Mode == "custom" && !model:
		return invalid("cpu/model", "it is missing; mode custom needs one")
	case model && (c.Mode == "host-passthrough" || c.Mode == "maximum"):
		return invalid("cpu/model", "mode %s takes no model", c.Mode)
	case model && strings.ContainsAny(strings.TrimSpace(c.Model.Value), ",= \t\n"): // -cpu of QEMU has no way to write these
		return invalid("cpu/model", "%q is no name of a processor; features have elements of their own", c.Model.Value)
	case c.Mode == "" && !model && len(c.Features) > 0:
		return invalid("cpu/model", "it is missing; features need a model or a mode")
	case c.Vendor != "" && !model:
		return invalid("cpu/vendor", "it needs a model")
	case c.Migratable != "" && c.Mode != "host-passthrough" && c.Mode != "maximum":
		return invalid("cpu/@migratable", "it is for modes host-passthrough and maximum")
	}
	if err := c.Cache.check(c.Mode); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for _, f := range c.Features {
		if f.Name == "" {
			return invalid("cpu/feature", "it has no name")
		}
		if seen[f.Name] {
			return invalid("cpu/feature", "%s is given more than once", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

func (d *Domain) checkOS() error {
	switch d.OS.Type.Value {
	case "hvm":
	case "xen", "linux", "exe", "uml", "xenpvh":
		return unsupported("os/type", "%q is not implemented; use hvm", d.OS.Type.Value)
	case "":
		return invalid("os/type", "it is missing; use hvm")
	default:
		return invalid("os/type", "%q is not known; use hvm", d.OS.Type.Value)
	}
	seen := make(map[string]bool)
	for _, b := range d.OS.Boot {
		if b.Dev == "" {
			return invalid("os/boot", "it has no dev")
		}
		if seen[b.Dev] {
			return invalid("os/boot", "%s is given more than once", b.Dev)
		}
		seen[b.Dev] = true
	}
	for _, f := range []struct{ element, path string }{
		{"os/kernel", d.OS.Kernel}, {"os/initrd", d.OS.Initrd}, {"os/dtb", d.OS.DTB},
	} {
		if f.path != "" && !strings.HasPrefix(f.path, "/") {
			return invalid(f.element, "%q is not an absolute path", f.path)
		}
	}
	switch {
	case d.OS.Kernel == "" && d.OS.Initrd != "":
		return invalid("os/initrd", "it needs a kernel")
	case d.OS.Kernel == "" && d.OS.Cmdline != "":
		return invalid("os/cmdline", "it needs a kernel")
	case d.OS.DTB != "":
		return unsupported("os/dtb", "it is for machines of another architecture")
	case d.OS.BootMenu != nil && d.OS.BootMenu.Enable == "":
		return invalid("os/bootmenu/@enable", "it is missing; use yes or no")
	}
	return d.OS.checkFirmware()
}

func (d *Domain) checkClock() error {
	c := d.Clock
	if c == nil {
		return nil
	}
	switch {
	case c.Offset == "timezone" && c.Timezone == "":
		return invalid("clock/@timezone", "it is missing; offset timezone needs one")
	case c.Offset == "absolute" && c.Start == "":
		return invalid("clock/@start", "it is missing; offset absolute needs one")
	case c.Timezone != "" && c.Offset != "timezone":
		return invalid("clock/@timezone", "it is for offset timezone")
	}
	seen := make(map[string]bool)
	for _, t := range c.Timers {
		if t.Name == "" {
			return invalid("clock/timer", "it has no name")
		}
		if seen[t.Name] {
			return invalid("clock/timer", "%s is given more than once", t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

func (d *Domain) checkQEMU() error {
	if d.QEMU == nil {
		return nil
	}
	for _, e := range d.QEMU.Envs {
		if e.Name == "" || strings.ContainsFunc(e.Name, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		}) {
			return invalid("qemu:commandline/qemu:env", "%q is no name of an environment variable", e.Name)
		}
	}
	for _, e := range d.QEMU.Elements {
		return invalid("qemu:commandline/"+e.XMLName.Local, "it is not known; use qemu:arg and qemu:env")
	}
	return nil
}
