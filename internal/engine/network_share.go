package engine

import (
	"slices"
	"strings"

	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// join is a NIC with what its network gives it, and that for its record: nil where it is nothing more than the document says,
// or there is no network. Of what it was given before, the id of its port on a switch stays.
func join(doc *spec.Domain, n *spec.Network, nic spec.Interface, before *spec.NICShare) (spec.Interface, *spec.NICShare, error) {
	if n == nil {
		return nic, nil, nil
	}
	own := nic.Share()
	share, err := n.Join(nic.Source.PortGroup, own)
	if err != nil {
		return nic, nil, virterr.New(virterr.ConfigUnsupported, "domain '%s': NIC %s: %w", doc.Name, nic.MAC.Address, err)
	}
	whole := nic.With(share)
	if whole.VLAN != nil && !whole.OnSwitch() {
		return nic, nil, virterr.New(virterr.ConfigUnsupported, "domain '%s': NIC %s: an interface connecting to network '%s' is requesting a vlan tag, but that is not supported for this type of network; it is for bridges of Open vSwitch", doc.Name, nic.MAC.Address, n.Name)
	}
	if share == own {
		return nic, nil, nil
	}
	if share.VirtualPort != own.VirtualPort && whole.OnSwitch() {
		if before != nil {
			whole.KeepInterfaceID(spec.Interface{VirtualPort: before.VirtualPort})
		}
		whole.NameOnSwitch(spec.NewUUID)
	}
	return whole, &share, nil
}

// rejoined says in the next hardware what NICs that stay on their networks are given there, where what they say themselves
// is something else than before. The others keep what they were given, whatever the network says by now.
func (e *Engine) rejoined(now, next *hardware) error {
	for i, nic := range next.doc.Devices.Interfaces {
		at := slices.IndexFunc(now.doc.Devices.Interfaces, func(o spec.Interface) bool { return o.Alias.Name == nic.Alias.Name })
		p := slices.IndexFunc(next.rec.Ports, func(p port) bool { return p.NIC == i })
		if at < 0 || p < 0 || nic.Type != "network" || connection(now.doc.Devices.Interfaces[at]) != connection(nic) || asksAlike(now.doc.Devices.Interfaces[at], nic) {
			continue
		}
		n, err := (placement{e: e}).networkOf(next.doc, nic.Source.Network)
		if err != nil {
			return err
		}
		next.rec.Ports = slices.Clone(next.rec.Ports)
		to := &next.rec.Ports[p]
		whole, share, err := join(next.doc, n, nic, to.Share)
		if err != nil {
			return err
		}
		if whole.OnSwitch() != (to.Switch != nil) {
			return otherSwitch(nic)
		}
		to.Share = share
	}
	return nil
}

// asksAlike reports whether two descriptions of a NIC ask the same of its network.
func asksAlike(a, b spec.Interface) bool {
	group := func(n spec.Interface) string {
		if n.Source == nil {
			return ""
		}
		return n.Source.PortGroup
	}
	return group(a) == group(b) && a.Share().Same(b.Share())
}

func otherSwitch(nic spec.Interface) error {
	return virterr.New(virterr.OperationUnsupported, "NIC %s: cannot modify network device virtual port while the guest runs: it would be on Open vSwitch and is on a Linux bridge, or the other way round; detach it and attach it again", nic.MAC.Address)
}

// withoutGiven takes out of a NIC's document what its network gives the NIC: clients send what they read of a running guest.
func (e *Engine) withoutGiven(uuid spec.UUID, nic *spec.Interface) {
	d, ok := e.domains.uuid(uuid)
	if !ok || nic.MAC == nil {
		return
	}
	run := d.view().run
	if run == nil {
		return
	}
	now := run.hardware()
	for _, p := range now.rec.Ports {
		if p.Share != nil && strings.EqualFold(p.Guest, nic.MAC.Address) {
			nic.Drop(*p.Share, now.doc.Devices.Interfaces[p.NIC].Share())
		}
	}
}
