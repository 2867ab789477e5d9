package engine

import (
	"context"
	"fmt"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/job"
	"taproom/internal/engine/store"
	"taproom/internal/guest"
	"taproom/internal/host"
	"taproom/internal/spec"
)

// DefineNetwork implements server.Networks.
func (e *Engine) DefineNetwork(ctx context.Context, xml string, _ uint32) (server.Network, error) {
	doc, err := e.completeNetwork([]byte(xml))
	if err != nil {
		return server.Network{}, err
	}
	return e.defineNetwork(ctx, doc)
}

// completeNetwork reads a network document and fills in what it leaves open: identity, the bridge's name and address.
func (e *Engine) completeNetwork(xml []byte) (*spec.Network, error) {
	doc, err := spec.ParseNetwork(xml)
	if err != nil {
		return nil, documentError(err)
	}
	if e.cfg.Session != nil {
		return nil, needsRoot(fmt.Sprintf("network '%s'", doc.Name))
	}
	if err := notTooLong(xml); err != nil {
		return nil, about("network", doc.Name, err)
	}
	if err := doc.Validate(); err != nil {
		return nil, about("network", doc.Name, documentError(err))
	}
	old, known := e.networks.named(doc.Name)
	if doc.UUID == nil {
		u := spec.NewUUID()
		if known {
			u = old.uuid
		}
		doc.UUID = &u
	}
	doc.Forward.Complete()
	doc.CompleteGroups()
	if !doc.Routed() {
		return doc, nil // what its guests are on is there already
	}
	if doc.Bridge == nil {
		doc.Bridge = &spec.Bridge{}
	}
	if doc.Bridge.Name == "" {
		if doc.Bridge.Name, err = e.bridgeName(old); err != nil {
			return nil, err
		}
	}
	if doc.Bridge.STP == "" {
		doc.Bridge.STP = "on"
	}
	if doc.Bridge.Delay == "" {
		doc.Bridge.Delay = "0"
	}
	if doc.MAC == nil {
		doc.MAC = &spec.MAC{Address: guest.NewMAC()}
	}
	return doc, e.bridgeIsFree(doc)
}

// bridgeName is the bridge a network has, or one that no other network has.
func (e *Engine) bridgeName(old *network) (string, error) {
	if old != nil && old.view().ref.Bridge != "" {
		return old.view().ref.Bridge, nil
	}
	return e.bridges.Create(func(name string) error {
		for _, n := range e.networks.all() { // one that is not active has no link
			if n.view().ref.Bridge == name {
				return host.ErrTaken
			}
		}
		_, err := e.k.LinkByName(name)
		return takenUnlessMissing(err)
	})
}

// bridgeIsFree refuses a bridge that another network has.
func (e *Engine) bridgeIsFree(doc *spec.Network) error {
	for _, n := range e.networks.all() {
		if v := n.view(); n.uuid != *doc.UUID && v.ref.Bridge == doc.Bridge.Name {
			return virterr.New(virterr.InternalError, "bridge name '%s' already in use by network '%s'", doc.Bridge.Name, n.label)
		}
	}
	return nil
}

// keepNetworkIdentity gives a document that leaves them open the UUID, bridge and MAC of the network of its name.
func keepNetworkIdentity(old *network, doc *spec.Network) {
	if doc.UUID == nil {
		u := old.uuid
		doc.UUID = &u
	}
	v := old.view()
	was := v.live
	if v.def != nil {
		was, _ = spec.ParseNetwork(v.def.xml)
	}
	if was != nil && doc.MAC == nil {
		doc.MAC = was.MAC
	}
}

// defineNetwork keeps a completed document.
func (e *Engine) defineNetwork(ctx context.Context, doc *spec.Network) (server.Network, error) {
	n, j, err := e.holdNetwork(ctx, doc, "define")
	if err != nil {
		return server.Network{}, err
	}
	defer j.End()
	return e.redefineNetwork(n, doc)
}

// redefineNetwork is defineNetwork for a caller that holds the network's slot.
func (e *Engine) redefineNetwork(n *network, doc *spec.Network) (server.Network, error) {
	def := &defined{head: definition{Name: doc.Name, UUID: *doc.UUID, Bridge: doc.BridgeName()}, xml: doc.Format()}
	if old := n.view().def; old != nil {
		def.head.Autostart = old.head.Autostart
	}
	if err := e.keepNetwork(n, def); err != nil {
		if !n.view().exists() {
			e.networks.remove(n)
		}
		return server.Network{}, err
	}
	v := n.update(func(v *netView) {
		v.def, v.ref.Persistent = def, true
		if v.live == nil {
			v.ref.Bridge = doc.BridgeName()
		}
	})
	e.publish(server.NetworkLifecycle{Network: v.ref, Event: server.NetworkEventDefined})
	return v.ref, nil
}

