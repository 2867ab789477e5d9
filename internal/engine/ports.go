package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/host"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// placement finds where a document's NICs go on this host.
type placement struct {
	e *Engine
	// planned are networks that are not active yet and will be by then, by name.
	planned map[string]*spec.Network
}

// portsFor gives each of a document's NICs that has a link on the host a name and a bridge.
func (p placement) portsFor(doc *spec.Domain) ([]port, error) {
	var ports []port
	for i, nic := range doc.Devices.Interfaces {
		one := port{NIC: i, MAC: hostMAC(nic.MAC.Address), Guest: strings.ToLower(nic.MAC.Address), ID: spec.NewUUID().String(), Queues: guest.NICQueues(&nic)}
		if p.e.cfg.Session != nil && nic.Type != "user" && !nic.Socket() && !nic.GivenTap() {
			p.e.releasePorts(ports)
			return nil, needsRoot(fmt.Sprintf("domain '%s': NIC %s: type='%s'", doc.Name, nic.MAC.Address, nic.Type))
		}
		if nic.MTU != nil {
			_, _ = fmt.Sscan(nic.MTU.Size, &one.MTU) // Validate has read it before
		}
		one.Coalesce = nic.Coalesce.Frames()
		linked, err := p.connect(doc, nic, &one)
		if err == nil && !linked {
			if err = unfiltered(doc, &nic); err == nil {
				continue
			}
		}
		if err == nil {
			one.Trust = one.trusts(&nic)
			one.Filter, err = p.e.filterOf(doc, &nic, one)
		}
		if err == nil {
			one.Shape, err = p.shapeOf(doc, &nic, one)
		}
		if err == nil {
			err = p.e.nameFor(doc, &nic, &one)
		}
		if err != nil {
			p.e.leaveLower(one)
			p.e.leaveFloor(one)
			p.e.releasePorts(ports)
			return nil, err
		}
		ports = append(ports, one)
	}
	return ports, nil
}

// connect says where a NIC's port goes; linked is false for one that has none of ours: user and sockets are QEMU's own, and an
// ethernet's tap may be somebody else's.
func (p placement) connect(doc *spec.Domain, nic spec.Interface, to *port) (linked bool, err error) {
	to.Network, to.Bridge, to.Direct, to.Switch, to.Free, to.Managed = "", "", nil, nil, nic.Type == "ethernet", false
	var n *spec.Network
	if nic.Type == "network" {
		to.Network = nic.Source.Network
		if n, err = p.networkOf(doc, to.Network); err != nil {
			return true, err
		}
	}
	if nic, to.Share, err = join(doc, n, nic, to.Share); err != nil {
		return true, err
	}
	if to.Isolated = nic.Isolated(); nic.OnSwitch() {
		to.Switch = switchPortOf(doc, nic)
	}
	switch nic.Type {
	case "network":
		if n.DirectMode() != "" {
			to.MAC = nic.MAC.Address
			to.Direct, err = p.onPool(doc, nic, n, *to)
			return true, err
		}
		to.Bridge, to.Managed = n.BridgeName(), p.e.managed(to.Network)
		if nic.OnSwitch() {
			err = p.switchNetwork(doc, nic)
		}
	case "bridge":
		to.Bridge = nic.Source.Bridge
		if !nic.OnSwitch() {
			err = p.hostBridge(doc, nic)
		}
	case "direct":
		to.MAC = nic.MAC.Address // a macvtap has its guest's
		if to.Direct, err = p.onLower(doc, nic, *to); err == nil {
			p.e.lowers.take(to.Direct.Lower, to.ID, false)
		}
	case "ethernet":
		return !nic.GivenTap(), nil
	default:
		return false, nil
	}
	if err == nil && nic.OnSwitch() {
		err = p.switchBridge(doc, nic, to.Bridge)
	}
	return true, err
}

// networkOf is an active network, or says what to do.
func (p placement) networkOf(doc *spec.Domain, name string) (*spec.Network, error) {
	if n, ok := p.planned[name]; ok {
		return n, nil
	}
	n, ok := p.e.networks.named(name)
	if !ok || !n.view().exists() {
		return nil, virterr.New(virterr.NoNetwork, "domain '%s': no network with matching name '%s'", doc.Name, name)
	}
	live := n.view().live
	if live == nil {
		return nil, virterr.New(virterr.OperationInvalid, "domain '%s': network '%s' is not active; start it with `virsh net-start %s`", doc.Name, name, name)
	}
	return live, nil
}

