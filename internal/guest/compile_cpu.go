package guest

import (
	"strconv"
	"strings"

	"taproom/internal/guest/cpumodel"
	"taproom/internal/qemu"
	"taproom/internal/spec"
)

func (c *compiler) processor() error {
	if err := c.topology(); err != nil {
		return err
	}
	k := c.d.CPU
	o := qemu.Option{}
	switch k.Mode {
	case "custom":
		if k.Model == nil {
			return invalid("cpu", "mode='custom' needs a model")
		}
		o.Head = strings.TrimSpace(k.Model.Value)
		if k.Model.VendorID != "" {
			o.Props = o.Props.With("vendor", k.Model.VendorID)
		}
	case "host-passthrough", "host-model", "maximum":
		// Without KVM there is no host to pass through: "max" is everything that QEMU can emulate.
		o.Head = map[bool]string{true: "host", false: "max"}[c.kvm()]
		if k.Migratable != "" && c.kvm() {
			o.Props = o.Props.With("migratable", k.Migratable == "on")
		}
		if k.Mode == "host-passthrough" {
			c.taint("host-cpu")
		}
	default:
		return unsupported("cpu", "mode=%q is not implemented", k.Mode)
	}
	for _, f := range k.Features {
		v, err := featureState(f)
		if err != nil {
			return err
		}
		o.Props = o.Props.With(cpumodel.QEMUName(f.Name), v)
	}
	props, err := c.cpuFlags()
	if err != nil {
		return err
	}
	o.Props = append(o.Props, props...)
	c.cfg.CPU = o
	return nil
}

func featureState(f spec.CPUFeature) (bool, error) {
	switch f.Policy {
	case "require", "force", "optional":
		return true, nil
	case "disable", "forbid":
		return false, nil
	}
	return false, invalid("cpu/feature", "policy=%q of %s is none of require, force, optional, disable, forbid", f.Policy, f.Name)
}

// cpuFlags are properties of the processor that the document has elsewhere.
func (c *compiler) cpuFlags() (qemu.Props, error) {
	var p qemu.Props
	f := c.features()
	if set, v := on(f.PMU); set {
		p = p.With("pmu", v)
	}
	for _, t := range c.d.Clock.Timers {
		switch {
		case t.Name == "tsc" && t.Frequency != "":
			n, err := strconv.ParseUint(t.Frequency, 10, 63)
			if err != nil {
				return nil, invalid("clock/timer", "frequency=%q of the TSC is no number of Hz", t.Frequency)
			}
			p = p.With("tsc-frequency", n)
		case t.Name == "kvmclock" && t.Present == "no" && c.kvm():
			p = p.With("kvmclock", false)
		case t.Name == "hypervclock" && t.Present == "yes" && c.kvm():
			p = p.With("hv-time", true)
		}
	}
	p = append(p, c.hyperv()...)
	if c.kvm() {
		p = append(p, c.kvmFeatures()...)
	}
	if m := c.d.CPU.MaxPhys; m != nil {
		bits, ok := m.Attr("bits")
		switch mode, _ := m.Attr("mode"); {
		case mode == "emulate" && ok:
			p = p.With("phys-bits", bits)
		case mode == "passthrough" && c.kvm():
			p = p.With("host-phys-bits", true)
			if limit, ok := m.Attr("limit"); ok {
				p = p.With("host-phys-bits-limit", limit)
			}
		}
	}
	return append(p, c.cacheFlags()...), nil
}

// cacheFlags say which caches the guest's processors tell of.
func (c *compiler) cacheFlags() qemu.Props {
	k := c.d.CPU.Cache
	if k == nil {
		return nil
	}
	var p qemu.Props
	like := c.d.CPU.Mode == "host-passthrough" || c.d.CPU.Mode == "maximum"
	p = p.With("l3-cache", k.Mode == "emulate")
	if like { // only these processors know of the host's caches
		p = p.With("host-cache-info", k.Mode == "passthrough")
	}
	return p
}

// topology renders -smp. A document without a topology has one core per socket, as with libvirt.
func (c *compiler) topology() error {
	total, err := strconv.Atoi(c.d.VCPU.Value)
	if err != nil {
		return invalid("vcpu", "%q is no number", c.d.VCPU.Value)
	}
	first, err := c.online()
	if err != nil {
		return err
	}
	o := qemu.Option{Head: first}
	if o.Head != c.d.VCPU.Value || c.d.VCPU.Current != "" {
		o.Props = o.Props.With("maxcpus", total)
	}
	t := c.d.CPU.Topology
	if t == nil {
		t = &spec.Topology{Sockets: c.d.VCPU.Value, Cores: "1", Threads: "1"}
	}
	product := 1
	for _, part := range []struct{ name, value string }{
		{"sockets", t.Sockets}, {"dies", t.Dies}, {"cores", t.Cores}, {"threads", t.Threads},
	} {
		if part.value == "" {
			continue
		}
		n, err := strconv.ParseUint(part.value, 10, 16)
		if err != nil || n == 0 {
			return invalid("cpu/topology", "%s=%q is no number from 1", part.name, part.value)
		}
		product *= int(n)
		o.Props = o.Props.With(part.name, int(n))
	}
	if product != total {
		return unsupported("cpu/topology", "sockets, dies, cores and threads multiply to %d, but there are %d vcpus", product, total)
	}
	c.cfg.SMP = o
	return nil
}
