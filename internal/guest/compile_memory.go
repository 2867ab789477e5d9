package guest

import (
	"slices"
	"strconv"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// memory gives the guest its memory. Where the document does not say how, QEMU takes it as it likes.
func (c *compiler) memory() error {
	total, err := kib("memory", c.d.Memory)
	if err != nil {
		return err
	}
	cur, err := kib("currentMemory", c.d.CurrentMemory)
	if err != nil {
		return err
	}
	if cur < total && c.dev.MemBalloon.Model != "none" {
		c.out.Startup.BalloonBytes = cur << 10
	}
	if b := c.d.MemoryBacking; b != nil && b.Locked != nil {
		c.flag("-overcommit", qemu.Option{Props: qemu.Props{{Key: "mem-lock", Value: true}}})
		c.out.LockMemory = true
	}
	first := total - modulesKiB(c.d)
	if c.d.Cells() > 0 {
		if first, err = c.cells(); err != nil {
			return err
		}
	} else if c.chosenMemory() {
		o, err := c.backend("pc.ram", ceilMiB(first), -1, nil)
		if err != nil {
			return err
		}
		c.cfg.Objects = append(c.cfg.Objects, o)
		c.cfg.Machine.Props = c.cfg.Machine.Props.With("memory-backend", "pc.ram")
	}
	c.cfg.MemoryMB = ceilMiB(first) >> 10
	if m := c.d.MaxMemory; m != nil {
		most, err := m.KiB()
		if err != nil {
			return invalid("maxMemory", "%v", err)
		}
		c.cfg.Memory = qemu.Option{Props: qemu.Props{
			{Key: "size", Value: decimal(c.cfg.MemoryMB<<10) + "k"}, {Key: "slots", Value: m.Slots}, {Key: "maxmem", Value: decimal(ceilMiB(most)) + "k"},
		}}
		c.cfg.MemoryMB = 0
	}
	return c.modules()
}

// ceilMiB rounds KiB up to whole MiB, which is what QEMU takes.
func ceilMiB(kib uint64) uint64 { return (kib + 1023) &^ 1023 }

// chosenMemory reports whether the document says where memory comes from.
func (c *compiler) chosenMemory() bool {
	b := c.d.MemoryBacking
	if c.d.NUMATune != nil && c.d.NUMATune.Memory != nil {
		return true
	}
	return b != nil && (b.HugePages != nil || b.Source != nil && b.Source.Type != "anonymous" ||
		b.Access != nil && b.Access.Mode == "shared" || b.Allocation != nil && b.Allocation.Mode == "immediate")
}

// cells makes the guest's NUMA cells and returns their memory.
func (c *compiler) cells() (uint64, error) {
	all := c.d.CPU.NUMA.Cells
	var sum uint64
	spaced := false
	for i := range all {
		k := &all[i]
		n, err := k.KiB()
		if err != nil {
			return 0, invalid("cpu/numa/cell", "%v", err)
		}
		sum += ceilMiB(n)
		id := "ram-node" + k.ID
		o, err := c.backend(id, ceilMiB(n), i, nil)
		if err != nil {
			return 0, err
		}
		c.cfg.Objects = append(c.cfg.Objects, o)
		p := qemu.Props{{Key: "nodeid", Value: k.ID}}
		if k.CPUs != "" {
			set, err := spec.ParseCPUSet(k.CPUs)
			if err != nil {
				return 0, invalid("cpu/numa/cell", "%v", err)
			}
			for _, r := range ranges(set) {
				p = p.With("cpus", r)
			}
		}
		c.flag("-numa", qemu.Option{Head: "node", Props: p.With("memdev", id)})
		spaced = spaced || k.Distances != nil
	}
	if spaced {
		c.distances(all)
	}
	return sum, nil
}

// ranges are the parts of a set that QEMU takes one by one.
func ranges(set []int) []string {
	var out []string
	for i := 0; i < len(set); {
		j := i
		for j+1 < len(set) && set[j+1] == set[j]+1 {
			j++
		}
		out = append(out, spec.FormatCPUSet(set[i:j+1]))
		i = j + 1
	}
	return out
}

// distances tells them all: what the document leaves out is 20.
func (c *compiler) distances(all []spec.NUMACell) {
	for i := range all {
		for j := range all {
			v := "20"
			if i == j {
				v = "10"
			}
			if d := all[i].Distances; d != nil {
				for _, s := range d.Siblings {
					if index0(s.ID) == j {
						v = s.Value
					}
				}
			}
			c.flag("-numa", qemu.Option{Head: "dist", Props: qemu.Props{{Key: "src", Value: i}, {Key: "dst", Value: j}, {Key: "val", Value: v}}})
		}
	}
}

// modules plugs the modules that the guest starts with.
func (c *compiler) modules() error {
	for i := range c.dev.Memories {
		m := &c.dev.Memories[i]
		if set, v := on(c.features().ACPI); !set || !v {
			return unsupported("memory", "modules are found by ACPI; add <acpi/> to <features>")
		}
		n, err := m.Target.Size.KiB()
		if err != nil {
			return invalid("memory", "%v", err)
		}
		id := "mem" + m.Alias.Name
		o, err := c.backend(id, n, index0(m.Target.Node), m)
		if err != nil {
			return err
		}
		c.cfg.Objects = append(c.cfg.Objects, o)
		p := qemu.Props{{Key: "driver", Value: "pc-dimm"}, {Key: "node", Value: index0(m.Target.Node)}, {Key: "memdev", Value: id}, {Key: "id", Value: m.Alias.Name}}
		p = p.With("slot", index0(m.Address.Slot))
		if m.Address.Base != "" {
			base, err := strconv.ParseUint(m.Address.Base, 0, 64)
			if err != nil {
				return invalid("memory/address", "base=%q is no address: %v", m.Address.Base, err)
			}
			p = p.With("addr", base)
		}
		if err := c.device(p, nil); err != nil {
			return err
		}
	}
	return nil
}

// backend is QEMU's object for a piece of memory: of cell, or of the whole guest (-1); of a module, which may choose by
// itself.
func (c *compiler) backend(id string, size uint64, cell int, module *spec.MemoryDevice) (qemu.Props, error) {
	b := c.d.MemoryBacking
	if b == nil {
		b = &spec.MemoryBacking{}
	}
	access, discard, page := c.choices(b, cell, module)
	source := ""
	if b.Source != nil {
		source = b.Source.Type
	}
	p := qemu.Props{{Key: "qom-type", Value: "memory-backend-ram"}, {Key: "id", Value: id}}
	switch {
	case page > 0: // a descriptor needs no mount that the guest's user may write to
		p[0].Value = "memory-backend-memfd"
		p = p.With("hugetlb", true).With("hugetlbsize", page<<10)
		access = def(access, "private")
		if size%page != 0 {
			return nil, unsupported("memoryBacking/hugepages", "%d KiB are no whole number of pages of %d KiB", size, page)
		}
		c.out.HugePages = append(c.out.HugePages, HugePageNeed{PageKiB: page, Pages: size / page})
	case source == "file":
		p[0].Value = "memory-backend-file"
		p = p.With("mem-path", c.rt.MemoryDir)
		c.out.MemoryDir = true
		if !slices.Contains(c.cfg.ReadWrite, c.rt.MemoryDir) {
			c.cfg.ReadWrite = append(c.cfg.ReadWrite, c.rt.MemoryDir)
		}
		if discard {
			p = p.With("discard-data", true)
		}
	case source == "memfd" || source == "" && access == "shared":
		p[0].Value = "memory-backend-memfd"
	}
	if access != "" && p[0].Value != "memory-backend-ram" {
		p = p.With("share", access == "shared")
	}
	if cell < 0 && p[0].Value != "memory-backend-ram" { // its name in a saved image is that of memory without a file
		p = p.With("x-use-canonical-path-for-ramblock-id", false)
	}
	if a := b.Allocation; page > 0 || a != nil && a.Mode == "immediate" {
		p = p.With("prealloc", true)
		if a != nil && a.Threads != "" {
			p = p.With("prealloc-threads", index0(a.Threads))
		}
	}
	return c.onNodes(p.With("size", size<<10), cell, module)
}

// choices are how a piece of memory is shared, whether it is given back, and the size of its pages in KiB, 0 for the usual.
func (c *compiler) choices(b *spec.MemoryBacking, cell int, module *spec.MemoryDevice) (access string, discard bool, page uint64) {
	if b.Access != nil {
		access = b.Access.Mode
	}
	discard = b.Discard != nil
	if cell >= 0 {
		k := c.d.CPU.NUMA.Cells[cell]
		access = def(k.MemAccess, access)
		discard = k.Discard == "yes" || discard && k.Discard == ""
	}
	page = c.pageSize(b.HugePages, max(cell, 0))
	if module == nil {
		return access, discard, page
	}
	access = def(module.Access, access)
	discard = module.Discard == "yes" || discard && module.Discard == ""
	if module.Source != nil && module.Source.PageSize != nil {
		if page, _ = module.Source.PageSize.KiB(); page <= c.rt.pageKiB() {
			page = 0
		}
	}
	return access, discard, page
}

// pageSize is that of a cell's memory: of the entry that names the cell, or of the one that names none.
func (c *compiler) pageSize(h *spec.HugePages, cell int) uint64 {
	if h == nil {
		return 0
	}
	size := uint64(0)
	if len(h.Pages) == 0 {
		size = c.rt.hugePageKiB()
	}
	for i := range h.Pages {
		n, _ := h.Pages[i].KiB()
		set, _ := spec.ParseCPUSet(h.Pages[i].NodeSet)
		if slices.Contains(set, cell) {
			size = n
			break
		}
		if h.Pages[i].NodeSet == "" {
			size = n
		}
	}
	if size <= c.rt.pageKiB() {
		return 0
	}
	return size
}

// onNodes binds memory to nodes of the host.
func (c *compiler) onNodes(p qemu.Props, cell int, module *spec.MemoryDevice) (qemu.Props, error) {
	mode, nodes := "", ""
	if t := c.d.NUMATune; t != nil {
		if t.Memory != nil {
			mode, nodes = t.Memory.Mode, t.Memory.NodeSet
		}
		for _, n := range t.MemNodes {
			if n.CellID == strconv.Itoa(cell) {
				mode, nodes = n.Mode, n.NodeSet
			}
		}
	}
	if module != nil && module.Source != nil && module.Source.NodeMask != "" {
		mode, nodes = def(mode, "strict"), module.Source.NodeMask
	}
	if nodes == "" {
		return p, nil
	}
	set, err := spec.ParseCPUSet(nodes)
	if err != nil {
		return nil, invalid("numatune", "%v", err)
	}
	var list []any
	for _, n := range set {
		if c.rt.Nodes != nil && !slices.Contains(c.rt.Nodes, n) {
			return nil, unsupported("numatune", "this host has no NUMA node %d; it has %s", n, spec.FormatCPUSet(c.rt.Nodes))
		}
		list = append(list, n)
	}
	policy, known := map[string]string{"strict": "bind", "preferred": "preferred", "interleave": "interleave"}[mode]
	if !known {
		return nil, unsupported("numatune", "mode=%q is not implemented; use strict, preferred or interleave", mode)
	}
	return p.With("host-nodes", list).With("policy", policy), nil
}
