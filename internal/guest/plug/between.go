package plug

import (
	"fmt"
	"reflect"
	"slices"

	"taproom/internal/guest"
	"taproom/internal/qemu"
)

// FixedError is what cannot change while the guest runs.
type FixedError struct {
	What string // "device virtio-disk0", "the processor"
	Why  string
}

// Error implements error.
func (e *FixedError) Error() string {
	return e.What + " cannot be changed while the guest runs: " + e.Why
}

// Between is what leads a guest from one configuration to another: first what goes goes, the guest's side before the
// host's; then what comes comes, the host's side first. Two configurations that are the same have nothing between them.
func Between(from, to *guest.Compiled) ([]Step, error) {
	if err := fixed(from.Config, to.Config); err != nil {
		return nil, err
	}
	if err := served(from, to); err != nil {
		return nil, err
	}
	d := &difference{from: from.Config, to: to.Config}
	for _, part := range []func() error{
		d.devicesOut, d.mediaOut, d.backendsOut, d.backendsIn, d.mediaIn, d.devicesIn,
	} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	d.add(Threads(from.Config, to.Config)...)
	return append(d.steps, settings(from.Startup, to.Startup)...), nil
}

// served refuses what QEMU cannot be connected with while it runs: it looks for the descriptor of a connection to passt in a
// thread of its own, which knows no descriptors that came by the monitor (util/qemu-sockets.c, socket_get_fd).
func served(from, to *guest.Compiled) error {
	for _, c := range to.Companions {
		known := slices.ContainsFunc(from.Companions, func(o guest.Companion) bool { return o.Device == c.Device })
		if c.Passt != nil && !known {
			return &FixedError{What: "a NIC that passt serves", Why: "QEMU connects with passt at its start alone; plug it in with --config and start the guest again"}
		}
	}
	return nil
}

// difference carries one Between.
type difference struct {
	from, to *qemu.Config
	steps    []Step
	media    []drive // that get another medium, or none
}

func (d *difference) add(s ...Step) { d.steps = append(d.steps, s...) }

// devicesOut unplugs, the last first: what sits on a bus goes before the bus.
func (d *difference) devicesOut() error {
	gone, _, _ := compare(d.from.Devices, d.to.Devices, deviceID)
	for _, p := range slices.Backward(gone) {
		id, ok := p.Get("id").(string)
		if !ok {
			return &FixedError{What: fmt.Sprint("device ", p.Get("driver")), Why: "it has no name by which to unplug it"}
		}
		s := step("device_del", "id", id)
		s.Leaves = id
		d.add(s)
	}
	return nil
}

// devicesIn plugs.
func (d *difference) devicesIn() error {
	d.add(actions(d.from, d.to)...)
	_, come, _ := compare(d.from.Devices, d.to.Devices, deviceID)
	for _, p := range come {
		if p.Get("id") == nil {
			return &FixedError{What: fmt.Sprint("device ", p.Get("driver")), Why: "it has no name by which it could be unplugged"}
		}
		before, p := given(p)
		d.add(append(before, Step{Command: "device_add", Args: p})...)
	}
	return nil
}

// backendsOut removes the host's side of what went: what uses others first.
func (d *difference) backendsOut() error {
	gone, _, _ := compare(d.from.Netdevs, d.to.Netdevs, id)
	for _, p := range slices.Backward(gone) {
		d.add(lenient(step("netdev_del", "id", p.Get("id")))) // see Cut
	}
	gone, _, changed := compare(d.from.Blockdevs, d.to.Blockdevs, node)
	stale := touched(d.from, append(gone, changed...))
	for _, p := range slices.Backward(d.from.Blockdevs) {
		if stale[node(p)] {
			d.add(step("blockdev-del", "node-name", p.Get("node-name")))
		}
	}
	gone, _, _ = compare(d.from.Objects, d.to.Objects, id)
	for _, p := range slices.Backward(gone) {
		d.add(step("object-del", "id", p.Get("id")))
	}
	chardevs, _, _ := compare(d.from.Chardevs, d.to.Chardevs, label)
	for _, c := range slices.Backward(chardevs) {
		d.add(step("chardev-remove", "id", c.ID))
	}
	sets, _, _ := compare(d.from.FDSets, d.to.FDSets, qemu.FDSet.Path)
	for _, s := range sets {
		d.add(step("remove-fd", "fdset-id", s.ID))
	}
	return nil
}

