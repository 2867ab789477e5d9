package spec

// MaxMemory is how much memory a guest may have with all that is plugged, in how many slots.
type MaxMemory struct {
	Slots string `xml:"slots,attr,omitempty"`
	Unit  string `xml:"unit,attr,omitempty"`
	Value string `xml:",chardata"`
	Extra
}

// KiB returns the amount in KiB, rounded up.
func (m *MaxMemory) KiB() (uint64, error) { return (&Memory{Unit: m.Unit, Value: m.Value}).KiB() }

// MemoryBacking is where a guest's memory comes from, in the order in which libvirt writes it.
type MemoryBacking struct {
	HugePages    *HugePages        `xml:"hugepages"`
	NoSharePages *State            `xml:"nosharepages"` // not merged with equal pages of others
	Locked       *State            `xml:"locked"`       // never swapped out
	Source       *MemorySource     `xml:"source"`
	Access       *MemoryAccess     `xml:"access"`
	Allocation   *MemoryAllocation `xml:"allocation"`
	Discard      *State            `xml:"discard"` // given back when the guest ends
	Extra
}

// HugePages says that memory comes in large pages; with no Pages in those of the host's default size.
type HugePages struct {
	Pages []HugePage `xml:"page"`
	Extra
}

// HugePage is a size of pages, and the guest's NUMA cells that it is for; without a NodeSet it is for all others.
type HugePage struct {
	Size    string `xml:"size,attr"`
	Unit    string `xml:"unit,attr,omitempty"`
	NodeSet string `xml:"nodeset,attr,omitempty"`
	Extra
}

// KiB is the size of the pages.
func (p *HugePage) KiB() (uint64, error) { return (&Memory{Unit: p.Unit, Value: p.Size}).KiB() }

// MemorySource is anonymous, file or memfd.
type MemorySource struct {
	Type string `xml:"type,attr"`
	Extra
}

// MemoryAccess is shared with other programs of the host, or private.
type MemoryAccess struct {
	Mode string `xml:"mode,attr"`
	Extra
}

// MemoryAllocation is immediate, by so many threads, or ondemand.
type MemoryAllocation struct {
	Mode    string `xml:"mode,attr,omitempty"`
	Threads string `xml:"threads,attr,omitempty"`
	Extra
}

// NUMATune says on which of the host's NUMA nodes the guest's memory lies.
type NUMATune struct {
	Memory   *NUMAMemory `xml:"memory"`
	MemNodes []MemNode   `xml:"memnode"`
	Extra
}

// NUMAMemory is for all of the memory; Mode is strict, preferred, interleave or restrictive.
type NUMAMemory struct {
	Mode      string `xml:"mode,attr,omitempty"`
	Placement string `xml:"placement,attr,omitempty"`
	NodeSet   string `xml:"nodeset,attr,omitempty"`
	Extra
}

// MemNode is for one of the guest's cells.
type MemNode struct {
	CellID  string `xml:"cellid,attr"`
	Mode    string `xml:"mode,attr,omitempty"`
	NodeSet string `xml:"nodeset,attr"`
	Extra
}

// NUMA are the cells that the guest sees.
type NUMA struct {
	Cells []NUMACell `xml:"cell"`
	Extra
}

// NUMACell is one of them: so much memory, some of the virtual processors, and how far the others are.
type NUMACell struct {
	ID        string         `xml:"id,attr,omitempty"`
	CPUs      string         `xml:"cpus,attr,omitempty"`
	Memory    string         `xml:"memory,attr"`
	Unit      string         `xml:"unit,attr,omitempty"`
	MemAccess string         `xml:"memAccess,attr,omitempty"`
	Discard   string         `xml:"discard,attr,omitempty"`
	Distances *NUMADistances `xml:"distances"`
	Extra
}

// KiB is the memory of the cell.
func (c *NUMACell) KiB() (uint64, error) { return (&Memory{Unit: c.Unit, Value: c.Memory}).KiB() }

// NUMADistances are from one cell to others.
type NUMADistances struct {
	Siblings []NUMASibling `xml:"sibling"`
	Extra
}

// NUMASibling is the distance to the cell ID: 10 is the cell itself, and the most is 254.
type NUMASibling struct {
	ID    string `xml:"id,attr"`
	Value string `xml:"value,attr"`
	Extra
}

