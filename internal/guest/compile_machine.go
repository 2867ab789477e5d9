package guest

import (
	"strconv"
	"strings"
	"time"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// on reports what a feature says: nil when it is not there, and on when it is there without a state.
func on(s *spec.State) (set, value bool) {
	return s != nil, s != nil && s.State != "off"
}

func (c *compiler) features() *spec.Features {
	if c.d.Features == nil {
		return &spec.Features{}
	}
	return c.d.Features
}

func (c *compiler) machine() error {
	emulator := qemu.Locate(c.dev.Emulator)
	c.cfg.Binary, c.cfg.Env, c.cfg.Firmware = emulator.Binary, emulator.Env, emulator.Firmware
	c.cfg.Name, c.cfg.UUID, c.cfg.QMP = c.d.Name, c.d.UUID.String(), c.rt.QMP
	f := c.features()
	p := qemu.Props{{Key: "usb", Value: false}, {Key: "dump-guest-core", Value: false}}
	if !c.fam.pci() {
		p = p[:0]
	}
	_, acpi := on(f.ACPI)
	p = p.With("acpi", acpi)
	if set, v := on(f.VMPort); set && c.fam.pci() {
		p = p.With("vmport", v)
	}
	if set, v := on(f.SMM); set && c.fam.sata {
		p = p.With("smm", v)
	}
	for _, t := range c.d.Clock.Timers {
		if t.Name == "hpet" && t.Present != "" && c.fam.pci() {
			p = p.With("hpet", t.Present == "yes")
		}
	}
	if c.kvm() && f.IOAPIC != nil {
		switch driver, _ := f.IOAPIC.Attr("driver"); driver {
		case "kvm":
			p = p.With("kernel_irqchip", true)
		case "qemu":
			p = p.With("kernel_irqchip", "split")
		}
	}
	if b := c.d.MemoryBacking; b != nil && b.NoSharePages != nil {
		p = p.With("mem-merge", false)
	}
	if b := c.d.OS.BIOS; b != nil && b.UseSerial == "yes" && c.fam.pci() {
		p = p.With("graphics", false) // the firmware writes to the serial port then
	}
	var err error
	if c.cfg.Accel, err = c.accelerator(); err != nil {
		return err
	}
	c.cfg.Machine = qemu.Option{Head: c.d.OS.Type.Machine, Props: p}
	if set, v := on(f.VMCore); set && v {
		c.cfg.Devices = append(c.cfg.Devices, qemu.Props{{Key: "driver", Value: "vmcoreinfo"}})
	}
	c.sleepStates()
	return nil
}

// sleepStates tells the firmware whether the guest may go to sleep.
func (c *compiler) sleepStates() {
	if c.d.PM == nil || !c.fam.pci() {
		return
	}
	chip := map[bool]string{true: "ICH9-LPC", false: "PIIX4_PM"}[c.fam.sata]
	for _, s := range []struct {
		state *spec.PMState
		name  string
	}{{c.d.PM.SuspendToMem, "disable_s3"}, {c.d.PM.SuspendToDisk, "disable_s4"}} {
		if s.state != nil {
			c.global(chip, s.name, map[bool]string{true: "1", false: "0"}[s.state.Enabled == "no"])
		}
	}
}

// global sets a property of devices that QEMU makes by itself.
func (c *compiler) global(driver, property, value string) {
	c.flag("-global", qemu.Option{Head: "", Props: qemu.Props{{Key: driver + "." + property, Value: value}}})
}

func (c *compiler) clock() error {
	p := qemu.Props{}
	k := c.d.Clock
	switch k.Offset {
	case "utc":
		p = p.With("base", "utc")
	case "localtime":
		p = p.With("base", "localtime")
	case "timezone":
		p = p.With("base", "localtime")
		c.cfg.Env = append(c.cfg.Env, "TZ="+k.Timezone)
	case "variable":
		n, err := strconv.ParseInt(def(k.Adjustment, "0"), 10, 64)
		if err != nil {
			return invalid("clock", "adjustment=%q is no number of seconds", k.Adjustment)
		}
		if k.Basis == "localtime" {
			return unsupported("clock", "basis='localtime' is not implemented; use utc")
		}
		p = p.With("base", c.rt.Now.Add(time.Duration(n)*time.Second).UTC().Format("2006-01-02T15:04:05"))
	case "absolute":
		n, err := strconv.ParseInt(k.Start, 10, 64)
		if err != nil {
			return invalid("clock", "start=%q is no number of seconds since 1970", k.Start)
		}
		p = p.With("base", time.Unix(n, 0).UTC().Format("2006-01-02T15:04:05"))
	default:
		return unsupported("clock", "offset=%q is not implemented", k.Offset)
	}
	for _, t := range k.Timers {
		switch {
		case t.Name == "rtc":
			if t.Track == "guest" {
				p = p.With("clock", "vm")
			}
			if t.TickPolicy == "catchup" && c.fam.pci() {
				p = p.With("driftfix", "slew")
			}
		case t.Name == "pit" && c.kvm() && (t.TickPolicy == "delay" || t.TickPolicy == "discard"):
			c.global("kvm-pit", "lost_tick_policy", t.TickPolicy)
		}
	}
	c.flag("-rtc", qemu.Option{Props: p})
	return nil
}

func (c *compiler) osBoot() error {
	o := &c.d.OS
	p := qemu.Props{}
	if o.BootMenu != nil {
		p = p.With("menu", spec.IsYes(o.BootMenu.Enable))
		if o.BootMenu.Timeout != "" && spec.IsYes(o.BootMenu.Enable) {
			p = p.With("splash-time", o.BootMenu.Timeout)
		}
	}
	if o.BIOS != nil && o.BIOS.RebootTimeout != "" {
		p = p.With("reboot-timeout", o.BIOS.RebootTimeout)
	}
	c.flag("-boot", qemu.Option{Props: p.With("strict", true)})
	c.cfg.Kernel, c.cfg.Initrd = strings.TrimSpace(o.Kernel), strings.TrimSpace(o.Initrd)
	c.cfg.Append = o.Cmdline
	for _, f := range []struct{ what, path string }{{"kernel", c.cfg.Kernel}, {"initrd", c.cfg.Initrd}} {
		if f.path != "" { // the loader reads these with fopen, which knows no fd sets
			c.cfg.ReadOnly = append(c.cfg.ReadOnly, f.path)
			c.need(Need{Path: f.path, Access: Check, Device: f.what, File: true, Copy: true})
		}
	}
	return nil
}

// bootIndexes works out who boots first, from either style of boot order.
func (c *compiler) bootIndexes() error {
	take := func(alias string, b *spec.Boot) {
		if b != nil {
			n, _ := number(b.Order)
			c.boot[alias] = n
		}
	}
	for i := range c.dev.Disks {
		take(c.dev.Disks[i].Alias.Name, c.dev.Disks[i].Boot)
	}
	for i := range c.dev.Interfaces {
		take(c.dev.Interfaces[i].Alias.Name, c.dev.Interfaces[i].Boot)
	}
	for i := range c.dev.RedirDevs {
		take(c.dev.RedirDevs[i].Alias.Name, c.dev.RedirDevs[i].Boot)
	}
	if c.rt.Pins.VCPUs > 0 { // it runs: what <os> says was about its devices at the start
		for alias, n := range c.rt.Pins.Boot {
			c.boot[alias] = n
		}
		return nil
	}
	c.out.Pins.Boot = map[string]int{}
	for i, b := range c.d.OS.Boot {
		alias, err := c.firstOf(b.Dev)
		if err != nil {
			return err
		}
		if _, taken := c.boot[alias]; alias != "" && !taken {
			c.boot[alias] = i + 1
			c.out.Pins.Boot[alias] = i + 1
		}
	}
	return nil
}

// firstOf is the device that an entry of the old-style order means: the first of its kind.
func (c *compiler) firstOf(dev string) (string, error) {
	kind, known := map[string]string{"hd": "disk", "cdrom": "cdrom", "fd": "floppy", "network": ""}[dev]
	if !known {
		return "", invalid("os/boot", "dev=%q is none of hd, cdrom, fd, network", dev)
	}
	if kind == "" {
		if len(c.dev.Interfaces) == 0 {
			return "", nil
		}
		return c.dev.Interfaces[0].Alias.Name, nil
	}
	for i := range c.dev.Disks {
		if c.dev.Disks[i].Device == kind {
			return c.dev.Disks[i].Alias.Name, nil
		}
	}
	return "", nil
}

// booting adds a bootindex when the device takes part in the boot order.
func (c *compiler) booting(p qemu.Props, alias string) qemu.Props {
	if n, ok := c.boot[alias]; ok {
		return p.With("bootindex", n)
	}
	return p
}

// passthrough appends what the document hands to QEMU as it is.
func (c *compiler) passthrough() error {
	q := c.d.QEMU
	if q == nil {
		return nil
	}
	for _, a := range q.Args {
		c.cfg.Extra = append(c.cfg.Extra, a.Value)
	}
	for _, e := range q.Envs {
		c.cfg.Env = append(c.cfg.Env, e.Name+"="+e.Value)
	}
	if len(q.Args)+len(q.Envs) > 0 {
		c.taint("custom-argv")
	}
	return nil
}
