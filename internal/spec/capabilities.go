package spec

// Capabilities is the <capabilities> document (libvirt, formatcaps.html): what this host is and which guests it runs.
type Capabilities struct {
	Host   CapsHost    `xml:"host"`
	Guests []CapsGuest `xml:"guest"`
}

// Format returns the document in libvirt's layout.
func (c *Capabilities) Format() []byte { return formatDocument("capabilities", c) }

// CapsHost is the machine itself.
type CapsHost struct {
	UUID            *UUID            `xml:"uuid"`
	CPU             CapsCPU          `xml:"cpu"`
	PowerManagement *PowerManagement `xml:"power_management"`
	IOMMU           *Supported       `xml:"iommu"`
	Migration       *CapsMigration   `xml:"migration_features"`
	Topology        *CapsTopology    `xml:"topology"`
	SecModels       []SecModel       `xml:"secmodel"`
}

// CapsCPU is the host's processor. Model and Vendor may be empty where they are not known.
type CapsCPU struct {
	Arch     string           `xml:"arch,omitempty"`
	Model    string           `xml:"model,omitempty"`
	Vendor   string           `xml:"vendor,omitempty"`
	Topology *Topology        `xml:"topology"`
	Features []CapsCPUFeature `xml:"feature"`
	Pages    []CapsPages      `xml:"pages"`
}

// CapsCPUFeature is a flag that the host has beyond its model.
type CapsCPUFeature struct {
	Name string `xml:"name,attr"`
}

// CapsPages is a page size of the host.
type CapsPages struct {
	Unit string `xml:"unit,attr"`
	Size string `xml:"size,attr"`
}

// PowerManagement lists the sleep states the host can enter.
type PowerManagement struct {
	SuspendMem    *Flag `xml:"suspend_mem"`
	SuspendDisk   *Flag `xml:"suspend_disk"`
	SuspendHybrid *Flag `xml:"suspend_hybrid"`
}

// Flag is an element whose presence is the statement.
type Flag struct{}

// Supported is supported='yes|no' or, in capabilities, support='yes|no'.
type Supported struct {
	Supported string `xml:"supported,attr,omitempty"`
	Support   string `xml:"support,attr,omitempty"`
}

// CapsMigration says how guests migrate; nil where they do not.
type CapsMigration struct {
	Live *Flag `xml:"live"`
}

// CapsTopology is the host's NUMA cells.
type CapsTopology struct {
	Cells CapsCells `xml:"cells"`
}

// CapsCells is the list of cells; Num must be their number, which clients check.
type CapsCells struct {
	Num   string     `xml:"num,attr"`
	Cells []CapsCell `xml:"cell"`
}

// CapsCell is one NUMA cell.
type CapsCell struct {
	ID     string   `xml:"id,attr"`
	Memory *Memory  `xml:"memory"`
	CPUs   CapsCPUs `xml:"cpus"`
}

// CapsCPUs is the processors of a cell; Num must be their number.
type CapsCPUs struct {
	Num  string        `xml:"num,attr"`
	CPUs []CapsCellCPU `xml:"cpu"`
}

// CapsCellCPU is one logical processor and where it sits.
type CapsCellCPU struct {
	ID       string `xml:"id,attr"`
	SocketID string `xml:"socket_id,attr,omitempty"`
	DieID    string `xml:"die_id,attr,omitempty"`
	CoreID   string `xml:"core_id,attr,omitempty"`
	Siblings string `xml:"siblings,attr,omitempty"`
}

// SecModel is a way guests are confined: none, dac, taproom.
type SecModel struct {
	Model      string      `xml:"model"`
	DOI        string      `xml:"doi"`
	BaseLabels []BaseLabel `xml:"baselabel"`
}

// BaseLabel is the label a security model gives a guest of one domain type.
type BaseLabel struct {
	Type  string `xml:"type,attr"`
	Value string `xml:",chardata"`
}

// CapsGuest is one kind of guest: an operating-system type on an architecture.
type CapsGuest struct {
	OSType   string         `xml:"os_type"`
	Arch     CapsArch       `xml:"arch"`
	Features *GuestFeatures `xml:"features"`
}

// CapsArch is a guest architecture and what runs it.
type CapsArch struct {
	Name     string        `xml:"name,attr"`
	WordSize string        `xml:"wordsize"`
	Emulator string        `xml:"emulator,omitempty"`
	Machines []CapsMachine `xml:"machine"`
	Domains  []CapsDomain  `xml:"domain"`
}

// CapsMachine is a machine type; Canonical is the versioned name behind an alias such as pc or q35.
type CapsMachine struct {
	Canonical  string `xml:"canonical,attr,omitempty"`
	MaxCPUs    string `xml:"maxCpus,attr,omitempty"`
	Deprecated string `xml:"deprecated,attr,omitempty"`
	Name       string `xml:",chardata"`
}

// CapsDomain is a virtualisation type: qemu (emulated) or kvm. Emulator and Machines only where they differ.
type CapsDomain struct {
	Type     string        `xml:"type,attr"`
	Emulator string        `xml:"emulator,omitempty"`
	Machines []CapsMachine `xml:"machine"`
}

// GuestFeatures are what a guest of this kind can have or leave out.
type GuestFeatures struct {
	PAE          *Flag          `xml:"pae"`
	NonPAE       *Flag          `xml:"nonpae"`
	ACPI         *FeatureToggle `xml:"acpi"`
	APIC         *FeatureToggle `xml:"apic"`
	CPUSelection *Flag          `xml:"cpuselection"`
	DeviceBoot   *Flag          `xml:"deviceboot"`
	DiskSnapshot *FeatureToggle `xml:"disksnapshot"`
}

// FeatureToggle is a feature's default, and whether a document may change it (Toggle yes or no).
type FeatureToggle struct {
	Default string `xml:"default,attr"`
	Toggle  string `xml:"toggle,attr"`
}
