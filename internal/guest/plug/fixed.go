package plug

import (
	"reflect"
	"slices"

	"taproom/internal/guest"
	"taproom/internal/qemu"
)

// fixed says what between two configurations no command can bring about.
func fixed(from, to *qemu.Config) error {
	a, b := reflect.ValueOf(from).Elem(), reflect.ValueOf(to).Elem()
	for i := range a.NumField() {
		name := a.Type().Field(i).Name
		switch name {
		case "Objects", "FDSets", "Chardevs", "Blockdevs", "Netdevs", "Devices", "Flags":
		case "ReadOnly", "ReadWrite", "BindTCP", "ConnectTCP", "Resolves", "AnyTCP": // QEMU may do less than it was allowed
		default:
			if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
				return &FixedError{What: "its " + name, Why: "QEMU gets it at the start"}
			}
		}
	}
	for _, list := range []func() error{
		func() error { return same("object ", others(from.Objects), others(to.Objects), id) },
		func() error { return same("character device ", from.Chardevs, to.Chardevs, label) },
		func() error { return same("network device ", from.Netdevs, to.Netdevs, id) },
		func() error { return unchangedDevices(from, to) },
		func() error { return allowed(from, to) },
		func() error { return flags(from, to) },
	} {
		if err := list(); err != nil {
			return err
		}
	}
	return nil
}

func same[T any](kind string, from, to []T, key func(T) string) error {
	_, _, changed := compare(from, to, key)
	if len(changed) > 0 {
		return &FixedError{What: kind + key(changed[0]), Why: "unplug it, and plug it in as it should be"}
	}
	return nil
}

// unchangedDevices accepts no other change of a device than that of its medium.
func unchangedDevices(from, to *qemu.Config) error {
	_, _, changed := compare(from.Devices, to.Devices, deviceID)
	for _, p := range changed {
		i := slices.IndexFunc(from.Devices, func(q qemu.Props) bool { return deviceID(p) == deviceID(q) })
		for _, key := range keys(from.Devices[i], p) {
			if key != "drive" && !alike(from.Devices[i].Get(key), p.Get(key)) {
				return &FixedError{What: "device " + deviceID(p), Why: "its " + key + " is set when it is plugged in"}
			}
		}
	}
	return nil
}

func keys(lists ...qemu.Props) []string {
	var out []string
	for _, l := range lists {
		for _, p := range l {
			out = append(out, p.Key)
		}
	}
	return out
}

// allowed refuses what QEMU's confinement, which does not grow, forbids.
func allowed(from, to *qemu.Config) error {
	free := []string{"/dev/urandom", "/dev/random"} // everybody may; see qemu's ruleset
	for _, path := range append(slices.Clone(to.ReadOnly), to.ReadWrite...) {
		if !slices.Contains(from.ReadOnly, path) && !slices.Contains(from.ReadWrite, path) && !slices.Contains(free, path) {
			return &FixedError{What: path, Why: "its QEMU was confined without this file; plug the device in with --config and start the guest again"}
		}
	}
	if to.AnyTCP && !from.AnyTCP {
		return &FixedError{What: "user-mode networking", Why: "its QEMU was confined without it; plug the NIC in with --config and start the guest again"}
	}
	if to.Resolves && !from.Resolves {
		return &FixedError{What: "a server of the network", Why: "its QEMU was confined without one; plug the device in with --config and start the guest again"}
	}
	for _, port := range to.BindTCP {
		if !from.AnyTCP && !slices.Contains(from.BindTCP, port) {
			return &FixedError{What: "a port to listen on", Why: "its QEMU was confined without it"}
		}
	}
	for _, port := range to.ConnectTCP {
		if !from.AnyTCP && !slices.Contains(from.ConnectTCP, port) {
			return &FixedError{What: "a port to connect to", Why: "its QEMU was confined without it; plug the device in with --config and start the guest again"}
		}
	}
	return nil
}

// flags may differ in what a watchdog does, which is set on the way.
func flags(from, to *qemu.Config) error {
	rest := func(c *qemu.Config) []qemu.Flag {
		return slices.DeleteFunc(slices.Clone(c.Flags), func(f qemu.Flag) bool { return f.Name == "-action" })
	}
	a, b := rest(from), rest(to)
	for _, pair := range [][2][]qemu.Flag{{a, b}, {b, a}} {
		for _, f := range pair[0] {
			if !slices.ContainsFunc(pair[1], func(g qemu.Flag) bool { return reflect.DeepEqual(f, g) }) {
				return &FixedError{What: f.Name, Why: "QEMU gets it at the start"}
			}
		}
	}
	return nil
}

// actions are what the flags of a configuration say of its watchdog.
func actions(from, to *qemu.Config) []Step {
	var out []Step
	for _, f := range to.Flags {
		if f.Name == "-action" && !slices.ContainsFunc(from.Flags, func(g qemu.Flag) bool { return reflect.DeepEqual(f, g) }) {
			out = append(out, Step{Command: "set-action", Args: f.Value.Props})
		}
	}
	return out
}

// settings are what of the start's settings differs and can be set again.
func settings(from, to guest.Startup) []Step {
	var out []Step
	for _, id := range from.LinksDown {
		if !slices.Contains(to.LinksDown, id) {
			out = append(out, lenient(SetLink(id, true))) // its NIC may be what was unplugged
		}
	}
	for _, id := range to.LinksDown {
		if !slices.Contains(from.LinksDown, id) {
			out = append(out, SetLink(id, false))
		}
	}
	out = append(out, throttles(from, to)...)
	for _, p := range to.Passwords {
		if slices.Contains(from.Passwords, p) {
			continue
		}
		for _, c := range p.Commands() {
			out = append(out, Step{Command: c.Name, Args: c.Args.(qemu.Props)})
		}
	}
	return out
}

// SetLink tells a NIC that its link went down, or came up.
func SetLink(nic string, up bool) Step { return step("set_link", "name", nic, "up", up) }

// Cut takes away the host's end of a NIC whose tap was deleted: the guest sees that its cable is out, and QEMU does not look
// at a dead descriptor without end.
func Cut(nic string) Step { return lenient(step("netdev_del", "id", "host"+nic)) }

// throttles are the bounds of disks that differ. A disk that has none any more is not bounded, unless it is gone.
func throttles(from, to guest.Startup) []Step {
	var out []Step
	set := func(t guest.Throttle) Step {
		c := t.Command()
		return Step{Command: c.Name, Args: c.Args.(qemu.Props)}
	}
	for _, t := range from.Throttles {
		if !slices.ContainsFunc(to.Throttles, func(o guest.Throttle) bool { return o.Device == t.Device }) {
			out = append(out, lenient(set(guest.Throttle{Device: t.Device})))
		}
	}
	for _, t := range to.Throttles {
		if !slices.ContainsFunc(from.Throttles, func(o guest.Throttle) bool { return reflect.DeepEqual(o, t) }) {
			out = append(out, set(t))
		}
	}
	return out
}

// Settings are the settings alone of Between: what is to be set back when one was refused.
func Settings(from, to guest.Startup) []Step {
	steps := settings(from, to)
	for i := range steps {
		steps[i].Lenient = true
	}
	return steps
}
