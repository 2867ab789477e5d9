package engine

import (
	"fmt"

	"taproom/internal/api/virterr"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// portsFor gives each of a document's NICs that has a link on the host a name and a bridge.
func (e *Engine) portsFor(doc *spec.Domain) ([]port, error) {
	var ports []port
	fail := func(err error) ([]port, error) {
		e.releasePorts(ports)
		return nil, err
	}
	for i, nic := range doc.Devices.Interfaces {
		p := port{NIC: i, MAC: hostMAC(nic.MAC.Address), ID: spec.NewUUID().String()}
		switch nic.Type {
		case "network":
			n, err := e.activeNetworkFor(doc, nic)
			if err != nil {
				return fail(err)
			}
			p.Network, p.Bridge = n.label, n.view().ref.Bridge
		case "bridge":
			p.Bridge = nic.Source.Bridge
			if _, err := e.k.LinkByName(p.Bridge); err != nil {
				return fail(virterr.New(virterr.SystemError, "domain '%s': NIC %s: bridge %s: %w; create it, or name another one", doc.Name, nic.MAC.Address, p.Bridge, err))
			}
		default: // user: QEMU's own, no link
			continue
		}
		if nic.MTU != nil {
			_, _ = fmt.Sscan(nic.MTU.Size, &p.MTU) // Validate has read it before
		}
		name, err := e.names.Take()
		if err != nil {
			return fail(err)
		}
		p.Name = name
		ports = append(ports, p)
	}
	return ports, nil
}

// activeNetworkFor finds the network of a NIC, or says what to do.
func (e *Engine) activeNetworkFor(doc *spec.Domain, nic spec.Interface) (*network, error) {
	n, ok := e.networks.named(nic.Source.Network)
	if !ok || !n.view().exists() {
		return nil, virterr.New(virterr.NoNetwork, "domain '%s': no network with matching name '%s'", doc.Name, nic.Source.Network)
	}
	if n.view().live == nil {
		return nil, virterr.New(virterr.OperationInvalid, "domain '%s': network '%s' is not active; start it with `virsh net-start %s`", doc.Name, n.label, n.label)
	}
	return n, nil
}

// hostMAC is the address of the host's end: the guest's with fe in front, so that the bridge never takes it for its own
// (a bridge has the lowest address of its ports).
func hostMAC(guest string) string {
	if len(guest) < 2 {
		return ""
	}
	return "fe" + guest[2:]
}

// portState is what a record's ports should be on the host.
func portState(r record) map[string]state.Port {
	ports := map[string]state.Port{}
	for _, p := range r.Ports {
		ports[p.Name] = state.Port{Owner: r.UUID.String(), MAC: p.MAC, Master: p.Bridge, MTU: p.MTU, NoIPv6: true, Up: true}
	}
	return ports
}

// portsOn are the taps of running guests on a network.
func (e *Engine) portsOn(network string) map[string]state.Port {
	ports := map[string]state.Port{}
	for _, d := range e.domains.all() {
		run := d.view().run
		if run == nil {
			continue
		}
		all := portState(run.rec)
		for _, p := range run.rec.Ports {
			if p.Network == network {
				ports[p.Name] = all[p.Name]
			}
		}
	}
	return ports
}

// releaseNames gives back what a record holds of the allocators.
func (e *Engine) releaseNames(r record) {
	e.releasePorts(r.Ports)
	if r.VNCPort != 0 {
		e.ports.Release(r.VNCPort)
	}
	if r.UID != 0 {
		e.uids.Release(r.UID)
	}
}

func (e *Engine) releasePorts(ports []port) {
	for _, p := range ports {
		e.names.Release(p.Name)
	}
}
