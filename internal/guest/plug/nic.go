package plug

import (
	"strings"

	"taproom/internal/spec"
)

// changeInterface changes of a running guest's NIC what the guest need not be asked for: the state of the link, what bounds its
// traffic and what filters it, the network or bridge at its other end, the VLANs of a port of Open vSwitch, and whether one of a Linux bridge is isolated. Of a definition it changes all there is of a NIC.
func changeInterface(n, by *spec.Interface, running bool) error {
	if by.MAC == nil { // it was found by its name or its place
		by.MAC = n.MAC
	}
	if !running {
		*n = *by
		return nil
	}
	if err := sameNIC(n, by); err != nil {
		return err
	}
	n.Link, n.Bandwidth, n.FilterRef = by.Link, by.Bandwidth, by.FilterRef
	if by.TrustRx != "" {
		n.TrustRx = by.TrustRx
	}
	if by.Source != nil && bridged(n) {
		n.Type, n.Source = by.Type, by.Source
	}
	if n.OnSwitch() || by.Type == "network" { // a network may put it on a switch, or refuse it
		n.VLAN = by.VLAN
	}
	if bridged(n) && !n.OnSwitch() {
		n.Port = by.Port
	}
	return nil
}

// sameNIC refuses what of a NIC is settled when it is plugged in, by name. What the new description leaves open stays.
func sameNIC(n, by *spec.Interface) error {
	says := func(a, b spec.Interface) bool {
		return spec.AnyDevice{Kind: "interface", Value: &a}.Says(spec.AnyDevice{Kind: "interface", Value: &b})
	}
	if !strings.EqualFold(n.MAC.Address, by.MAC.Address) {
		return fixedNIC("cannot change network interface mac address from %s to %s", n.MAC.Address, by.MAC.Address)
	}
	if by.Model != nil && n.Model != nil && by.Model.Type != "" && by.Model.Type != n.Model.Type {
		return fixedNIC("cannot modify network device model from %s to %s", n.Model.Type, by.Model.Type)
	}
	if by.Type != n.Type && !(bridged(n) && bridged(by)) {
		return fixedNIC("unable to change config on '%s' network type: it is a '%s' interface", by.Type, n.Type)
	}
	for _, part := range []struct {
		what     string
		have, by spec.Interface
	}{
		{"device driver attributes", spec.Interface{Driver: n.Driver, Backend: n.Backend}, spec.Interface{Driver: by.Driver, Backend: by.Backend}},
		{"device tap name", spec.Interface{Target: n.Target}, spec.Interface{Target: target(n, by)}},
		{"MTU", spec.Interface{MTU: n.MTU}, spec.Interface{MTU: by.MTU}},
		{"device guest PCI address", spec.Interface{Address: n.Address}, spec.Interface{Address: by.Address}},
		{"device boot index setting", spec.Interface{Boot: n.Boot}, spec.Interface{Boot: by.Boot}},
		{"device virtual port", spec.Interface{VirtualPort: n.VirtualPort}, spec.Interface{VirtualPort: by.VirtualPort}},
	} {
		if !says(part.have, part.by) {
			return fixedNIC("cannot modify network " + part.what)
		}
	}
	switch {
	case n.OnSwitch() != by.OnSwitch():
		return fixedNIC("cannot modify network device virtual port")
	case !n.OnSwitch() && by.Type != "network" && !says(spec.Interface{VLAN: n.VLAN}, spec.Interface{VLAN: by.VLAN}):
		return fixedNIC("cannot modify network device VLAN")
	}
	rest := *by // what has no name above
	rest.Type, rest.TrustRx, rest.MAC, rest.Model, rest.Target, rest.Link, rest.VLAN, rest.Bandwidth, rest.FilterRef = "", "", nil, nil, nil, nil, nil, nil, nil
	if bridged(n) {
		rest.Source, rest.Port = nil, nil
	}
	if !says(*n, rest) {
		return fixedNIC("unable to change config on '%s' network type", n.Type)
	}
	return nil
}

// fixedNIC says as libvirt does what cannot be changed, and what can be done.
func fixedNIC(format string, args ...any) error {
	return refused(format+" while the guest runs; use --config, or detach the interface and attach it as it should be", args...)
}

// bridged reports whether the host's end of a NIC is a tap on a bridge, of a network or of somebody else.
func bridged(n *spec.Interface) bool { return n.Type == "network" || n.Type == "bridge" }

// target is the name on the host that the new description insists on. That of a tap which was named for the run is no
// part of the document.
func target(n, by *spec.Interface) *spec.InterfaceTarget {
	if n.Target == nil || by.Target != nil && fromTemplate(by.Target.Dev, n.NameTemplate()) {
		return nil
	}
	return by.Target
}

// fromTemplate reports whether a name is one that was made from a template.
func fromTemplate(name, template string) bool {
	prefix, suffix, ok := strings.Cut(template, "%d")
	if !ok || !strings.HasPrefix(name, prefix) || !strings.HasSuffix(name, suffix) || len(name) <= len(prefix)+len(suffix) {
		return false
	}
	return strings.Trim(name[len(prefix):len(name)-len(suffix)], "0123456789") == ""
}