// backendsIn makes the host's side of what comes. A secret or a key comes before the character device that uses it; what
// reads from a character device comes after it.
func (d *difference) backendsIn() error {
	_, sets, _ := compare(d.from.FDSets, d.to.FDSets, qemu.FDSet.Path)
	for _, set := range sets {
		for _, name := range []string{set.ReadOnly, set.ReadWrite} {
			if name != "" {
				s := step("add-fd", "fdset-id", set.ID, "opaque", name)
				s.File = name
				d.add(s)
			}
		}
	}
	_, objects, _ := compare(d.from.Objects, d.to.Objects, id)
	object := func(reads bool) {
		for _, p := range objects {
			if (p.Get("chardev") != nil) == reads {
				before, p := given(p)
				d.add(append(before, Step{Command: "object-add", Args: p})...)
			}
		}
	}
	object(false)
	_, chardevs, _ := compare(d.from.Chardevs, d.to.Chardevs, label)
	for _, c := range chardevs {
		s, err := chardevAdd(c)
		if err != nil {
			return err
		}
		d.add(s...)
	}
	object(true)
	_, come, changed := compare(d.from.Blockdevs, d.to.Blockdevs, node)
	fresh := touched(d.to, append(come, changed...))
	for _, p := range d.to.Blockdevs {
		if fresh[node(p)] {
			d.add(Step{Command: "blockdev-add", Args: p})
		}
	}
	_, netdevs, _ := compare(d.from.Netdevs, d.to.Netdevs, id)
	for _, p := range netdevs {
		before, p := given(p)
		d.add(append(before, Step{Command: "netdev_add", Args: p})...)
	}
	return nil
}

// compare sorts two lists out by key. What is in both and is not the same is in changed, as in the list that it is
// compared from or, for what comes, to.
func compare[T any](from, to []T, key func(T) string) (gone, come, changed []T) {
	have := map[string]T{}
	for _, v := range from {
		have[key(v)] = v
	}
	want := map[string]bool{}
	for _, v := range to {
		k := key(v)
		want[k] = true
		old, ok := have[k]
		switch {
		case !ok:
			come = append(come, v)
		case !alike(old, v):
			changed = append(changed, v)
		}
	}
	for _, v := range from {
		if !want[key(v)] {
			gone = append(gone, v)
		}
	}
	return gone, come, changed
}

// alike compares but for the names of descriptors: QEMU has them already, under whatever name they came.
func alike(a, b any) bool { return reflect.DeepEqual(nameless(a), nameless(b)) }

func nameless(v any) any {
	switch v := v.(type) {
	case qemu.Chardev:
		return [3]any{v.ID, v.Backend, nameless(v.Props)}
	case qemu.FDSet:
		return v.ID
	case qemu.Props:
		out := make([]any, 0, 2*len(v))
		for _, p := range v {
			out = append(out, p.Key, nameless(p.Value))
		}
		return out
	case qemu.FD:
		return 1
	case qemu.FDs:
		return len(v)
	}
	return v
}

func id(p qemu.Props) string   { return fmt.Sprint(p.Get("id")) }
func node(p qemu.Props) string { return fmt.Sprint(p.Get("node-name")) }

func label(c qemu.Chardev) string { return c.ID }

// deviceID is a device's name, or all there is of one that has none.
func deviceID(p qemu.Props) string {
	if s, ok := p.Get("id").(string); ok {
		return s
	}
	return Step{Command: "device_add", Args: p}.String()
}
