package spec

import "encoding/xml"

// Domain is a <domain> document (libvirt, formatdomain.html). Field order is the order libvirt formats in.
type Domain struct {
	XMLName         xml.Name         `xml:"domain"`
	Type            string           `xml:"type,attr"`         // kvm or qemu
	ID              string           `xml:"id,attr,omitempty"` // live documents only
	Name            string           `xml:"name"`
	UUID            *UUID            `xml:"uuid"`
	GenID           *GenID           `xml:"genid"`
	Title           string           `xml:"title,omitempty"`
	Description     string           `xml:"description,omitempty"`
	Metadata        *Metadata        `xml:"metadata"`
	MaxMemory       *MaxMemory       `xml:"maxMemory"`
	Memory          *Memory          `xml:"memory"`
	CurrentMemory   *Memory          `xml:"currentMemory"`
	BlkIOTune       *BlkIOTune       `xml:"blkiotune"`
	MemTune         *MemTune         `xml:"memtune"`
	MemoryBacking   *MemoryBacking   `xml:"memoryBacking"`
	VCPU            *VCPU            `xml:"vcpu"`
	VCPUs           *VCPUList        `xml:"vcpus"`
	IOThreads       string           `xml:"iothreads,omitempty"`
	IOThreadIDs     *IOThreadIDs     `xml:"iothreadids"`
	DefaultIOThread *DefaultIOThread `xml:"defaultiothread"`
	CPUTune         *CPUTune         `xml:"cputune"`
	NUMATune        *NUMATune        `xml:"numatune"`
	Resource        *Resource        `xml:"resource"`
	Sysinfo         []Sysinfo        `xml:"sysinfo"`
	OS              OS               `xml:"os"`
	Features        *Features        `xml:"features"`
	CPU             *CPU             `xml:"cpu"`
	Clock           *Clock           `xml:"clock"`
	OnPoweroff      string           `xml:"on_poweroff,omitempty"` // destroy, restart, preserve, rename-restart
	OnReboot        string           `xml:"on_reboot,omitempty"`
	OnCrash         string           `xml:"on_crash,omitempty"`
	PM              *PM              `xml:"pm"`
	Devices         *Devices         `xml:"devices"`
	SecLabels       []SecLabel       `xml:"seclabel"`
	QEMU            *QEMUCommand     `xml:"qemu:commandline"`
	Extra
}

// Metadata is kept byte for byte: it belongs to applications.
type Metadata struct {
	Attrs []xml.Attr `xml:",any,attr"`
	Inner string     `xml:",innerxml"`
}

// Memory is an amount; Unit defaults to KiB (b, bytes, KB, k, KiB, MB, M, MiB, GB, G, GiB, TB, T, TiB).
type Memory struct {
	Unit  string `xml:"unit,attr,omitempty"`
	Value string `xml:",chardata"`
	Extra
}

// VCPU is the maximum number of virtual CPUs; Current, where given, is how many are plugged at start.
type VCPU struct {
	Placement string `xml:"placement,attr,omitempty"`
	CPUSet    string `xml:"cpuset,attr,omitempty"`
	Current   string `xml:"current,attr,omitempty"`
	Value     string `xml:",chardata"`
	Extra
}

// Resource is <resource>, where a guest's cgroup hangs.
type Resource struct {
	Partition string `xml:"partition,omitempty"`
	Extra
}

// OS says what the guest boots and on which machine.
type OS struct {
	Firmware     string      `xml:"firmware,attr,omitempty"` // bios, efi
	Type         OSType      `xml:"type"`
	FirmwareInfo *OSFirmware `xml:"firmware"`
	Loader       *Loader     `xml:"loader"`
	NVRAM        *NVRAM      `xml:"nvram"`
	Kernel       string      `xml:"kernel,omitempty"`
	Initrd       string      `xml:"initrd,omitempty"`
	Cmdline      string      `xml:"cmdline,omitempty"`
	DTB          string      `xml:"dtb,omitempty"`
	Boot         []OSBoot    `xml:"boot"`
	BootMenu     *BootMenu   `xml:"bootmenu"`
	SMBIOS       *Element    `xml:"smbios"`
	BIOS         *BIOS       `xml:"bios"`
	Extra
}

// OSType is hvm on an architecture and a machine.
type OSType struct {
	Arch    string `xml:"arch,attr,omitempty"`
	Machine string `xml:"machine,attr,omitempty"`
	Value   string `xml:",chardata"`
	Extra
}

// OSBoot is one entry of the old boot order: fd, hd, cdrom or network.
type OSBoot struct {
	Dev string `xml:"dev,attr"`
	Extra
}

// BootMenu is the firmware's boot menu; Timeout is in milliseconds.
type BootMenu struct {
	Enable  string `xml:"enable,attr"`
	Timeout string `xml:"timeout,attr,omitempty"`
	Extra
}

