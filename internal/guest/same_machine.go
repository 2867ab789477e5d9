package guest

import (
	"fmt"
	"time"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// SameMachine says what a guest would notice if it went on in another document's machine; nil when that is nothing. Where
// its disks' images are and what its NICs are plugged into may differ: a guest sees the devices.
func SameMachine(saved, wanted *spec.Domain) error {
	switch {
	case saved.Name != wanted.Name:
		return fmt.Errorf("it is of domain '%s'", wanted.Name)
	case *saved.UUID != *wanted.UUID:
		return fmt.Errorf("its uuid is %s, and was %s", wanted.UUID, saved.UUID)
	}
	a, err := neutral(saved)
	if err != nil {
		return err
	}
	b, err := neutral(wanted)
	if err != nil {
		return err
	}
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
	return sameDevices(a.Devices, b.Devices)
}

// neutral is a guest's command line on no host in particular.
func neutral(d *spec.Domain) (*qemu.Config, error) {
	rt := Runtime{Accel: "tcg", Dir: "/run", QMP: "qmp", NICs: make([]NICRuntime, len(d.Devices.Interfaces)), Now: time.Unix(0, 0)}
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

func sameDevices(a, b []qemu.Props) error {
	had := map[string]string{}
	for _, p := range a {
		had[deviceName(p)] = text(qemu.Option{Props: seen(p)})
	}
	for _, p := range b {
		name := deviceName(p)
		was, ok := had[name]
		switch now := text(qemu.Option{Props: seen(p)}); {
		case !ok:
			return fmt.Errorf("there is a device %s, which was not there", name)
		case was != now:
			return fmt.Errorf("device %s is %s, and was %s", name, now, was)
		}
		delete(had, name)
	}
	for _, p := range a {
		if name := deviceName(p); had[name] != "" {
			return fmt.Errorf("there is no device %s, which was there", name)
		}
	}
	return nil
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
