package spec

import "strings"

// DomainCapabilities is the <domainCapabilities> document (libvirt, formatdomaincaps.html): what one emulator offers on
// one machine. Clients choose devices by it.
type DomainCapabilities struct {
	Path          string             `xml:"path"`
	Domain        string             `xml:"domain"`
	Machine       string             `xml:"machine,omitempty"`
	Arch          string             `xml:"arch"`
	VCPU          *DomainCapsVCPU    `xml:"vcpu"`
	IOThreads     *Supported         `xml:"iothreads"`
	OS            DomainCapsOS       `xml:"os"`
	CPU           DomainCapsCPU      `xml:"cpu"`
	MemoryBacking *DomainCapsDevice  `xml:"memoryBacking"`
	Devices       DomainCapsDevices  `xml:"devices"`
	Features      DomainCapsFeatures `xml:"features"`
}

// Format returns the document in libvirt's layout.
func (c *DomainCapabilities) Format() []byte { return formatDocument("domainCapabilities", c) }

// DomainCapsVCPU is the largest number of virtual processors.
type DomainCapsVCPU struct {
	Max string `xml:"max,attr"`
}

// DomainCapsEnum lists the values an attribute may take.
type DomainCapsEnum struct {
	Name   string            `xml:"name,attr"`
	Values []DomainCapsValue `xml:"value"`
}

// DomainCapsValue is one value.
type DomainCapsValue struct {
	Value string `xml:",chardata"`
}

// Enum builds the list of values of an attribute.
func Enum(name string, values ...string) DomainCapsEnum {
	e := DomainCapsEnum{Name: name}
	for _, v := range values {
		e.Values = append(e.Values, DomainCapsValue{v})
	}
	return e
}

// DomainCapsOS is how guests boot: the firmware that can be chosen by name, and loaders named by path.
type DomainCapsOS struct {
	Supported string            `xml:"supported,attr"`
	Enums     []DomainCapsEnum  `xml:"enum"`
	Loader    *DomainCapsLoader `xml:"loader"`
}

// DomainCapsLoader is the support for <loader>; Values are known firmware files.
type DomainCapsLoader struct {
	Supported string            `xml:"supported,attr"`
	Values    []DomainCapsValue `xml:"value"`
	Enums     []DomainCapsEnum  `xml:"enum"`
}

// DomainCapsCPU lists the modes in libvirt's order: host-passthrough, maximum, host-model, custom.
type DomainCapsCPU struct {
	Modes []DomainCapsCPUMode `xml:"mode"`
}

// DomainCapsCPUMode is one mode of <cpu>. Models are for host-model (one, with Fallback) and custom (all of them).
type DomainCapsCPUMode struct {
	Name      string               `xml:"name,attr"`
	Supported string               `xml:"supported,attr"`
	Enums     []DomainCapsEnum     `xml:"enum"`
	Models    []DomainCapsCPUModel `xml:"model"`
	Vendor    string               `xml:"vendor,omitempty"`
	Features  []CPUFeature         `xml:"feature"`
}

// DomainCapsCPUModel is a model; Usable yes, no or unknown: whether this host can run it.
type DomainCapsCPUModel struct {
	Fallback   string `xml:"fallback,attr,omitempty"`
	Usable     string `xml:"usable,attr,omitempty"`
	Deprecated string `xml:"deprecated,attr,omitempty"`
	Vendor     string `xml:"vendor,attr,omitempty"`
	Name       string `xml:",chardata"`
}

// DomainCapsDevice is a kind of device (or memoryBacking): supported or not, and what may be chosen.
type DomainCapsDevice struct {
	Supported string           `xml:"supported,attr"`
	Enums     []DomainCapsEnum `xml:"enum"`
}

// Device builds the statement about a kind of device; it is supported if anything can be chosen.
func Device(supported bool, enums ...DomainCapsEnum) *DomainCapsDevice {
	if !supported {
		return &DomainCapsDevice{Supported: "no"}
	}
	return &DomainCapsDevice{Supported: "yes", Enums: enums}
}

// DomainCapsDevices are the kinds of devices, in libvirt's order.
type DomainCapsDevices struct {
	Disk       *DomainCapsDevice `xml:"disk"`
	Graphics   *DomainCapsDevice `xml:"graphics"`
	Video      *DomainCapsDevice `xml:"video"`
	Hostdev    *DomainCapsDevice `xml:"hostdev"`
	RNG        *DomainCapsDevice `xml:"rng"`
	Filesystem *DomainCapsDevice `xml:"filesystem"`
	TPM        *DomainCapsDevice `xml:"tpm"`
	Redirdev   *DomainCapsDevice `xml:"redirdev"`
	Channel    *DomainCapsDevice `xml:"channel"`
	Crypto     *DomainCapsDevice `xml:"crypto"`
	Interface  *DomainCapsDevice `xml:"interface"`
	Panic      *DomainCapsDevice `xml:"panic"`
	Console    *DomainCapsDevice `xml:"console"`
}

// DomainCapsFeatures are the other things a client may want to know.
type DomainCapsFeatures struct {
	GIC               *DomainCapsDevice `xml:"gic"`
	VMCoreInfo        *Supported        `xml:"vmcoreinfo"`
	GenID             *Supported        `xml:"genid"`
	BackingStoreInput *Supported        `xml:"backingStoreInput"`
	Backup            *Supported        `xml:"backup"`
	AsyncTeardown     *Supported        `xml:"async-teardown"`
	S390PV            *Supported        `xml:"s390-pv"`
	SEV               *Supported        `xml:"sev"`
	SGX               *Supported        `xml:"sgx"`
	HyperV            *DomainCapsDevice `xml:"hyperv"`
	LaunchSecurity    *DomainCapsDevice `xml:"launchSecurity"`
}

// YesNo is libvirt's form of a truth value.
func YesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// IsYes reads libvirt's truth values: yes and on (also in other cases) are true.
func IsYes(s string) bool { return strings.EqualFold(s, "yes") || strings.EqualFold(s, "on") }