// BIOS is <bios useserial= rebootTimeout=>.
type BIOS struct {
	UseSerial     string `xml:"useserial,attr,omitempty"`
	RebootTimeout string `xml:"rebootTimeout,attr,omitempty"`
	Extra
}

// Features are switches; a pointer to State that is nil was not written.
type Features struct {
	ACPI   *State       `xml:"acpi"`
	APIC   *APIC        `xml:"apic"`
	PAE    *State       `xml:"pae"`
	HAP    *State       `xml:"hap"`
	HyperV *HyperV      `xml:"hyperv"`
	KVM    *KVMFeatures `xml:"kvm"`
	PVSpin *State       `xml:"pvspinlock"`
	PMU    *State       `xml:"pmu"`
	VMPort *State       `xml:"vmport"`
	SMM    *State       `xml:"smm"`
	IOAPIC *Element     `xml:"ioapic"`
	VMCore *State       `xml:"vmcoreinfo"`
	Extra
}

// State is an element whose presence is the statement, optionally with state='on|off'.
type State struct {
	State string `xml:"state,attr,omitempty"`
	Extra
}

// CPU is the guest's processor.
type CPU struct {
	Mode       string       `xml:"mode,attr,omitempty"` // custom, host-model, host-passthrough, maximum
	Match      string       `xml:"match,attr,omitempty"`
	Check      string       `xml:"check,attr,omitempty"`
	Migratable string       `xml:"migratable,attr,omitempty"`
	Model      *CPUModel    `xml:"model"`
	Vendor     string       `xml:"vendor,omitempty"`
	Topology   *Topology    `xml:"topology"`
	Cache      *CPUCache    `xml:"cache"`
	MaxPhys    *Element     `xml:"maxphysaddr"`
	Features   []CPUFeature `xml:"feature"`
	NUMA       *NUMA        `xml:"numa"`
	Extra
}

// CPUModel names a model QEMU knows; Fallback allow or forbid.
type CPUModel struct {
	Fallback string `xml:"fallback,attr,omitempty"`
	VendorID string `xml:"vendor_id,attr,omitempty"`
	Value    string `xml:",chardata"`
	Extra
}

// Topology must multiply to the number of virtual CPUs.
type Topology struct {
	Sockets  string `xml:"sockets,attr"`
	Dies     string `xml:"dies,attr,omitempty"`
	Clusters string `xml:"clusters,attr,omitempty"`
	Cores    string `xml:"cores,attr"`
	Threads  string `xml:"threads,attr"`
	Extra
}

// CPUFeature is one flag and its policy: force, require, optional, disable, forbid.
type CPUFeature struct {
	Policy string `xml:"policy,attr,omitempty"`
	Name   string `xml:"name,attr"`
	Extra
}

// Clock is the guest's time base.
type Clock struct {
	Offset     string  `xml:"offset,attr"` // utc, localtime, timezone, variable, absolute
	Adjustment string  `xml:"adjustment,attr,omitempty"`
	Basis      string  `xml:"basis,attr,omitempty"`
	Timezone   string  `xml:"timezone,attr,omitempty"`
	Start      string  `xml:"start,attr,omitempty"`
	Timers     []Timer `xml:"timer"`
	Extra
}

// Timer is one <timer>: rtc, pit, hpet, tsc, kvmclock, hypervclock.
type Timer struct {
	Name       string `xml:"name,attr"`
	TickPolicy string `xml:"tickpolicy,attr,omitempty"`
	Track      string `xml:"track,attr,omitempty"`
	Frequency  string `xml:"frequency,attr,omitempty"`
	Present    string `xml:"present,attr,omitempty"`
	Extra
}

// PM switches the ACPI sleep states.
type PM struct {
	SuspendToMem  *PMState `xml:"suspend-to-mem"`
	SuspendToDisk *PMState `xml:"suspend-to-disk"`
	Extra
}

// PMState is enabled='yes|no'.
type PMState struct {
	Enabled string `xml:"enabled,attr"`
	Extra
}

// SecLabel is <seclabel>; taproom's own model is "taproom" and dac.
type SecLabel struct {
	Type    string `xml:"type,attr,omitempty"`
	Model   string `xml:"model,attr,omitempty"`
	Relabel string `xml:"relabel,attr,omitempty"`
	Extra
}

// QEMUCommand is qemu:commandline: arguments passed through, which taint the guest.
type QEMUCommand struct {
	Args []QEMUArg `xml:"qemu:arg"`
	Envs []QEMUEnv `xml:"qemu:env"`
	Extra
}

// QEMUArg is one argument.
type QEMUArg struct {
	Value string `xml:"value,attr"`
	Extra
}

// QEMUEnv is one environment variable.
type QEMUEnv struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr,omitempty"`
	Extra
}
