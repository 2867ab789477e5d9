package qemu

import (
	"cmp"
	"slices"

	"taproom/internal/qemu/qmp"
)

// Capabilities are what one QEMU binary can do, as it says itself. All lists are sorted.
type Capabilities struct {
	Version qmp.Version `json:"version"`
	Arch    string      `json:"arch"`    // "x86_64"
	Sandbox bool        `json:"sandbox"` // it was built with seccomp
	Accels  []string    `json:"accels"`  // built in, not necessarily usable: "kvm", "tcg"

	Machines []Machine        `json:"machines"`
	CPUs     map[string][]CPU `json:"cpus"` // by accelerator; those that were asked
	// Definitions are what the processors consist of, by accelerator, with the one that has everything a guest can get.
	Definitions map[string][]CPUDefinition `json:"definitions"`
	Devices     []string                   `json:"devices"`
	Objects     []string                   `json:"objects"`
	Chardevs    []string                   `json:"chardevs"` // types of character devices, with those of modules: "chardev-spicevmc"
	Commands    []string                   `json:"commands"` // of the monitor
}

// Machine is a machine type.
type Machine struct {
	Name       string `json:"name"`
	Alias      string `json:"alias,omitempty"` // "pc" of the newest pc-i440fx
	Default    bool   `json:"is-default,omitempty"`
	CPUMax     int    `json:"cpu-max"`
	HotplugCPU bool   `json:"hotpluggable-cpus,omitempty"`
	Deprecated bool   `json:"deprecated,omitempty"`
	DefaultCPU string `json:"default-cpu-type,omitempty"`
}

// CPU is a CPU model.
type CPU struct {
	Name        string   `json:"name"`
	Deprecated  bool     `json:"deprecated,omitempty"`
	Unavailable []string `json:"unavailable-features,omitempty"` // what the accelerator cannot give it; none: usable
	Static      bool     `json:"static,omitempty"`
}

// Usable reports whether the accelerator gives the model all its features.
func (c CPU) Usable() bool { return len(c.Unavailable) == 0 }

// Machine finds a machine type by its name or its alias. The name in the answer is the versioned one, which a guest keeps
// through upgrades.
func (c *Capabilities) Machine(name string) (Machine, bool) {
	for _, m := range c.Machines {
		if m.Name == name || m.Alias == name && name != "" {
			return m, true
		}
	}
	return Machine{}, false
}

// DefaultMachine is what QEMU would take by itself.
func (c *Capabilities) DefaultMachine() (Machine, bool) {
	i := slices.IndexFunc(c.Machines, func(m Machine) bool { return m.Default })
	if i < 0 {
		return Machine{}, false
	}
	return c.Machines[i], true
}

// HasDevice reports whether the binary has a device type ("virtio-net-pci").
func (c *Capabilities) HasDevice(name string) bool { return has(c.Devices, name) }

// HasObject reports whether the binary has an object type that a user may create ("rng-random").
func (c *Capabilities) HasObject(name string) bool { return has(c.Objects, name) }

// HasCommand reports whether the monitor has a command.
func (c *Capabilities) HasCommand(name string) bool { return has(c.Commands, name) }

// HasAccel reports whether an accelerator was built in ("kvm"). It may still not work on this host.
func (c *Capabilities) HasAccel(name string) bool { return has(c.Accels, name) }

func has(sorted []string, name string) bool {
	_, found := slices.BinarySearch(sorted, name)
	return found
}

// sort gives every list its order: QEMU's own follows a hash table.
func (c *Capabilities) sort() {
	for _, l := range [][]string{c.Accels, c.Devices, c.Objects, c.Chardevs, c.Commands} {
		slices.Sort(l)
	}
	slices.SortFunc(c.Machines, func(a, b Machine) int { return cmp.Compare(a.Name, b.Name) })
	for _, l := range c.Definitions {
		slices.SortFunc(l, func(a, b CPUDefinition) int { return cmp.Compare(a.Name, b.Name) })
	}
	for _, l := range c.CPUs {
		slices.SortFunc(l, func(a, b CPU) int { return cmp.Compare(a.Name, b.Name) })
		for i := range l {
			if len(l[i].Unavailable) == 0 {
				l[i].Unavailable = nil // the same from QEMU and from the cache
			}
		}
	}
}
