package guest

import (
	"cmp"
	"strconv"

	"taproom/internal/spec"
)

// online returns the number of virtual CPUs that QEMU's machine starts with, and notes it for the rest of the run, with the
// virtual CPUs that are plugged in.
func (c *compiler) online() (string, error) {
	p := &c.out.Pins
	if p.VCPUs == 0 {
		var err error
		if p.VCPUs, p.Added, err = c.d.PluggedVCPUs(); err != nil {
			return "", invalid("vcpus", "%v", err)
		}
		p.Made = len(p.Added)
	}
	return strconv.Itoa(p.VCPUs), nil
}

// addedVCPUs adds the virtual CPUs that are plugged in. The place of each follows from its number, as QEMU counts
// (x86_topo_ids_from_idx); that query-hotpluggable-cpus says the same is tested.
func (c *compiler) addedVCPUs() error {
	if len(c.out.Pins.Added) > 0 && !c.fam.pci() {
		return unsupported("vcpus", "machine %s takes no virtual CPUs beside those that it starts with; make them hotpluggable='no'", c.d.OS.Type.Machine)
	}
	t := c.d.CPU.Topology
	if t == nil {
		t = &spec.Topology{}
	}
	var n [3]int // dies, cores, threads
	for i, s := range []string{t.Dies, t.Cores, t.Threads} {
		var err error
		if n[i], err = number(cmp.Or(s, "1")); err != nil || n[i] < 1 {
			return invalid("cpu/topology", "%q is no number from 1", s)
		}
	}
	for _, i := range c.out.Pins.Added {
		core, p := i/n[2], device(cmp.Or(c.cfg.CPU.Head, "qemu64")+"-x86_64-cpu", VCPUName(i))
		p = p.With("socket-id", core/n[1]/n[0])
		if n[0] > 1 {
			p = p.With("die-id", core/n[1]%n[0])
		}
		c.cfg.Devices = append(c.cfg.Devices, p.With("core-id", core%n[1]).With("thread-id", i%n[2]))
	}
	return nil
}

// VCPUName is the name of the device of a virtual CPU that is plugged in.
func VCPUName(i int) string { return "vcpu" + strconv.Itoa(i) }
