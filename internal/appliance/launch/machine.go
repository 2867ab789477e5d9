package launch

import (
	"fmt"
	"strings"

	"taproom/internal/appliance/build"
	"taproom/internal/appliance/proto"
	"taproom/internal/host"
	"taproom/internal/qemu"
)

// memoryUse is what a machine's memory is.
type memoryUse int

const (
	ownMemory     memoryUse = iota // QEMU's alone
	frozenMemory                   // a file that keeps what the guest writes: a template's
	privateMemory                  // that file, and what the guest writes is its own: a clone's
)

// machine is all that the command line of an appliance depends on.
type machine struct {
	qemu   qemu.Installation
	files  build.Files
	kind   string // of machine: microvm, q35, pc
	accel  string
	memory uint64 // MiB
	nic    bool
}

// Sets of descriptors. Those of disks that are attached later come behind.
const (
	consoleSet = 1
	toolsSet   = 2
	firstSet   = 10
)

// Names of files in a Config.
const (
	agentFile   = "agent"
	monitorFile = "monitor"
	outputFile  = "output"
	memoryFile  = "memory"
	toolsFile   = "tools"
)

// kinds are the machines that appliances run on, the fastest first.
var kinds = []string{"microvm", "q35", "pc"}

// properties of each kind of machine, which leave out what an appliance has no use for: firmware finds less, the kernel boots
// faster.
func (m machine) properties() qemu.Props {
	switch m.kind {
	case "microvm":
		return qemu.Props{
			{Key: "acpi", Value: false},
			{Key: "pit", Value: true},
			{Key: "pic", Value: true},
			{Key: "rtc", Value: true},
			{Key: "auto-kernel-cmdline", Value: true},
			{Key: "isa-serial", Value: true},
		}
	case "q35":
		return qemu.Props{
			{Key: "vmport", Value: false},
			{Key: "usb", Value: false},
			{Key: "hpet", Value: false},
			{Key: "acpi", Value: false},
			{Key: "sata", Value: false},
			{Key: "smbus", Value: false},
		}
	}
	return qemu.Props{{Key: "vmport", Value: false}, {Key: "usb", Value: false}, {Key: "hpet", Value: false}, {Key: "acpi", Value: false}}
}

// device is a virtio device on whichever bus the machine has.
func (m machine) device(name string, props ...qemu.Property) qemu.Props {
	bus := "-pci"
	if m.kind == "microvm" {
		bus = "-device"
	}
	return append(qemu.Props{{Key: "driver", Value: name + bus}}, props...)
}

// config compiles the command line of an appliance.
func (m machine) config(use memoryUse) *qemu.Config {
	c := &qemu.Config{
		Binary: m.qemu.Binary, Env: m.qemu.Env, Firmware: m.qemu.Firmware, Name: "appliance", Disposable: true,
		Machine: qemu.Option{Head: m.kind, Props: m.properties()}, Accel: m.accelerator(), CPU: qemu.Option{Head: "max"},
		SMP: qemu.Option{Head: "1"}, MemoryMB: m.memory,
		Kernel: m.files.Kernel, Initrd: m.files.Initrd, ReadOnly: []string{m.files.Kernel, m.files.Initrd},
		FDSets: []qemu.FDSet{{ID: consoleSet, ReadWrite: outputFile}},
		Chardevs: []qemu.Chardev{
			{ID: "agent", Backend: "socket", Props: qemu.Props{{Key: "fd", Value: qemu.FD(agentFile)}}},
			{ID: "monitor", Backend: "socket", Props: qemu.Props{{Key: "fd", Value: qemu.FD(monitorFile)}}},
			// Appended, or QEMU would cut it to no length, which a pipe refuses.
			{ID: "console", Backend: "file", Props: qemu.Props{{Key: "path", Value: qemu.FDSet{ID: consoleSet}.Path()}, {Key: "append", Value: true}}},
		},
		Flags: []qemu.Flag{
			{Name: "-mon", Value: qemu.Option{Props: qemu.Props{{Key: "chardev", Value: "monitor"}, {Key: "mode", Value: "control"}}}},
			{Name: "-serial", Value: qemu.Option{Head: "chardev:console"}},
		},
	}
	cmdline := m.files.Cmdline
	if use != ownMemory {
		cmdline = m.files.TemplateCmdline
		m.backMemory(c, use)
	}
	c.Append = strings.Join(cmdline, " ")
	if m.kind == "microvm" { // what virtio 1.0 is called there
		c.Flags = append(c.Flags, qemu.Flag{Name: "-global", Value: qemu.Option{Head: "virtio-mmio.force-legacy=false"}})
	}
	m.devices(c)
	return c
}

