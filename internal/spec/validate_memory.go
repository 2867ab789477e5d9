package spec

import (
	"fmt"
)

// checkMemorySettings holds what no table can: amounts, and cells that fit together.
func (d *Domain) checkMemorySettings() error {
	if m := d.MaxMemory; m != nil {
		if _, err := m.KiB(); err != nil {
			return invalid("maxMemory", "%s", err)
		}
		if m.Slots == "" {
			return invalid("maxMemory/@slots", "it is missing: the number of modules that fit")
		}
	}
	if err := d.MemoryBacking.check(); err != nil {
		return err
	}
	if d.CPU != nil {
		if err := d.CPU.checkNUMA(d); err != nil {
			return err
		}
	}
	if err := d.NUMATune.check(d.Cells()); err != nil {
		return err
	}
	return d.checkModules()
}

// Cells is how many NUMA cells the guest sees; 0 where the document has none.
func (d *Domain) Cells() int {
	if d.CPU == nil || d.CPU.NUMA == nil {
		return 0
	}
	return len(d.CPU.NUMA.Cells)
}

func (m *MemoryBacking) check() error {
	if m == nil {
		return nil
	}
	if m.HugePages != nil {
		for i := range m.HugePages.Pages {
			n, err := m.HugePages.Pages[i].KiB()
			if err == nil && n == 0 {
				err = fmt.Errorf("the size of a page is missing or 0")
			}
			if err != nil {
				return invalid("memoryBacking/hugepages/page/@size", "%s", err)
			}
		}
		if m.Source != nil && m.Source.Type == "anonymous" {
			return invalid("memoryBacking/source/@type", "huge pages are not anonymous; use memfd, or leave it out")
		}
	}
	if m.Access != nil && m.Access.Mode == "shared" && m.Source != nil && m.Source.Type == "anonymous" {
		return invalid("memoryBacking/source/@type", "anonymous memory cannot be shared; use memfd or file")
	}
	return nil
}

func (c *CPU) checkNUMA(d *Domain) error {
	if c.NUMA == nil {
		return nil
	}
	most, err := d.MaxVCPUs()
	if err != nil {
		return invalid("vcpu", "%s", err)
	}
	n := len(c.NUMA.Cells)
	owner, ids := map[int]int{}, map[string]bool{}
	for i := range c.NUMA.Cells {
		cell := &c.NUMA.Cells[i]
		if cell.ID != "" {
			id, _ := ParseDecimal(cell.ID, 1023) // the table has looked at it
			if int(id) >= n || ids[cell.ID] {
				return invalid("cpu/numa/cell/@id", "cells are numbered from 0 to %d, each once; %s is not", n-1, cell.ID)
			}
			ids[cell.ID] = true
		}
		kib, err := cell.KiB()
		if err == nil && kib == 0 {
			err = fmt.Errorf("it is missing or 0")
		}
		if err != nil {
			return invalid("cpu/numa/cell/@memory", "%s (cell %d)", err, i)
		}
		if cell.CPUs == "" {
			continue
		}
		set, err := ParseCPUSet(cell.CPUs)
		if err != nil {
			return invalid("cpu/numa/cell/@cpus", "%s", err)
		}
		for _, cpu := range set {
			if other, taken := owner[cpu]; taken {
				return invalid("cpu/numa/cell/@cpus", "virtual CPU %d is in cells %d and %d", cpu, other, i)
			}
			if cpu >= int(most) {
				return invalid("cpu/numa/cell/@cpus", "there is no virtual CPU %d; <vcpu> says %d", cpu, most)
			}
			owner[cpu] = i
		}
	}
	if 0 < len(ids) && len(ids) < n {
		return invalid("cpu/numa/cell/@id", "either all cells have an id, or none")
	}
	return c.NUMA.checkDistances()
}

func (m *NUMA) checkDistances() error {
	for i := range m.Cells {
		if m.Cells[i].Distances == nil {
			continue
		}
		own := m.Cells[i].number(i)
		for _, s := range m.Cells[i].Distances.Siblings {
			id, err := ParseDecimal(s.ID, uint64(len(m.Cells)-1))
			if err != nil {
				return invalid("cpu/numa/cell/distances/sibling/@id", "there is no cell %s", s.ID)
			}
			if v, err := ParseDecimal(s.Value, 254); err != nil || int(id) == own && v != 10 || int(id) != own && v <= 10 {
				return invalid("cpu/numa/cell/distances/sibling/@value", "%q from cell %d to cell %d: the distance to itself is 10, and to others 11 to 254", s.Value, own, id)
			}
		}
	}
	return nil
}

// number is the cell's own, which is its place where the document does not say.
func (c *NUMACell) number(place int) int {
	if n, err := ParseDecimal(c.ID, 1023); err == nil {
		return int(n)
	}
	return place
}

func (t *NUMATune) check(cells int) error {
	if t == nil {
		return nil
	}
	if t.Memory != nil && t.Memory.NodeSet == "" {
		return invalid("numatune/memory/@nodeset", "it is missing: the nodes of the host")
	}
	seen := map[string]bool{}
	for _, n := range t.MemNodes {
		id, err := ParseDecimal(n.CellID, 1023)
		switch {
		case err != nil || int(id) >= cells:
			return invalid("numatune/memnode/@cellid", "there is no cell %q", n.CellID)
		case seen[n.CellID]:
			return invalid("numatune/memnode/@cellid", "cell %s is given more than once", n.CellID)
		case n.NodeSet == "":
			return invalid("numatune/memnode/@nodeset", "it is missing: the nodes of the host")
		}
		seen[n.CellID] = true
	}
	return nil
}

func (d *Domain) checkModules() error {
	if d.Devices == nil || len(d.Devices.Memories) == 0 {
		return nil
	}
	if d.MaxMemory == nil {
		return invalid("devices/memory", "modules need a <maxMemory> with slots for them")
	}
	for i := range d.Devices.Memories {
		m := &d.Devices.Memories[i]
		if m.Model == "" {
			return invalid("devices/memory/@model", "it is missing; use dimm")
		}
		n, err := m.Target.Size.KiB()
		if err == nil && n == 0 {
			err = fmt.Errorf("it is missing or 0")
		}
		if err != nil {
			return invalid("devices/memory/target/size", "%s", err)
		}
		if m.Source != nil && m.Source.PageSize != nil {
			if _, err := m.Source.PageSize.KiB(); err != nil {
				return invalid("devices/memory/source/pagesize", "%s", err)
			}
		}
	}
	return nil
}

func (k *CPUCache) check(mode string) error {
	switch {
	case k == nil:
		return nil
	case k.Mode == "":
		return invalid("cpu/cache/@mode", "it is missing; use emulate, passthrough or disable")
	case k.Mode == "emulate" && k.Level != "3":
		return unsupported("cpu/cache/@level", "only the cache of level 3 is emulated")
	case k.Mode != "emulate" && k.Level != "":
		return unsupported("cpu/cache/@level", "mode %s is for all levels; leave it out", k.Mode)
	case k.Mode == "passthrough" && mode != "host-passthrough" && mode != "maximum":
		return unsupported("cpu/cache/@mode", "passthrough is for the CPU modes host-passthrough and maximum")
	}
	return nil
}
