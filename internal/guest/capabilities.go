package guest

import (
	"cmp"
	"slices"
	"strconv"

	"taproom/internal/spec"
)

// CapFacts is what the capability documents say: the host and one emulator.
type CapFacts struct {
	Host      HostFacts
	UUID      *spec.UUID // of the host
	CPUModel  string     // of the host's processor, as QEMU names it; may be empty
	CPUVendor string     // Intel, AMD; may be empty
	CPUFlags  []string
	Topology  *spec.Topology // sockets, dies, cores, threads
	PageSizes []uint64       // in KiB
	Cells     []Cell
	// Models are the processors that QEMU has, by accelerator: tcg, kvm.
	Models map[string][]CPUModel
	// Companions are the programs to run beside QEMU that are installed.
	Companions Companions
	// HostModels are the host's processor as a document says it, by accelerator.
	HostModels map[string]*spec.CPU
	// Labels are the QEMU user's label by domain type, where it is fixed.
	Labels map[string]string
	// OneUser says that guests run as the daemon's own user, and have no label.
	OneUser bool
}

// Cell is a NUMA cell of the host.
type Cell struct {
	ID        int
	MemoryKiB uint64
	CPUs      []HostCPU
}

// HostCPU is a logical processor and its place.
type HostCPU struct {
	ID, Socket, Die, Core int
	Siblings              string
}

// CPUModel is a processor that QEMU can give a guest.
type CPUModel struct {
	Name       string
	Usable     bool // the accelerator has all its features
	Deprecated bool
	Vendor     string
}

// Capabilities is the document of what this host runs.
func Capabilities(f CapFacts) *spec.Capabilities {
	c := &spec.Capabilities{Host: spec.CapsHost{
		UUID: f.UUID,
		CPU:  spec.CapsCPU{Arch: f.Host.Arch, Model: f.CPUModel, Vendor: f.CPUVendor, Topology: f.Topology},
		// Sleep states and an IOMMU are for guests with devices of the host, which there are none of.
		PowerManagement: &spec.PowerManagement{}, IOMMU: &spec.Supported{Support: "no"},
		SecModels: []spec.SecModel{{Model: "none", DOI: "0"}, {Model: "dac", DOI: "0"}},
	}}
	if f.OneUser {
		c.Host.SecModels = c.Host.SecModels[:1]
	}
	for _, flag := range f.CPUFlags {
		c.Host.CPU.Features = append(c.Host.CPU.Features, spec.CapsCPUFeature{Name: flag})
	}
	for _, size := range f.PageSizes {
		c.Host.CPU.Pages = append(c.Host.CPU.Pages, spec.CapsPages{Unit: "KiB", Size: strconv.FormatUint(size, 10)})
	}
	if len(f.Cells) > 0 {
		c.Host.Topology = cells(f.Cells)
	}
	for _, kind := range []string{"kvm", "qemu"} {
		if l := f.Labels[kind]; l != "" {
			m := &c.Host.SecModels[1]
			m.BaseLabels = append(m.BaseLabels, spec.BaseLabel{Type: kind, Value: l})
		}
	}
	g := spec.CapsGuest{OSType: "hvm", Arch: spec.CapsArch{
		Name: f.Host.Arch, WordSize: "64", Emulator: f.Host.Emulator, Machines: capsMachines(f.Host.Machines),
		Domains: []spec.CapsDomain{{Type: "qemu"}},
	}}
	if f.Host.KVM == nil {
		g.Arch.Domains = append(g.Arch.Domains, spec.CapsDomain{Type: "kvm"})
	}
	g.Features = &spec.GuestFeatures{
		ACPI: &spec.FeatureToggle{Default: "on", Toggle: "yes"}, APIC: &spec.FeatureToggle{Default: "on", Toggle: "no"},
		CPUSelection: &spec.Flag{}, DeviceBoot: &spec.Flag{},
	}
	c.Guests = []spec.CapsGuest{g}
	return c
}

func cells(in []Cell) *spec.CapsTopology {
	t := &spec.CapsTopology{Cells: spec.CapsCells{Num: strconv.Itoa(len(in))}}
	for _, cell := range in {
		c := spec.CapsCell{
			ID: strconv.Itoa(cell.ID), Memory: &spec.Memory{Unit: "KiB", Value: strconv.FormatUint(cell.MemoryKiB, 10)},
			CPUs: spec.CapsCPUs{Num: strconv.Itoa(len(cell.CPUs))},
		}
		for _, u := range cell.CPUs {
			c.CPUs.CPUs = append(c.CPUs.CPUs, spec.CapsCellCPU{
				ID: strconv.Itoa(u.ID), SocketID: strconv.Itoa(u.Socket), DieID: strconv.Itoa(u.Die), CoreID: strconv.Itoa(u.Core),
				Siblings: def(u.Siblings, strconv.Itoa(u.ID)),
			})
		}
		t.Cells.Cells = append(t.Cells.Cells, c)
	}
	return t
}

