package guest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"taproom/internal/spec"
)

// def returns v unless it is empty.
func def(v, fallback string) string {
	if v == "" {
		return fallback
	}
	return v
}

func (c *completer) identity() error {
	if c.d.UUID == nil || c.d.UUID.IsZero() {
		u := c.host.newUUID()
		c.d.UUID = &u
	}
	switch c.d.Type {
	case "qemu":
	case "kvm":
		if c.host.KVM != nil {
			return unsupported("domain", "type='kvm' cannot run on this host: %v; use type='qemu'", c.host.KVM)
		}
	default:
		return unsupported("domain", "type=%q is not implemented; use kvm or qemu", c.d.Type)
	}
	c.dev.Emulator = def(c.dev.Emulator, c.host.Emulator)
	return nil
}

// machine pins the machine to a version. QEMU moves an alias with every release, which would change the guest's
// hardware at an upgrade.
func (c *completer) machine() error {
	t := &c.d.OS.Type
	t.Value = def(strings.TrimSpace(t.Value), "hvm")
	if t.Value != "hvm" {
		return unsupported("os/type", "%q is not implemented; use hvm", t.Value)
	}
	t.Arch = def(t.Arch, c.host.Arch)
	if t.Arch != c.host.Arch {
		return unsupported("os/type", "arch=%q is not implemented; use %s", t.Arch, c.host.Arch)
	}
	name := def(t.Machine, def(c.host.DefaultMachine, "pc"))
	m, ok := c.host.machine(name)
	if !ok {
		return unsupported("os/type", "emulator %s has no machine %q", c.dev.Emulator, name)
	}
	fam, err := familyOf(m.Name)
	if err != nil {
		return err
	}
	t.Machine, c.fam = m.Name, fam
	if !c.running {
		dropAliases(c.d, fam)
	}
	return c.vcpus(m)
}

func (c *completer) vcpus(m Machine) error {
	if c.d.VCPU == nil {
		c.d.VCPU = &spec.VCPU{Value: "1"}
	}
	v := c.d.VCPU
	v.Placement, v.Value = def(v.Placement, "static"), strings.TrimSpace(v.Value)
	n, err := strconv.ParseUint(v.Value, 10, 16)
	if err != nil || n == 0 {
		return invalid("vcpu", "%q is no number of CPUs", v.Value)
	}
	v.Value = strconv.FormatUint(n, 10) // QEMU would read 010 as eight
	if c.d.VCPUs != nil {
		boot, added, err := c.d.PluggedVCPUs()
		if err != nil {
			return invalid("vcpus", "%v", err)
		}
		c.d.PlugVCPUs(boot, added)
	}
	if v.Current != "" {
		cur, err := strconv.ParseUint(strings.TrimSpace(v.Current), 10, 16)
		if err != nil || cur == 0 || cur > n {
			return invalid("vcpu", "current=%q must be between 1 and %d", v.Current, n)
		}
		v.Current = strconv.FormatUint(cur, 10)
	}
	if v.Current == v.Value {
		v.Current = ""
	}
	if m.MaxCPUs > 0 && n > uint64(m.MaxCPUs) {
		return unsupported("vcpu", "machine %s takes at most %d CPUs, not %d", m.Name, m.MaxCPUs, n)
	}
	return nil
}

func kib(element string, m *spec.Memory) (uint64, error) {
	if m == nil {
		return 0, invalid(element, "is missing")
	}
	n, err := m.KiB()
	if err != nil {
		return 0, invalid(element, "%v", err)
	}
	if element == "memory" && n == 0 {
		return 0, invalid(element, "must not be 0")
	}
	return n, nil
}

// cpu names the processor. Left to QEMU it would be whatever the machine's default is at the time of a start.
func (c *completer) cpu() error {
	if c.d.CPU == nil {
		c.d.CPU = &spec.CPU{}
	}
	p := c.d.CPU
	if p.Mode == "" || p.Mode == "custom" {
		p.Mode, p.Match = "custom", def(p.Match, "exact")
		switch {
		case p.Model == nil || strings.TrimSpace(p.Model.Value) == "":
			p.Model = &spec.CPUModel{Fallback: "forbid", Value: def(c.host.DefaultCPU, "qemu64")}
			p.Check = "none"
		default:
			p.Model.Fallback = def(p.Model.Fallback, "allow")
		}
	}
	switch p.Mode {
	case "custom":
		p.Check = def(p.Check, map[bool]string{true: "partial", false: "none"}[c.d.Type == "kvm"])
	case "host-model":
		p.Check = def(p.Check, "partial")
	case "host-passthrough":
		p.Check, p.Migratable = def(p.Check, "none"), def(p.Migratable, "on")
	case "maximum":
		p.Check = def(p.Check, "none")
		if c.d.Type == "kvm" {
			p.Migratable = def(p.Migratable, "on")
		}
	default:
		return unsupported("cpu", "mode=%q is not implemented; use custom, host-model, host-passthrough or maximum", p.Mode)
	}
	if p.Topology != nil {
		p.Topology.Dies = def(p.Topology.Dies, "1")
		if n := p.Topology.Clusters; def(n, "1") != "1" {
			return unsupported("cpu/topology", "clusters=%q: PCs have no clusters", n)
		}
	}
	for i := range p.Features {
		p.Features[i].Policy = def(p.Features[i].Policy, "require")
	}
	return nil
}

