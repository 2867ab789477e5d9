package guest

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"taproom/internal/guest/firmware"
	"taproom/internal/spec"
)

// HostFacts is what Complete has to know of the host: plain data, gathered once per QEMU binary.
type HostFacts struct {
	Arch           string // the guests' architecture, as QEMU names it: x86_64
	Emulator       string // path of the binary used when a document names none
	Machines       []Machine
	DefaultMachine string // alias or name for a document without one; empty means "pc"
	DefaultCPU     string // processor for a document without one; empty means "qemu64"
	// KVM is nil where type='kvm' can be run, and otherwise says why it cannot.
	KVM error
	// ChannelDirs are folders in which host sides of channels are made up at start. A path below one of them that came
	// back with a live document is dropped, so that the next start makes up its own.
	ChannelDirs []string
	// Firmware are the descriptors of UEFI firmware. It is asked when a document wants some; nil: there are none.
	Firmware func() firmware.List
	// NVRAMDir is where files with variables of firmware go that a document gives no place.
	NVRAMDir string
	// NVRAMTaken reports whether another guest than the one with the UUID has its variables in a file; nil: none has.
	NVRAMTaken func(path string, of spec.UUID) bool
	// Devices and Chardevs are what the emulator has, by QEMU's names, sorted; nil: nobody asked it, and all are taken to be there.
	Devices, Chardevs []string
	// NewMAC and NewUUID replace the random ones in tests.
	NewMAC  func() string
	NewUUID func() spec.UUID
}

// Machine is one machine type of the emulator.
type Machine struct {
	Name    string // versioned: pc-i440fx-7.2
	Alias   string // pc
	MaxCPUs int    // 0: unknown
}

// machine returns the versioned machine that a name or alias means.
func (f HostFacts) machine(name string) (Machine, bool) {
	for _, m := range f.Machines {
		if m.Name == name || m.Alias != "" && m.Alias == name {
			return m, true
		}
	}
	return Machine{}, false
}

func (f HostFacts) newUUID() spec.UUID {
	if f.NewUUID != nil {
		return f.NewUUID()
	}
	return spec.NewUUID()
}

// newMAC returns the address for a NIC that has none.
func (f HostFacts) newMAC() string {
	if f.NewMAC != nil {
		return f.NewMAC()
	}
	return NewMAC()
}

// NewMAC returns a random address below 52:54:00, the prefix QEMU and libvirt use.
func NewMAC() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand documentation, Go 1.24)
	return fmt.Sprintf("52:54:00:%02x:%02x:%02x", b[0], b[1], b[2])
}

// ownChannelPath reports whether a path was made up by us or by libvirt for an earlier run.
func (f HostFacts) ownChannelPath(path string) bool {
	if strings.HasPrefix(path, "/var/lib/libvirt/qemu/channel/") || strings.HasPrefix(path, "/run/libvirt/qemu/channel/") {
		return true
	}
	for _, dir := range f.ChannelDirs {
		if strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") {
			return true
		}
	}
	return false
}

// firmware returns the descriptors of UEFI firmware.
func (f HostFacts) firmware() firmware.List {
	if f.Firmware == nil {
		return firmware.List{}
	}
	return f.Firmware()
}

func (f HostFacts) hasDevice(name string) bool {
	return f.Devices == nil || slices.Contains(f.Devices, name)
}

func (f HostFacts) hasChardev(name string) bool {
	return f.Chardevs == nil || slices.Contains(f.Chardevs, name)
}
