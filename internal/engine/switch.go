package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"taproom/internal/api/virterr"
	"taproom/internal/host"
	"taproom/internal/network/ovs"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// switchPort is what a port on a bridge of Open vSwitch is like.
type switchPort struct {
	IDs  map[string]string `json:"ids"`            // external_ids of its interface
	VLAN *state.VLAN       `json:"vlan,omitempty"` // nil leaves it to whoever controls the switch
}

// switchPortOf is the port of a NIC, with what libvirt tells those who control the switch.
func switchPortOf(doc *spec.Domain, nic spec.Interface) *switchPort {
	p := &switchPort{VLAN: vlanOf(nic.VLAN), IDs: map[string]string{
		"attached-mac": nic.MAC.Address, "iface-status": "active", "vm-id": doc.UUID.String(),
	}}
	if v := nic.VirtualPort.Parameters; v != nil {
		p.IDs["iface-id"] = v.InterfaceID
		if v.ProfileID != "" {
			p.IDs["port-profile"] = v.ProfileID
		}
	}
	return p
}

// vlanOf is a document's VLANs in the columns of the Port table. A native VLAN is beside those of its trunk, as libvirt has it.
func vlanOf(v *spec.NICVLAN) *state.VLAN {
	if v == nil {
		return nil
	}
	out := &state.VLAN{}
	if v.Trunks() {
		for i := range v.Tags {
			out.Trunks = append(out.Trunks, v.Tags[i].Number())
		}
		slices.Sort(out.Trunks)
	} else {
		out.Tag = []int{v.Tags[0].Number()}
	}
	if native := v.Native(); native != nil {
		out.Tag, out.Mode = []int{native.Number()}, "native-"+native.NativeMode
	}
	return out
}

// switchState is what a record's ports of Open vSwitch should be when all of its networks are active.
func switchState(r record) map[string]state.SwitchPort {
	out := map[string]state.SwitchPort{}
	for _, p := range r.Ports {
		if p.Switch != nil {
			out[p.Name] = state.SwitchPort{Owner: r.UUID.String(), Bridge: p.Bridge, VLAN: p.Switch.VLAN, IDs: p.Switch.IDs, Bounded: p.Shape != nil}
		}
	}
	return out
}

// switchNow is what the ports of Open vSwitch of a guest that runs should be now.
func (e *Engine) switchNow(r record) map[string]state.SwitchPort {
	out := switchState(r)
	for _, p := range r.Ports {
		s, ok := out[p.Name]
		if !ok {
			continue
		}
		s.Held = true
		if p.Network != "" {
			n, ok := e.networks.named(p.Network)
			if !ok || n.view().live == nil {
				delete(out, p.Name)
				continue
			}
			s.Bridge = n.view().live.BridgeName()
		}
		out[p.Name] = s
	}
	return out
}

// ovsLook is how long a look at Open vSwitch may take that only explains an error.
const ovsLook = time.Second

// onSwitch reports whether Open vSwitch has a bridge of that name, as far as it answers.
func (e *Engine) onSwitch(name string) bool {
	if e.ovs == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(e.ctx, ovsLook)
	defer cancel()
	v, err := e.ovs.Observe(ctx, state.SwitchScope{Bridges: []string{name}})
	_, there := v.Bridges[name]
	return err == nil && there
}

// switchBridge refuses what is known not to be a bridge of Open vSwitch; whether it has one is asked when the port is made.
func (p placement) switchBridge(doc *spec.Domain, nic spec.Interface, bridge string) error {
	l, err := p.e.k.LinkByName(bridge)
	switch {
	case errors.Is(err, host.ErrNoLink):
		return nil // one of Open vSwitch has a link, and it need not be in this namespace
	case err != nil:
		return virterr.New(virterr.SystemError, "domain '%s': NIC %s: bridge %s: %w", doc.Name, nic.MAC.Address, bridge, err)
	case l.Kind == "bridge":
		return virterr.New(virterr.ConfigUnsupported, "domain '%s': NIC %s: %s is a Linux bridge and none of Open vSwitch; leave <virtualport type='openvswitch'/> out, or name a bridge of Open vSwitch (ovs-vsctl add-br)", doc.Name, nic.MAC.Address, bridge)
	}
	return nil
}

// switchNetwork refuses a network with a Linux bridge of its own.
func (p placement) switchNetwork(doc *spec.Domain, nic spec.Interface) error {
	n, ok := p.e.networks.named(nic.Source.Network)
	if !ok || n.view().live == nil {
		return nil
	}
	if f := n.view().live.Forward; f == nil || f.Mode != "bridge" {
		return virterr.New(virterr.ConfigUnsupported, "domain '%s': NIC %s: network '%s' has a Linux bridge of its own; <virtualport type='openvswitch'/> is for networks with <forward mode='bridge'/>", doc.Name, nic.MAC.Address, n.label)
	}
	return nil
}

// switchNames are the names that Open vSwitch has, for links of which some are to be its ports. It has names without a link
// too: it plugs in whatever comes to be called so.
func (e *Engine) switchNames(ctx context.Context, ports []port) (map[string]bool, error) {
	if !slices.ContainsFunc(ports, func(p port) bool { return p.Switch != nil }) {
		return nil, nil
	}
	return e.ovs.Names(ctx)
}

// leaveSwitch removes ports of Open vSwitch that a record names. When it cannot be reached, they are removed as soon as it
// can, and nobody gets their names before: the switch would take a tap of that name for the port.
func (e *Engine) leaveSwitch(ctx context.Context, rec record) error {
	ports := switchState(rec)
	if len(ports) == 0 {
		return nil
	}
	_, err := e.converge(ctx, state.State{}, state.State{SwitchPorts: ports}.Scope())
	if err == nil {
		e.switches.removed(ports)
		return nil
	}
	if !errors.Is(err, ovs.ErrUnreachable) || ctx.Err() != nil {
		return err
	}
	e.switches.keep(ports)
	e.log.Warn("ports stay in the database of Open vSwitch until it can be reached", "domain", rec.Name, "error", err)
	e.watchSwitch()
	return nil
}

// leaveSwitchAll removes every port of Open vSwitch that a guest has. Where it cannot be reached, whoever next reaches it does.
func (e *Engine) leaveSwitchAll(ctx context.Context, owner string) error {
	all, err := state.Observe(ctx, e.env(), state.Scope{AllSwitchPorts: true})
	if err == nil {
		var plan state.Plan
		if plan, err = state.Diff(e.env(), all.SwitchOf(owner, state.State{}), state.State{}); err == nil {
			err = plan.Apply(ctx, e.env())
		}
	}
	if errors.Is(err, ovs.ErrUnreachable) {
		return nil
	}
	return err
}

// switchError says of a change of Open vSwitch that failed what it was about; the command for all ports of a guest is long.
// It is nil for an error of anything else.
func switchError(err error) error {
	var missing *state.NoBridgeError
	var unbound *state.UnboundError
	var step *state.StepError
	if errors.As(err, &missing) {
		return missing
	}
	if errors.As(err, &unbound) {
		return unbound
	}
	if errors.As(err, &step) {
		if set, ok := step.Step.(state.SetSwitchPorts); ok {
			return fmt.Errorf("plug %d ports into Open vSwitch: %w", len(set.Ports), step.Err)
		}
	}
	if errors.Is(err, ovs.ErrUnreachable) {
		return err
	}
	return nil
}