// hostBridge looks at a bridge that somebody else made.
func (p placement) hostBridge(doc *spec.Domain, nic spec.Interface) error {
	name := nic.Source.Bridge
	l, err := p.e.k.LinkByName(name)
	switch {
	case (errors.Is(err, host.ErrNoLink) || err == nil && l.Kind != "bridge") && p.e.onSwitch(name):
		return virterr.New(virterr.ConfigUnsupported, "domain '%s': NIC %s: %s is a bridge of Open vSwitch; add <virtualport type='openvswitch'/> to the interface", doc.Name, nic.MAC.Address, name)
	case errors.Is(err, host.ErrNoLink):
		return virterr.New(virterr.SystemError, "domain '%s': NIC %s: there is no bridge %s; create it (ip link add %s type bridge), or name another one", doc.Name, nic.MAC.Address, name, name)
	case err != nil:
		return virterr.New(virterr.SystemError, "domain '%s': NIC %s: bridge %s: %w", doc.Name, nic.MAC.Address, name, err)
	case l.Kind != "bridge":
		return virterr.New(virterr.ConfigUnsupported, "domain '%s': NIC %s: %s is no bridge; make a bridge with %s as its port, and name that, or use type='direct' with <source dev='%s'/>", doc.Name, nic.MAC.Address, name, name, name)
	}
	return nil
}

// hostMAC is the address of the host's end: the guest's with fe in front, so that the bridge never takes it for its own
// (a bridge has the lowest address of its ports).
func hostMAC(guest string) string {
	if len(guest) < 2 {
		return ""
	}
	return "fe" + guest[2:]
}

// portState is what a record's taps should be on the host when all of its networks are active.
func portState(r record) map[string]state.Port {
	ports := map[string]state.Port{}
	for _, p := range r.Ports {
		if p.Direct != nil {
			continue
		}
		one := state.Port{Owner: r.UUID.String(), MAC: p.MAC, Master: p.Bridge, MTU: p.MTU, NoIPv6: true, Up: true, Queues: p.Queues, Anywhere: p.Free, Isolated: p.Isolated, Coalesce: p.Coalesce}
		if p.Switch != nil {
			one.Master = ""
		}
		p.manage(&one, p.Managed)
		ports[p.Name] = one
	}
	return ports
}

// portsNow is what the taps of a guest that runs should be on the host now: one on a network hangs on the bridge that the
// network has, and on none while the network is not active.
func (e *Engine) portsNow(r record) map[string]state.Port {
	ports := portState(r)
	for _, p := range r.Ports {
		s, ok := ports[p.Name]
		if !ok {
			continue
		}
		s.Held = true
		if p.Network != "" && p.Switch == nil {
			s.Master = ""
			if p.manage(&s, e.managed(p.Network)); s.Managed {
				s.Table = e.behind(r, p)
			}
			if n, ok := e.networks.named(p.Network); ok && n.view().live != nil {
				s.Master = n.view().live.BridgeName()
			}
		}
		ports[p.Name] = s
	}
	return ports
}

// networksOf are the networks that a record's ports are on, as they are active now; nil stands for one that is not.
func (e *Engine) networksOf(r record) map[string]*spec.Network {
	out := map[string]*spec.Network{}
	for _, p := range r.Ports {
		if n, ok := e.networks.named(p.Network); ok {
			out[p.Network] = n.view().live
		}
	}
	return out
}

// replug puts the ports of a guest where they belong: after a network of theirs was started or changed, and when that
// happened while the guest was being started and nobody saw it yet. Both sides look after they can be seen, so one of the
// two sees the other. A guest that ends meanwhile needs nothing.
func (e *Engine) replug(ctx context.Context, d *domain, run *running) {
	want := e.linksNow(*run.rec())
	if !slices.ContainsFunc(run.rec().Ports, func(p port) bool { return p.Switch != nil && p.Network != "" }) {
		want.SwitchPorts = nil // they do not change with a network, and the switch may not answer
	}
	err := e.convergeRest(context.WithoutCancel(ctx), want, want.Scope())
	if err != nil && d.view().run == run {
		e.problem.add(e.log, "domain '"+d.label+"' is cut off from its network: "+err.Error())
	}
}

// replugAll does that for the guests on a network.
func (e *Engine) replugAll(ctx context.Context, n *network) {
	for _, d := range e.domains.all() {
		if run := d.view().run; run != nil && run.nicsOn(n.label) > 0 {
			e.replug(ctx, d, run)
		}
	}
}

// nicsOn is how many NICs a guest has on a network.
func (run *running) nicsOn(network string) int {
	n := 0
	for _, p := range run.rec().Ports {
		if p.Network == network {
			n++
		}
	}
	return n
}

// releaseNames gives back what a record holds of the allocators.
func (e *Engine) releaseNames(r record) {
	e.releasePorts(r.Ports)
	e.releaseDisplays(r.Displays)
	if r.UID != 0 {
		e.uids.Release(r.UID)
	}
}

// leaveLower gives back the link that a port was to lie on.
func (e *Engine) leaveLower(p port) {
	if p.Direct != nil {
		e.lowers.release(p.Direct.Lower, p.ID)
	}
}

func (e *Engine) releasePorts(ports []port) {
	for _, p := range ports {
		e.leaveLower(p)
		e.leaveFloor(p)
		if p.Switch == nil || !e.switches.holds(p.Name) {
			e.releaseName(p.Name)
		}
	}
}