func (e *Engine) keepNetwork(n *network, def *defined) error {
	err := e.netDefs.Put(store.Item[definition]{Key: n.uuid.String(), Head: def.head, Doc: def.xml})
	if err != nil {
		return virterr.New(virterr.SystemError, "cannot save the definition of network '%s': %w%s", n.label, err, remedy(err))
	}
	return nil
}

// holdNetwork is hold for networks.
func (e *Engine) holdNetwork(ctx context.Context, doc *spec.Network, what string) (*network, *job.Job, error) {
	for {
		n, err := e.claimNetwork(doc)
		if err != nil {
			return nil, nil, err
		}
		j, err := n.slot.Begin(ctx, what+" network '"+n.label+"'")
		if err != nil {
			return nil, nil, virterr.Wrap(virterr.OperationTimeout, err)
		}
		if now, ok := e.networks.uuid(n.uuid); ok && now == n {
			return n, j, nil
		}
		j.End()
	}
}

// claimNetwork finds the network a document is about, or takes its name and UUID for a new one.
func (e *Engine) claimNetwork(doc *spec.Network) (*network, error) {
	fresh := newNetwork(*doc.UUID, doc.Name, nil)
	holder, ok := e.networks.add(fresh)
	switch {
	case ok:
		return fresh, nil
	case holder.uuid == *doc.UUID && holder.label == doc.Name:
		return holder, nil
	case holder.uuid == *doc.UUID:
		return nil, virterr.New(virterr.OperationFailed, "network is already defined as '%s' with uuid %s", holder.label, holder.uuid)
	}
	return nil, virterr.New(virterr.OperationFailed, "network '%s' already exists with uuid %s", holder.label, holder.uuid)
}

// UndefineNetwork implements server.Networks. An active network goes on, as a transient one.
func (e *Engine) UndefineNetwork(ctx context.Context, uuid spec.UUID) error {
	n, err := e.network(uuid)
	if err != nil {
		return err
	}
	j, err := n.slot.Begin(ctx, "undefine network '"+n.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	v := n.view()
	if v.def == nil {
		return virterr.New(virterr.OperationInvalid, "cannot undefine transient network '%s'", n.label)
	}
	if err := e.netDefs.Delete(uuid.String()); err != nil {
		return virterr.New(virterr.SystemError, "cannot remove the definition of network '%s': %w", n.label, err)
	}
	v = n.update(func(v *netView) { v.def, v.ref.Persistent, v.ref.Autostart = nil, false, false })
	if v.live == nil {
		e.forgetNetwork(ctx, n)
	}
	e.publish(server.NetworkLifecycle{Network: v.ref, Event: server.NetworkEventUndefined})
	return nil
}

// forgetNetwork lets go of a network that is neither defined nor active: its name, its bridge's, its leases, and what was known
// of its guests.
func (e *Engine) forgetNetwork(ctx context.Context, n *network) {
	e.networks.remove(n)
	e.targets.unbar(n.uuid)
	e.targets.learn(n.uuid, nil)
	e.targets.done(n.uuid)
	e.bridges.Release(n.view().ref.Bridge)
	if err := e.helper.forget(ctx, n.uuid); err != nil {
		e.log.Warn("remove the leases of a network that is gone", "network", n.label, "error", err)
	}
}

// SetNetworkAutostart implements server.Networks.
func (e *Engine) SetNetworkAutostart(ctx context.Context, uuid spec.UUID, on bool) error {
	n, err := e.network(uuid)
	if err != nil {
		return err
	}
	j, err := n.slot.Begin(ctx, "set autostart of network '"+n.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	old := n.view().def
	if old == nil {
		return virterr.New(virterr.OperationInvalid, "cannot set autostart for transient network '%s'", n.label)
	}
	def := &defined{head: old.head, xml: old.xml}
	def.head.Autostart = on
	if err := e.keepNetwork(n, def); err != nil {
		return err
	}
	n.update(func(v *netView) { v.def, v.ref.Autostart = def, on })
	return nil
}
