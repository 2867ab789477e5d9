package guest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// SameMachine names the first difference that a guest would notice if it went on in another document's machine; nil when there
// is none. The locations of its disks' images and the host links of its NICs may differ: a guest sees the devices. Names of devices
// are not compared, except names that the documents choose themselves.
func SameMachine(saved, wanted *spec.Domain) error {
	switch {
	case saved.Name != wanted.Name:
		return fmt.Errorf("it is of domain '%s'", wanted.Name)
	case *saved.UUID != *wanted.UUID:
		return fmt.Errorf("its uuid is %s, and was %s", wanted.UUID, saved.UUID)
	}
	a, err := renamed(saved)
	if err != nil {
		return err
	}
	b, err := renamed(wanted)
	if err != nil {
		return err
	}
	return DifferentMachine(a, b)
}

// Inherit fills in values that a document in place of the saved document may leave out, because earlier builds and most
// documents do not contain them: which virtual CPUs were plugged in, and the addresses of memory modules.
func Inherit(saved, wanted *spec.Domain) {
	a, errA := saved.OnlineVCPUs()
	b, errB := wanted.OnlineVCPUs()
	if wanted.VCPUs == nil && errA == nil && errB == nil && a == b {
		wanted.VCPUs = saved.VCPUs
	}
	for i := range wanted.Devices.Memories {
		m := &wanted.Devices.Memories[i]
		for _, o := range saved.Devices.Memories {
			if m.Address != nil && o.Address != nil && m.Address.Base == "" && m.Address.Slot == o.Address.Slot {
				m.Address.Base = o.Address.Base
			}
		}
	}
}

// DifferentMachine names the first difference between two command lines that a guest notices, or that QEMU notices when it
// reads a state that was written under the first under the second; nil when there is none. Backends are the host's side.
func DifferentMachine(a, b *qemu.Config) error {
	for _, part := range []struct {
		name string
		a, b qemu.Option
	}{
		{"machine", a.Machine, b.Machine},
		{"processor", a.CPU, b.CPU},
		{"number of processors", a.SMP, b.SMP},
		{"memory", a.Memory, b.Memory},
	} {
		if text(part.a) != text(part.b) {
			return fmt.Errorf("the %s is %s, and was %s", part.name, text(part.b), text(part.a))
		}
	}
	if a.MemoryMB != b.MemoryMB {
		return fmt.Errorf("the memory is %d MiB, and was %d MiB", b.MemoryMB, a.MemoryMB)
	}
	for _, list := range []struct {
		name string
		a, b map[string]string
	}{
		{"device", devicesSeen(a), devicesSeen(b)},
		{"piece of memory", memorySeen(a), memorySeen(b)},
		{"option", flagsSeen(a), flagsSeen(b)},
	} {
		if err := sameList(list.name, list.a, list.b); err != nil {
			return err
		}
	}
	return nil
}

// renamed is a guest's command line with the names that its devices would have if nothing had come or gone.
func renamed(d *spec.Domain) (*qemu.Config, error) {
	fam, err := familyOf(d.OS.Type.Machine)
	if err != nil {
		return nil, err
	}
	d = d.Clone()
	dropAliases(d, fam)
	setAliases(d, fam)
	return neutral(d)
}

// neutral is a guest's command line on no host in particular.
func neutral(d *spec.Domain) (*qemu.Config, error) {
	rt := Runtime{
		Accel: "tcg", Dir: "/run", QMP: "qmp", NICs: make([]NICRuntime, len(d.Devices.Interfaces)), Now: time.Unix(0, 0), MemoryDir: "/mem",
		CID: 3, // where the document leaves it open, it is not the guest's to keep
	}
	if d.Type == "kvm" {
		rt.Accel = "kvm"
	}
	for range d.Devices.Graphics {
		rt.Displays = append(rt.Displays, DisplayRuntime{Port: 5900, WebSocket: 5700, Address: "127.0.0.1"})
	}
	for i := range rt.NICs {
		rt.NICs[i].Tap = fmt.Sprintf("tap%d", i)
	}
	c, err := Compile(d, rt)
	if err != nil {
		return nil, err
	}
	return c.Config, nil
}

// sameList compares two lists of parts that a guest sees, by name.
func sameList(kind string, a, b map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(b)) {
		switch was, ok := a[name]; {
		case !ok:
			return fmt.Errorf("there is a %s %s, which was not there", kind, name)
		case was != b[name]:
			return fmt.Errorf("%s %s is %s, and was %s", kind, name, b[name], was)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if _, ok := b[name]; !ok {
			return fmt.Errorf("there is no %s %s, which was there", kind, name)
		}
	}
	return nil
}

// devicesSeen are the devices by name. Devices of the same kind that have no name are numbered.
func devicesSeen(c *qemu.Config) map[string]string {
	out := map[string]string{}
	for _, p := range c.Devices {
		name := deviceName(p)
		for n := 2; out[name] != ""; n++ {
			name = deviceName(p) + " " + strconv.Itoa(n)
		}
		out[name] = text(qemu.Option{Props: seen(p)})
	}
	return out
}

// memorySeen are the sizes of the pieces of memory: a state has their content by these names.
func memorySeen(c *qemu.Config) map[string]string {
	out := map[string]string{}
	for _, p := range c.Objects {
		id, size := p.Get("id"), p.Get("size")
		if size != nil && id != "pc.ram" { // that of the machine is called so with and without an object
			out[fmt.Sprint(id)] = fmt.Sprint(size)
		}
	}
	return out
}

// flagsSeen are the options that make a part of the machine.
func flagsSeen(c *qemu.Config) map[string]string {
	out := map[string]string{}
	for _, f := range c.Flags {
		if f.Name == "-global" || f.Name == "-numa" {
			out[f.Name+text(f.Value)] = "set"
		}
	}
	return out
}

// deviceName is what QEMU calls a device: its ID, or its kind where there is one of it.
func deviceName(p qemu.Props) string {
	if id, ok := p.Get("id").(string); ok {
		return id
	}
	return fmt.Sprint(p.Get("driver"))
}

// seen are the properties of a device that a guest sees. The others are this side's: who boots first matters to firmware
// only, and whether writes are cached is negotiated.
func seen(p qemu.Props) qemu.Props {
	var out qemu.Props
	for _, q := range p {
		switch q.Key {
		case "bootindex", "write-cache", "vhost":
		default:
			out = append(out, q)
		}
	}
	return out
}

// text is an option in words that two can be compared by.
func text(o qemu.Option) string { return fmt.Sprint(o.Head, " ", o.Props) }