// CPUCache is emulated, passed through from the host, or disabled.
type CPUCache struct {
	Level string `xml:"level,attr,omitempty"`
	Mode  string `xml:"mode,attr"`
	Extra
}

// MemoryDevice is a module of memory beside what the machine has.
type MemoryDevice struct {
	Model   string              `xml:"model,attr"` // dimm
	Access  string              `xml:"access,attr,omitempty"`
	Discard string              `xml:"discard,attr,omitempty"`
	Source  *MemoryDeviceSource `xml:"source"`
	Target  MemoryDeviceTarget  `xml:"target"`
	Alias   *Alias              `xml:"alias"`
	Address *Address            `xml:"address"`
	Extra
}

// MemoryDeviceSource is where a module's memory comes from: nodes of the host, and a size of pages.
type MemoryDeviceSource struct {
	NodeMask string  `xml:"nodemask,omitempty"`
	PageSize *Memory `xml:"pagesize"`
	Extra
}

// MemoryDeviceTarget is what the guest sees of a module: its size, and its NUMA cell.
type MemoryDeviceTarget struct {
	Size *Memory `xml:"size"`
	Node string  `xml:"node,omitempty"`
	Extra
}

func memoryRules() map[string]rule {
	return map[string]rule{
		"maxMemory/@slots":                      number(1, 256),
		"memoryBacking/hugepages/page/@nodeset": cpuSet(),
		"memoryBacking/source/@type":            values("anonymous file memfd", ""),
		"memoryBacking/access/@mode":            values("shared private", ""),
		"memoryBacking/allocation/@mode":        values("immediate ondemand", ""),
		"memoryBacking/allocation/@threads":     number(1, 65535),

		"numatune/memory/@mode":      values("strict preferred interleave", "restrictive"),
		"numatune/memory/@placement": values("static", "auto"),
		"numatune/memory/@nodeset":   cpuSet(),
		"numatune/memnode/@mode":     values("strict preferred interleave", "restrictive"),
		"numatune/memnode/@nodeset":  cpuSet(),
		"numatune/memnode/@cellid":   number(0, 1023),

		"cpu/numa/cell/@id":                      number(0, 1023),
		"cpu/numa/cell/@cpus":                    cpuSet(),
		"cpu/numa/cell/@memAccess":               values("shared private", ""),
		"cpu/numa/cell/@discard":                 yesNo(),
		"cpu/numa/cell/distances/sibling/@id":    number(0, 1023),
		"cpu/numa/cell/distances/sibling/@value": number(10, 254),
		"cpu/numa/cell/cache":                    refuse("memory-side caches are not implemented"),
		"cpu/numa/interconnects":                 refuse("latencies and bandwidths between cells are not implemented"),
		"cpu/cache/@level":                       number(1, 3),
		"cpu/cache/@mode":                        values("emulate passthrough disable", ""),
		"devices/memory/@model":                  values("dimm", "nvdimm virtio-pmem virtio-mem sgx-epc"),
		"devices/memory/@access":                 values("shared private", ""),
		"devices/memory/@discard":                yesNo(),
		"devices/memory/uuid":                    refuse("it is for NVDIMMs"),
		"devices/memory/source/nodemask":         cpuSet(),
		"devices/memory/source/path":             refuse("it is for NVDIMMs"),
		"devices/memory/source/alignsize":        refuse("it is for NVDIMMs"),
		"devices/memory/source/pmem":             refuse("it is for NVDIMMs"),
		"devices/memory/target/node":             number(0, 1023),
		"devices/memory/target/label":            refuse("it is for NVDIMMs"),
		"devices/memory/target/readonly":         refuse("it is for NVDIMMs"),
		"devices/memory/target/block":            refuse("it is for virtio-mem"),
		"devices/memory/target/requested":        refuse("it is for virtio-mem"),
		"devices/memory/target/address":          refuse("it is for virtio-pmem and virtio-mem"),
		"devices/memory/address/@type":           values("dimm", "pci"),
		"devices/memory/address/@slot":           place(255),
		"devices/memory/address/@base":           pattern(`0x[0-9a-fA-F]{1,16}|[0-9]{1,19}`, "an address of the guest's memory, such as 0x100000000"),
	}
}