// backMemory puts the machine's memory into a file.
func (m machine) backMemory(c *qemu.Config, use memoryUse) {
	c.Machine.Props = c.Machine.Props.With("memory-backend", "ram")
	c.Objects = append(c.Objects, qemu.Props{
		{Key: "qom-type", Value: "memory-backend-file"},
		{Key: "id", Value: "ram"},
		{Key: "size", Value: m.memory << 20},
		{Key: "mem-path", Value: qemu.FDPath(memoryFile)},
		{Key: "share", Value: use == frozenMemory},
	})
	c.Incoming = use == privateMemory
}

// devices has no generator of random numbers: the greeting seeds the kernel's, and a clone would do its driver's work for nothing.
func (m machine) devices(c *qemu.Config) {
	c.Devices = []qemu.Props{
		m.device("virtio-serial", qemu.Property{Key: "id", Value: "serial0"}, qemu.Property{Key: "max_ports", Value: 2}),
		{
			{Key: "driver", Value: "virtserialport"},
			{Key: "bus", Value: "serial0.0"},
			{Key: "chardev", Value: "agent"},
			{Key: "name", Value: proto.PortName},
		},
		m.device("virtio-scsi", qemu.Property{Key: "id", Value: "scsi0"}, qemu.Property{Key: "num_queues", Value: 1}),
	}
	if m.nic {
		m.nicDevices(c)
	}
	if m.files.Tools != "" {
		c.FDSets = append(c.FDSets, qemu.FDSet{ID: toolsSet, ReadOnly: toolsFile})
		c.Blockdevs = []qemu.Props{{
			{Key: "driver", Value: "file"},
			{Key: "node-name", Value: "tools"},
			{Key: "filename", Value: qemu.FDSet{ID: toolsSet}.Path()},
			// Nobody writes to them. QEMU's locks would find those of others who only read them, such as a User-Mode Linux's ("Failed to get
			// consistent read lock"), and a clone stays stopped then.
			{Key: "locking", Value: "off"},
			{Key: "read-only", Value: true},
			{Key: "auto-read-only", Value: false},
		}}
		c.Devices = append(c.Devices, scsiDisk(toolsID, 0, "tools", "taproom-tools"))
	}
}

// accelerator is what executes the guest's instructions. Translated code has room for what a kernel and a few tools need; a
// large cache would be memory that every clone fills on its own.
func (m machine) accelerator() qemu.Option {
	if m.accel == "tcg" {
		return qemu.Option{Head: "tcg", Props: qemu.Props{{Key: "thread", Value: "single"}, {Key: "tb-size", Value: 16}}}
	}
	return qemu.Option{Head: m.accel}
}

// clock is what a kernel that boots is told of its processor's counter. An emulated one is the host's, and on a busy host its
// frequency cannot be found out against an emulated timer: the kernel would not trust it, and tick a hundred times a second for
// as long as it lives, in all clones. It is no part of what a template depends on, as no two measurements are the same: that says whose counter it is.
func (m machine) clock() string {
	if m.accel != "tcg" {
		return ""
	}
	kHz, err := host.TSCFrequency()
	if err != nil { // the kernel does what it can
		return ""
	}
	return fmt.Sprintf(" tsc_early_khz=%d", kHz)
}

// SCSI targets of the appliance's controller.
const (
	toolsID    = 0 // disks come behind it
	lastDisk   = 254
	bulkTarget = 255
)

// scsiDisk is a disk on the appliance's controller.
func scsiDisk(target, unit int, node, serial string) qemu.Props {
	return qemu.Props{
		{Key: "driver", Value: "scsi-hd"},
		{Key: "id", Value: serial},
		{Key: "bus", Value: "scsi0.0"},
		{Key: "scsi-id", Value: target},
		{Key: "lun", Value: unit},
		{Key: "drive", Value: node},
		{Key: "serial", Value: serial},
	}
}