// boot writes the old-style order when the document has none of either style.
func (c *completer) boot() error {
	users := map[string]string{}
	var first string
	for _, b := range c.bootOrders() {
		if b.boot == nil {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(b.boot.Order), 10, 16)
		if err != nil || n == 0 {
			return invalid("boot", "order=%q of %s is no number from 1", b.boot.Order, b.who)
		}
		b.boot.Order = strconv.FormatUint(n, 10)
		if other, taken := users[b.boot.Order]; taken {
			return unsupported("boot", "order %s is used by %s and %s", b.boot.Order, other, b.who)
		}
		users[b.boot.Order], first = b.who, def(first, b.who)
	}
	if len(users) == 0 {
		if len(c.d.OS.Boot) == 0 && c.fam.pci() {
			c.d.OS.Boot = []spec.OSBoot{{Dev: "hd"}}
		}
		return nil
	}
	if len(c.d.OS.Boot) > 0 {
		return unsupported("boot", "%s has a boot order of its own, which excludes os/boot; use one of them", first)
	}
	return nil
}

type bootOrder struct {
	who  string
	boot *spec.Boot
}

func (c *completer) bootOrders() []bootOrder {
	var out []bootOrder
	for i := range c.dev.Disks {
		out = append(out, bootOrder{diskName(&c.dev.Disks[i]), c.dev.Disks[i].Boot})
	}
	for i := range c.dev.Interfaces {
		out = append(out, bootOrder{nicName(&c.dev.Interfaces[i], i), c.dev.Interfaces[i].Boot})
	}
	for i := range c.dev.RedirDevs {
		out = append(out, bootOrder{fmt.Sprintf("redirdev %d", i), c.dev.RedirDevs[i].Boot})
	}
	return out
}

func (c *completer) clock() error {
	if c.d.Clock == nil {
		c.d.Clock = &spec.Clock{}
	}
	k := c.d.Clock
	k.Offset = def(k.Offset, "utc")
	adjusted := k.Adjustment != "" && k.Adjustment != "reset"
	switch {
	case k.Offset == "utc" && adjusted:
		k.Offset = "variable" // two ways to say it, as in libvirt (virDomainClockDefParse)
	case k.Offset == "localtime" && adjusted:
		return unsupported("clock", "offset='localtime' with adjustment=%q is not implemented; use offset='variable'", k.Adjustment)
	case k.Offset == "variable" && k.Adjustment == "reset":
		return invalid("clock", "adjustment='reset' is for offset='utc' and offset='localtime'")
	}
	if k.Offset == "variable" {
		k.Adjustment, k.Basis = def(k.Adjustment, "0"), def(k.Basis, "utc")
	}
	for _, t := range k.Timers {
		can := tickPolicies(t.Name)
		if t.TickPolicy != "" && can != nil && !slices.Contains(can, t.TickPolicy) {
			return unsupported("clock/timer", "%s: tickpolicy=%q is not possible; use %s", t.Name, t.TickPolicy, strings.Join(can, " or "))
		}
	}
	return nil
}

// tickPolicies is what QEMU can do about ticks of a timer that the guest missed; nil for a timer that has none to miss.
func tickPolicies(timer string) []string {
	switch timer {
	case "rtc":
		return []string{"delay", "catchup"}
	case "pit":
		return []string{"delay", "catchup", "discard"}
	case "hpet":
		return []string{"delay"}
	}
	return nil
}

func (c *completer) lifecycle() error {
	c.d.OnPoweroff = def(c.d.OnPoweroff, "destroy")
	c.d.OnReboot = def(c.d.OnReboot, "restart")
	c.d.OnCrash = def(c.d.OnCrash, "destroy")
	return nil
}
