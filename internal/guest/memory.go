package guest

import (
	"cmp"
	"slices"
	"strconv"

	"taproom/internal/spec"
)

// memory settles how much memory there is: what the document says, or where it has NUMA cells what those and the modules
// make, as with libvirt.
func (c *completer) memory() error {
	most, err := kib("memory", c.d.Memory)
	if err != nil {
		return err
	}
	for _, part := range []func() error{c.cells, c.numaTune, c.hugePages, c.modules} {
		if err := part(); err != nil {
			return err
		}
	}
	if c.d.Cells() > 0 {
		most = cellsKiB(c.d) + modulesKiB(c.d)
	}
	cur := most
	if c.d.CurrentMemory != nil {
		if cur, err = kib("currentMemory", c.d.CurrentMemory); err != nil {
			return err
		}
	}
	if cur == 0 || cur > most { // libvirt 9.0 lowers it without a word
		cur = most
	}
	*c.d.Memory = spec.Memory{Unit: "KiB", Value: decimal(most), Extra: c.d.Memory.Extra}
	if c.d.CurrentMemory == nil {
		c.d.CurrentMemory = &spec.Memory{}
	}
	c.d.CurrentMemory.Unit, c.d.CurrentMemory.Value = "KiB", decimal(cur)
	return c.maxMemory(most)
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

func (c *completer) maxMemory(total uint64) error {
	m := c.d.MaxMemory
	if m == nil {
		return nil
	}
	n, err := m.KiB()
	if err != nil {
		return invalid("maxMemory", "%v", err)
	}
	if n < total {
		return invalid("maxMemory", "%d KiB are less than the memory that there is, %d KiB", n, total)
	}
	if c.d.Cells() == 0 {
		return unsupported("maxMemory", "memory is plugged into NUMA cells; give the guest at least one (cpu/numa)")
	}
	m.Unit, m.Value = "KiB", decimal(n)
	return nil
}

// cells numbers the guest's NUMA cells, writes their amounts in KiB, gives the first one the processors that are in none,
// and completes the distances.
func (c *completer) cells() error {
	if c.d.CPU == nil || c.d.CPU.NUMA == nil {
		return nil
	}
	all := c.d.CPU.NUMA.Cells
	if len(all) == 0 {
		c.d.CPU.NUMA = nil
		return nil
	}
	most, err := c.d.MaxVCPUs()
	if err != nil {
		return invalid("vcpu", "%v", err)
	}
	free := map[int]bool{}
	for i := range int(most) {
		free[i] = true
	}
	for i := range all {
		k := &all[i]
		k.ID = def(k.ID, strconv.Itoa(i))
		n, err := k.KiB()
		if err != nil {
			return invalid("cpu/numa/cell", "%v", err)
		}
		k.Memory, k.Unit = decimal(n), "KiB"
		if k.CPUs == "" {
			continue
		}
		set, err := spec.ParseCPUSet(k.CPUs)
		if err != nil {
			return invalid("cpu/numa/cell", "%v", err)
		}
		k.CPUs = spec.FormatCPUSet(set)
		for _, cpu := range set {
			delete(free, cpu)
		}
	}
	slices.SortFunc(all, func(a, b spec.NUMACell) int { return index0(a.ID) - index0(b.ID) })
	if len(free) > 0 {
		set, _ := spec.ParseCPUSet(all[0].CPUs) // empty: none yet
		for cpu := range free {
			set = append(set, cpu)
		}
		slices.Sort(set)
		all[0].CPUs = spec.FormatCPUSet(set)
	}
	distances(all)
	return nil
}

func index0(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// distances writes each distance that the document gives at both of its ends, and each cell's to itself.
func distances(cells []spec.NUMACell) {
	n := len(cells)
	m := make([]string, n*n)
	any := false
	for i := range cells {
		if cells[i].Distances == nil {
			continue
		}
		for _, s := range cells[i].Distances.Siblings {
			j := index0(s.ID)
			m[i*n+j], any = s.Value, true
			m[j*n+i] = cmp.Or(m[j*n+i], s.Value)
		}
	}
	if !any {
		return
	}
	for i := range cells {
		m[i*n+i] = "10"
		d := cells[i].Distances
		if d == nil {
			d = &spec.NUMADistances{}
			cells[i].Distances = d
		}
		old := d.Siblings
		d.Siblings = nil
		for j := range n {
			if v := m[i*n+j]; v != "" {
				s := spec.NUMASibling{ID: strconv.Itoa(j), Value: v}
				if at := slices.IndexFunc(old, func(s spec.NUMASibling) bool { return index0(s.ID) == j }); at >= 0 {
					s.Extra = old[at].Extra
				}
				d.Siblings = append(d.Siblings, s)
			}
		}
	}
}

func (c *completer) numaTune() error {
	t := c.d.NUMATune
	if t == nil {
		return nil
	}
	if m := t.Memory; m != nil {
		m.Mode, m.Placement = def(m.Mode, "strict"), ""
		if err := canonical(&m.NodeSet, "numatune/memory"); err != nil {
			return err
		}
	}
	for i := range t.MemNodes {
		n := &t.MemNodes[i]
		n.Mode = def(n.Mode, "strict")
		if err := canonical(&n.NodeSet, "numatune/memnode"); err != nil {
			return err
		}
	}
	return nil
}

// canonical writes a set as libvirt does.
func canonical(set *string, element string) error {
	if *set == "" {
		return nil
	}
	n, err := spec.ParseCPUSet(*set)
	if err != nil {
		return invalid(element, "%v", err)
	}
	*set = spec.FormatCPUSet(n)
	return nil
}

func (c *completer) hugePages() error {
	if c.d.MemoryBacking == nil || c.d.MemoryBacking.HugePages == nil {
		return nil
	}
	pages := c.d.MemoryBacking.HugePages.Pages
	for i := range pages {
		n, err := pages[i].KiB()
		if err != nil {
			return invalid("memoryBacking/hugepages", "%v", err)
		}
		pages[i].Size, pages[i].Unit = decimal(n), "KiB"
		if err := canonical(&pages[i].NodeSet, "memoryBacking/hugepages/page"); err != nil {
			return err
		}
		set, _ := spec.ParseCPUSet(pages[i].NodeSet)
		for _, cell := range set {
			if cell >= max(c.d.Cells(), 1) {
				return invalid("memoryBacking/hugepages/page", "nodeset: the guest has no NUMA cell %d", cell)
			}
		}
	}
	return nil
}

// modules gives every module of memory a slot.
func (c *completer) modules() error {
	all := c.dev.Memories
	if len(all) == 0 {
		return nil
	}
	slots := index0(c.d.MaxMemory.Slots)
	taken := map[int]int{}
	for i := range all {
		m := &all[i]
		if err := c.module(m, i); err != nil {
			return err
		}
		if m.Address == nil {
			continue
		}
		n, err := number(m.Address.Slot)
		if err != nil {
			return invalid("memory", "module %d: address: %v", i+1, err)
		}
		if other, used := taken[n]; used {
			return unsupported("memory", "modules %d and %d are both in slot %d", other+1, i+1, n)
		}
		m.Address.Slot, taken[n] = strconv.Itoa(n), i
	}
	next := 0
	for i := range all {
		if all[i].Address == nil {
			for ; ; next++ {
				if _, used := taken[next]; !used {
					break
				}
			}
			all[i].Address, taken[next] = &spec.Address{Type: "dimm", Slot: strconv.Itoa(next)}, i
		}
		if n := index0(all[i].Address.Slot); n >= slots {
			return unsupported("memory", "module %d needs slot %d and there are %d; raise slots of <maxMemory>", i+1, n, slots)
		}
	}
	return nil
}

func (c *completer) module(m *spec.MemoryDevice, i int) error {
	n, err := m.Target.Size.KiB()
	if err != nil {
		return invalid("memory", "module %d: %v", i+1, err)
	}
	if n%1024 != 0 {
		return invalid("memory/target", "module %d: %d KiB are no whole number of MiB", i+1, n)
	}
	m.Target.Size.Unit, m.Target.Size.Value = "KiB", decimal(n)
	node, err := strconv.Atoi(m.Target.Node)
	if err != nil || node >= c.d.Cells() {
		return invalid("memory/target", "module %d: it needs the number of one of the guest's %d NUMA cells in <node>", i+1, c.d.Cells())
	}
	if a := m.Address; a != nil && a.Type != "dimm" {
		return invalid("memory", "module %d: address type=%q is not for modules; use dimm", i+1, a.Type)
	}
	s := m.Source
	if s == nil {
		return nil
	}
	if s.PageSize != nil {
		if n, err = s.PageSize.KiB(); err != nil {
			return invalid("memory/source", "module %d: %v", i+1, err)
		}
		s.PageSize.Unit, s.PageSize.Value = "KiB", decimal(n)
	}
	return canonical(&s.NodeMask, "memory/source/nodemask")
}

// cellsKiB is the memory of all cells.
func cellsKiB(d *spec.Domain) uint64 {
	var sum uint64
	for i := range d.CPU.NUMA.Cells {
		n, _ := d.CPU.NUMA.Cells[i].KiB()
		sum += n
	}
	return sum
}

// modulesKiB is the memory of all modules.
func modulesKiB(d *spec.Domain) uint64 {
	var sum uint64
	for i := range d.Devices.Memories {
		n, _ := d.Devices.Memories[i].Target.Size.KiB()
		sum += n
	}
	return sum
}