// capsMachines lists the machines that are implemented, each alias behind its versioned name. The default machine comes
// first: clients take it as such.
func capsMachines(in []Machine) []spec.CapsMachine {
	list := slices.DeleteFunc(slices.Clone(in), func(m Machine) bool { _, err := familyOf(m.Name); return err != nil })
	slices.SortStableFunc(list, func(a, b Machine) int { return cmp.Compare(machineRank(a), machineRank(b)) })
	var out []spec.CapsMachine
	for _, m := range list {
		most := ""
		if m.MaxCPUs > 0 {
			most = strconv.Itoa(m.MaxCPUs)
		}
		out = append(out, spec.CapsMachine{MaxCPUs: most, Name: m.Name})
		if m.Alias != "" && m.Alias != m.Name {
			out = append(out, spec.CapsMachine{Canonical: m.Name, MaxCPUs: most, Name: m.Alias})
		}
	}
	return out
}

func machineRank(m Machine) int {
	switch m.Alias {
	case "pc":
		return 0
	case "q35":
		return 1
	}
	return 2
}

// DomainCapabilities is the document of what can be chosen for a guest of one type on one machine. Empty arguments mean
// the defaults. It lists what is implemented here, which is less than QEMU has.
func DomainCapabilities(f CapFacts, arch, machine, virtType string) (*spec.DomainCapabilities, error) {
	if arch = def(arch, f.Host.Arch); arch != f.Host.Arch {
		return nil, unsupported("arch", "%q is not implemented; use %s", arch, f.Host.Arch)
	}
	if virtType == "" {
		virtType = map[bool]string{true: "kvm", false: "qemu"}[f.Host.KVM == nil]
	}
	if virtType != "qemu" && virtType != "kvm" {
		return nil, unsupported("domain", "type=%q is not implemented; use kvm or qemu", virtType)
	}
	if virtType == "kvm" && f.Host.KVM != nil {
		return nil, unsupported("domain", "type='kvm' cannot run on this host: %v", f.Host.KVM)
	}
	name := def(machine, def(f.Host.DefaultMachine, "pc"))
	m, ok := f.Host.machine(name)
	if !ok {
		return nil, unsupported("machine", "emulator %s has no machine %q", f.Host.Emulator, name)
	}
	fam, err := familyOf(m.Name)
	if err != nil {
		return nil, err
	}
	c := &spec.DomainCapabilities{
		Path: f.Host.Emulator, Domain: virtType, Machine: m.Name, Arch: arch, IOThreads: &spec.Supported{Supported: "yes"},
		OS:            firmwareOf(f.Host, fam, arch, m.Name),
		CPU:           spec.DomainCapsCPU{Modes: cpuModes(f, virtType)},
		MemoryBacking: spec.Device(true, spec.Enum("sourceType", "file", "anonymous", "memfd")),
		Devices:       devicesOf(f.Host, fam, f.Companions),
		Features:      featuresOf(fam, virtType),
	}
	if m.MaxCPUs > 0 {
		c.VCPU = &spec.DomainCapsVCPU{Max: strconv.Itoa(m.MaxCPUs)}
	}
	return c, nil
}

func cpuModes(f CapFacts, virtType string) []spec.DomainCapsCPUMode {
	migratable := func(mode string) []spec.DomainCapsEnum { return []spec.DomainCapsEnum{spec.Enum(mode, "on", "off")} }
	passthrough := spec.DomainCapsCPUMode{Name: "host-passthrough", Supported: "no"}
	accel, model := "tcg", "max"
	if virtType == "kvm" {
		passthrough.Supported, passthrough.Enums = "yes", migratable("hostPassthroughMigratable")
		accel, model = "kvm", def(f.CPUModel, "host")
	}
	custom := spec.DomainCapsCPUMode{Name: "custom", Supported: "yes"}
	for _, m := range f.Models[accel] {
		entry := spec.DomainCapsCPUModel{Usable: spec.YesNo(m.Usable), Vendor: def(m.Vendor, "unknown"), Name: m.Name}
		if m.Deprecated {
			entry.Deprecated = "yes"
		}
		custom.Models = append(custom.Models, entry)
	}
	if len(custom.Models) == 0 {
		custom.Supported = "no"
	}
	return []spec.DomainCapsCPUMode{
		passthrough,
		{Name: "maximum", Supported: "yes", Enums: migratable("maximumMigratable")},
		hostModel(f.HostModels[accel], model),
		custom,
	}
}

// hostModel is the mode of that name: a model and features, or where nobody knows them a name.
func hostModel(c *spec.CPU, name string) spec.DomainCapsCPUMode {
	m := spec.DomainCapsCPUMode{Name: "host-model", Supported: "yes"}
	if c == nil {
		m.Models = []spec.DomainCapsCPUModel{{Fallback: "forbid", Name: name}}
		return m
	}
	m.Models = []spec.DomainCapsCPUModel{{Fallback: c.Model.Fallback, Name: c.Model.Value}}
	m.Vendor, m.Features = c.Vendor, c.Features
	return m
}

func featuresOf(fam family, virtType string) spec.DomainCapsFeatures {
	yes, no := &spec.Supported{Supported: "yes"}, &spec.Supported{Supported: "no"}
	f := spec.DomainCapsFeatures{
		GIC: spec.Device(false), VMCoreInfo: yes, GenID: no, BackingStoreInput: yes, Backup: no, SEV: no, SGX: no, HyperV: spec.Device(false),
	}
	if fam.pci() {
		f.GenID = yes
	}
	if virtType == "kvm" { // without KVM, QEMU takes most of them and does nothing
		f.HyperV = spec.Device(true, spec.Enum("features", enlightenments()...))
	}
	return f
}
