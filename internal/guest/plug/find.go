package plug

import (
	"fmt"
	"slices"
	"strings"

	"taproom/internal/guest"
	"taproom/internal/spec"
)

// MissingError is a device that a document was asked for and does not have.
type MissingError struct{ What string }

// Error implements error.
func (e *MissingError) Error() string { return e.What }

// AmbiguousError is a description that several devices of a document answer to.
type AmbiguousError struct{ What string }

// Error implements error.
func (e *AmbiguousError) Error() string {
	return e.What + "; add the address, or the alias, of the one that is meant"
}

func missing(format string, args ...any) error { return &MissingError{fmt.Sprintf(format, args...)} }

// Only is the one device of a document that was given alone, without what belongs to a run.
func Only(devices *spec.Devices) (spec.AnyDevice, error) {
	if err := guest.Forget(&spec.Domain{Devices: devices}); err != nil {
		return spec.AnyDevice{}, err
	}
	list := devices.List()
	if len(list) != 1 {
		return spec.AnyDevice{}, missing("the document names no device")
	}
	return list[0], nil
}

// Find is the device of a document that is meant by another's description: a disk by its target, a NIC by its address, a
// controller by its number, anything else by all that is said of it. Names of devices count in a document of a running
// guest and, where they are the user's own, in every document.
func Find(doc *spec.Domain, want spec.AnyDevice, running bool) (spec.AnyDevice, error) {
	list := doc.Devices.List()
	if name := want.Alias(); name != "" && (running || strings.HasPrefix(name, "ua-")) {
		i := slices.IndexFunc(list, func(v spec.AnyDevice) bool { return v.Alias() == name && v.Kind == want.Kind })
		if i < 0 {
			return spec.AnyDevice{}, missing("no device found with alias %s", name)
		}
		return list[i], nil
	}
	what, is := meaning(want)
	var found []spec.AnyDevice
	for _, v := range list {
		if v.Kind == want.Kind && is(v) {
			found = append(found, v)
		}
	}
	switch {
	case len(found) == 0:
		return spec.AnyDevice{}, missing("no %s", what)
	case len(found) > 1 && want.Kind == "interface":
		return spec.AnyDevice{}, &AmbiguousError{What: "multiple " + strings.Replace(what, "device", "devices", 1)}
	}
	return found[0], nil
}

// meaning is how a device is recognised, in words and as a test.
func meaning(want spec.AnyDevice) (what string, is func(spec.AnyDevice) bool) {
	switch w := want.Value.(type) {
	case *spec.Disk:
		return "target device " + w.Target.Dev, func(v spec.AnyDevice) bool { return v.Value.(*spec.Disk).Target.Dev == w.Target.Dev }
	case *spec.Interface:
		only := spec.Interface{MAC: w.MAC, Address: w.Address}
		what = "device matching"
		if w.MAC != nil {
			what += " MAC address " + w.MAC.Address + " found"
		} else {
			only.Source, only.Type = w.Source, w.Type
			what += " the description of the interface"
		}
		return what, func(v spec.AnyDevice) bool {
			n := *v.Value.(*spec.Interface)
			if w.MAC != nil && (n.MAC == nil || !strings.EqualFold(n.MAC.Address, w.MAC.Address)) {
				return false
			}
			probe := only
			probe.MAC = nil
			return (spec.AnyDevice{Kind: "interface", Value: &n}).Says(spec.AnyDevice{Kind: "interface", Value: &probe})
		}
	case *spec.Controller:
		return "controller of type " + w.Type + " with index " + w.Index, func(v spec.AnyDevice) bool {
			k := v.Value.(*spec.Controller)
			return k.Type == w.Type && (w.Index == "" || k.Index == w.Index) && (w.Model == "" || w.Model == k.Model)
		}
	}
	return want.Kind + " device matching the description", func(v spec.AnyDevice) bool { return v.Says(want) }
}

// Named is the device with that name.
func Named(doc *spec.Domain, alias string) (spec.AnyDevice, error) {
	for _, v := range doc.Devices.List() {
		if v.Alias() == alias {
			return v, nil
		}
	}
	return spec.AnyDevice{}, missing("no device found with alias %s", alias)
}
