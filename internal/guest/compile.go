package guest

import (
	"strconv"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// Compile turns a completed document into a QEMU command line. It opens nothing; what has to be opened is listed in
// Needs. The same document and Runtime always give the same command line.
func Compile(d *spec.Domain, rt Runtime) (*Compiled, error) {
	if d.Devices == nil || d.UUID == nil || d.Memory == nil || d.VCPU == nil || d.CPU == nil || d.Clock == nil || d.Devices.MemBalloon == nil {
		return nil, invalid("domain", "%s was not completed", d.Name)
	}
	fam, err := familyOf(d.OS.Type.Machine)
	if err != nil {
		return nil, err
	}
	d = d.Clone()
	setAliases(d, fam)
	c := &compiler{d: d, dev: d.Devices, rt: rt, fam: fam, out: &Compiled{Config: &qemu.Config{}}, boot: map[string]int{}, noIO: reservesNoIO(d)}
	c.vectors, c.fewer = nicVectors(d)
	c.cfg = c.out.Config
	c.out.Pins = Pins{FDSets: map[string]int{}, Boot: rt.Pins.Boot, VCPUs: rt.Pins.VCPUs, Added: rt.Pins.Added, Made: rt.Pins.Made}
	steps := []func() error{
		c.machine, c.firmware, c.processor, c.addedVCPUs, c.memory, c.threads, c.identification, c.clock, c.osBoot, c.bootIndexes,
		c.controllers, c.hubs, c.ccidReaders, c.disks, c.filesystems, c.interfaces, c.smartcards, c.serials, c.parallels, c.channels, c.consoles,
		c.inputs, c.tpms, c.graphics, c.audios, c.sounds, c.videos, c.redirections, c.watchdogs, c.balloon, c.rngs, c.panics, c.vsock,
		c.options, c.passthrough,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c.out, nil
}

// compiler carries one Compile.
type compiler struct {
	d    *spec.Domain
	dev  *spec.Devices
	rt   Runtime
	fam  family
	out  *Compiled
	cfg  *qemu.Config
	boot map[string]int // bootindex by alias
	noIO bool           // root ports reserve no I/O space

	vectors int  // interrupts by message of each virtio NIC
	fewer   bool // they have so many, and not what they would
}

func (c *compiler) kvm() bool { return c.rt.Accel == "kvm" }

func (c *compiler) need(n Need) { c.out.Needs = append(c.out.Needs, n) }

func (c *compiler) taint(name string) { c.out.Taints = append(c.out.Taints, name) }

func (c *compiler) flag(name string, v qemu.Option) {
	c.cfg.Flags = append(c.cfg.Flags, qemu.Flag{Name: name, Value: v})
}

// fdset makes a set and returns the path by which QEMU opens it.
func (c *compiler) fdset(needs ...Need) string {
	set := qemu.FDSet{ID: c.fdsetNumber(needs[0])}
	for _, n := range needs {
		n.Name = "fdset" + strconv.Itoa(set.ID)
		if n.Access == ReadOnly {
			n.Name += "-ro"
			set.ReadOnly = n.Name
		} else {
			n.Name += "-rw"
			set.ReadWrite = n.Name
		}
		c.need(n)
	}
	c.cfg.FDSets = append(c.cfg.FDSets, set)
	return set.Path()
}

// fdsetNumber is the number that the run has for what is needed, or one that neither this run nor this configuration has
// for anything: QEMU keeps a set for as long as a device has it open.
func (c *compiler) fdsetNumber(n Need) int {
	what := n.Device + ": " + n.Path
	for c.out.Pins.FDSets[what] != 0 { // twice in one document
		what += "+"
	}
	id := c.rt.Pins.FDSets[what]
	if id == 0 {
		for _, pins := range []map[string]int{c.rt.Pins.FDSets, c.out.Pins.FDSets} {
			for _, used := range pins {
				id = max(id, used)
			}
		}
		id++
	}
	c.out.Pins.FDSets[what] = id
	return id
}

// device appends a device with its place.
func (c *compiler) device(p qemu.Props, a *spec.Address) error {
	place, err := c.place(a)
	if err != nil {
		return err
	}
	c.cfg.Devices = append(c.cfg.Devices, append(p, place...))
	return nil
}

// virtio is the name of a virtio device on this machine's bus.
func (c *compiler) virtio(kind, model string) string {
	switch {
	case !c.fam.pci():
		return kind + "-device"
	case model == "virtio-transitional", model == "virtio-non-transitional":
		return kind + "-pci" + model[len("virtio"):]
	}
	return kind + "-pci"
}

// place renders an address as bus and addr properties.
func (c *compiler) place(a *spec.Address) (qemu.Props, error) {
	if a == nil {
		return nil, nil
	}
	switch a.Type {
	case "pci":
		p, _, err := readPlace(a, "device")
		if err != nil {
			return nil, err
		}
		addr := "0x" + strconv.FormatInt(int64(p.slot), 16)
		if p.function != 0 {
			addr += ".0x" + strconv.FormatInt(int64(p.function), 16)
		}
		props := qemu.Props{{Key: "bus", Value: c.pciBus(p.bus)}}
		if a.MultiFunction == "on" {
			props = append(props, qemu.Property{Key: "multifunction", Value: true})
		}
		return append(props, qemu.Property{Key: "addr", Value: addr}), nil
	case "usb":
		n, err := number(a.Bus)
		return qemu.Props{{Key: "bus", Value: usbAlias(n) + ".0"}, {Key: "port", Value: a.Port}}, err
	}
	return nil, nil // virtio-mmio, isa: QEMU finds the place
}

func (c *compiler) pciBus(n int) string {
	if n == 0 {
		return c.fam.bus0
	}
	return "pci." + strconv.Itoa(n)
}
